"""The reader's own sentence in three columns: what the page computes is what torch gives."""

import pytest

from attnbook import translators
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnbook.machines.three_columns import alike
from attnlab import Translator
from attnlab.tasks import detokenize, tokenize
from booktools.widget_page import write_page
from tests.browser.conftest import Record, listen, serving

pytestmark = pytest.mark.browser

ORIGINS = {
    "tatoeba": "attnbook.translators:real_translator",
    "tatoeba-vector": "attnbook.translators:one_vector",
}
OWN = "My brother does not eat meat."


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    write_page(
        folder, translators.three_columns(sentences=translators.BY_RULE[2:4], anchor="three")
    )
    book_page.write_models(folder, ORIGINS)
    with serving(folder) as url:
        yield f"{url}index.html"


@pytest.fixture
def opened(browser, address):
    page, record = browser.new_page(viewport={"width": 1280, "height": 900}), Record()
    listen(page, record)
    page.goto(address, wait_until="load")
    page.locator(".machine-columns").wait_for()
    yield page, record
    page.close()
    assert record.console == []


def written(text: str, even: bool = False) -> list[str]:
    """By one vector, with Bahdanau's attention or with equal weights, by the Transformer."""
    fixed = translators.one_vector()["One vector"]
    models = [Translator.load(name) for name in translators.REAL_MODELS.values()]
    models[1] = alike(models[1]) if even else models[1]
    (said,) = fixed.translate([text])
    source = shown.read_source(models[1], text)
    transformer, additive = (shown.translate(one, source).by_word()[1] for one in models)
    return [said.text, *map(detokenize, (additive, transformer))]


COLUMNS = "[...document.querySelectorAll('.columns-written')].map(e => e.textContent)"


def test_what_is_written_is_said_in_english_where_somebody_has(opened):
    page, _ = opened
    said = page.locator(".columns-meaning")
    want = ["her life is almost big", "her life cat is still alive", "her old is still alive"]
    assert said.all_inner_texts() == want
    page.get_by_label("look everywhere alike").check()
    assert said.all_inner_texts() == [want[0], "her beautiful is the air of life", want[2]]
    page.get_by_label("A sentence in English").fill("Something else")
    page.wait_for_function(
        "[...document.querySelectorAll('.columns-meaning')].every(e => !e.textContent)"
    )


def test_nothing_is_fetched_before_somebody_types(opened):
    page, record = opened
    page.get_by_role("button", name="I had my reasons.").click()
    page.wait_for_timeout(300)
    assert not any("live-translator" in url for url in record.requests)
    page.get_by_label("A sentence in English").fill("Something else")
    page.locator(".columns-fetch").wait_for(state="hidden")
    assert any("live-translator" in url for url in record.requests)


def test_a_link_with_another_sentence_asks_first(browser, address):
    page, record = browser.new_page(), Record()
    listen(page, record)
    page.goto(f'{address}#three=text:"{OWN}"')
    page.get_by_role("button", name="Load the three models").wait_for()
    assert page.evaluate(COLUMNS) == ["…"] * 3
    assert not any("live-translator" in url for url in record.requests)
    page.get_by_role("button", name="Load the three models").click()
    page.wait_for_function(f"want => {COLUMNS}.join() === want.join()", arg=written(OWN))
    page.close()


def test_another_sentence_of_the_record_is_written_word_by_word(opened):
    page, _ = opened
    live = page.locator(".columns-live")
    assert live.count() == 0
    page.get_by_role("button", name="I had my reasons.").click()
    assert live.count() == 1
    words = live.locator(".columns-written").first.locator("span")
    assert "".join(words.all_inner_texts()) == page.evaluate(COLUMNS)[0]
    assert words.evaluate_all("all => all.map(one => one.style.getPropertyValue('--at'))") == [
        str(at) for at in range(words.count())
    ]
    page.emulate_media(reduced_motion="reduce")
    assert words.last.evaluate("one => getComputedStyle(one).animationName") == "none"


def test_typed_key_by_key_each_column_writes_what_torch_writes(opened):
    page, _ = opened
    field, even = (
        page.get_by_label("A sentence in English"),
        page.get_by_label("look everywhere alike"),
    )
    # Typed from nothing, pasted over a shorter one, shortened again key by key
    for text, keys in [
        ("I have a red car.", None),
        ("Tom.", None),
        ("My brother does not eat meat.", ""),
        ("My brother.", "<" * len(" does not eat meat.") + "."),
    ]:
        field.click()
        if keys is None:
            field.fill("")
            page.keyboard.type(text.removesuffix("."), delay=15)  # it is ended
        elif not keys:
            field.fill(text)
        else:
            for key in keys:
                page.keyboard.press("Backspace" if key == "<" else key, delay=15)
        even.set_checked(len(text) < 20 and not even.is_checked())
        want = written(text, even.is_checked())
        page.wait_for_function(f"want => {COLUMNS}.join() === want.join()", arg=want)
        page.wait_for_function("!document.querySelector('.columns-old')")
        sizes = page.evaluate(
            "[...document.querySelectorAll('.columns-picture')].slice(1).map(picture => "
            "picture.querySelectorAll('.columns-cell').length)"
        )
        source = tokenize(text)
        assert sizes == [len(source) * len(tokenize(said)) for said in want[1:]]


def test_on_a_telephone_no_button_or_switch_is_out_of_sight(browser, tmp_path):
    write_page(tmp_path, translators.three_columns())
    page = browser.new_page(viewport={"width": 360, "height": 740})
    with serving(tmp_path) as url:
        page.goto(f"{url}index.html", wait_until="load")
        machine = page.locator(".machine-columns")
        machine.wait_for()
        whole = machine.bounding_box()
        parts = machine.locator(".machine-controls label, .machine-controls button").all()
        assert len(parts) > 7
        for part in parts:
            box = part.bounding_box()
            assert box["x"] >= whole["x"]
            assert box["x"] + box["width"] <= whole["x"] + whole["width"]
    page.close()


def test_of_a_sentence_that_is_too_long_it_says_how_much_is_read(opened):
    page, _ = opened
    page.get_by_label("A sentence in English").fill("a " * 60)
    page.get_by_text("Too long: only its first 24 words and marks are read, up to “a”.").wait_for()


def test_without_its_files_it_says_so(browser, address):
    page = browser.new_page()
    page.route("**/live-translator/**", lambda route: route.abort())
    page.goto(address, wait_until="load")
    page.get_by_label("A sentence in English").fill("Something else")
    page.wait_for_function(
        "document.querySelector('.columns-state').textContent.includes('not be')"
    )
    assert page.get_by_role("button", name="Load the three models").is_enabled()
    page.close()
