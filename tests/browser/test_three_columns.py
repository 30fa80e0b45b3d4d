"""The reader's own sentence in three columns: what the page computes is what torch gives."""

import pytest
from playwright.sync_api import expect

from attnbook import translators
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnbook.machines.three_columns import alike
from attnlab import Translator
from attnlab.tasks import detokenize, tokenize
from booktools.widget_page import write_page
from tests.browser.conftest import opened, serving

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
def columns(browser, address):
    """The page with its record, which says nothing in the end."""
    with opened(browser, address) as (page, record):
        page.locator(".machine-columns").wait_for()
        yield page, record
    assert record.console == []


def written(text: str, even: bool = False) -> list[str]:
    """By one vector, with Bahdanau's attention or with equal weights, by the Transformer."""
    (said,) = translators.one_vector()["One vector"].translate([text])
    transformer, additive = (Translator.load(name) for name in translators.REAL_MODELS.values())
    source = shown.read_source(additive, text)
    models = alike(additive) if even else additive, transformer
    return [said.text, *(detokenize(shown.translate(one, source).by_word()[1]) for one in models)]


COLUMNS = "[...document.querySelectorAll('.columns-written')].map(e => e.textContent)"


def test_what_is_written_is_said_in_english_where_somebody_has(columns):
    page, _ = columns
    said = page.locator(".columns-meaning")
    want = ["her life is almost big", "her life cat is still alive", "her old is still alive"]
    assert said.all_inner_texts() == want
    page.get_by_label("look everywhere alike").check()
    assert said.all_inner_texts() == [want[0], "her beautiful is the air of life", want[2]]
    page.get_by_label("A sentence in English").fill("Something else")
    expect(said).to_have_text([""] * 3)


def test_nothing_is_fetched_before_somebody_types(columns):
    page, record = columns
    page.get_by_role("button", name="I had my reasons.").click()
    page.wait_for_timeout(300)
    assert not any("live-translator" in url for url in record.requests)
    page.get_by_label("A sentence in English").fill("Something else")
    page.locator(".columns-fetch").wait_for(state="hidden")
    assert any("live-translator" in url for url in record.requests)


def test_a_link_with_another_sentence_asks_first(browser, address):
    with opened(browser, f'{address}#three=text:"{OWN}"') as (page, record):
        load = page.get_by_role("button", name="Load the three models")
        load.wait_for()
        assert page.evaluate(COLUMNS) == ["…"] * 3
        assert not any("live-translator" in url for url in record.requests)
        load.click()
        page.wait_for_function(f"want => {COLUMNS}.join() === want.join()", arg=written(OWN))


def test_another_sentence_of_the_record_is_written_word_by_word(columns):
    page, _ = columns
    live = page.locator(".columns-live")
    assert live.count() == 0
    page.get_by_role("button", name="I had my reasons.").click()
    words = live.locator(".columns-written").first.locator("span")
    assert "".join(words.all_inner_texts()) == page.evaluate(COLUMNS)[0]
    places = words.evaluate_all("all => all.map(one => one.style.getPropertyValue('--at'))")
    assert places == [str(at) for at in range(len(places))]
    page.emulate_media(reduced_motion="reduce")
    assert words.last.evaluate("one => getComputedStyle(one).animationName") == "none"


def test_typed_key_by_key_each_column_writes_what_torch_writes(columns):
    page, _ = columns
    field = page.get_by_label("A sentence in English")
    even = page.get_by_label("look everywhere alike")
    for text, keys in (  # typed from nothing, pasted over it, shortened again key by key
        ("I have a red car.", [*"I have a red car"]),  # it is ended
        ("Tom.", [*"Tom"]),
        (OWN, []),
        ("My brother.", [*["Backspace"] * len(" does not eat meat."), "."]),
    ):
        field.click()
        if text != "My brother.":
            field.fill("" if keys else text)
        for key in keys:
            page.keyboard.press("Space" if key == " " else key, delay=15)
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


def test_on_a_telephone_no_button_or_switch_is_out_of_sight(show):
    _, machine, _ = show(translators.three_columns(), width=360)
    whole = machine.bounding_box()
    parts = machine.locator(".machine-controls label, .machine-controls button").all()
    assert len(parts) > 7
    for box in (part.bounding_box() for part in parts):
        assert box["x"] >= whole["x"]
        assert box["x"] + box["width"] <= whole["x"] + whole["width"]


def test_of_a_sentence_that_is_too_long_it_says_how_much_is_read(columns):
    page, _ = columns
    page.get_by_label("A sentence in English").fill("a " * 60)
    page.get_by_text("Too long: only its first 24 words and marks are read, up to “a”.").wait_for()


def test_without_its_files_it_says_so(columns):
    page, record = columns
    page.route("**/live-translator/**", lambda route: route.abort())
    page.get_by_label("A sentence in English").fill("Something else")
    page.locator(".columns-state", has_text="not be").wait_for()
    assert page.get_by_role("button", name="Load the three models").is_enabled()
    record.console.clear()
