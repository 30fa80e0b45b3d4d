"""The live translator as a reader uses it: with keys, mouse and finger, and with strange input."""

import base64

import pytest
from playwright.sync_api import expect

from attnbook import translators
from attnbook.machines import LiveTranslator
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnbook.machines.live_translator.weights import payload
from attnlab.tasks.vocab import EOS
from tests.browser.conftest import opened, serving
from tests.browser.explorer_page import (
    AS_IN_JUPYTER,
    ATTACK,
    SWALLOW,
    follow,
    settle,
    start_widgets,
    write_page,
)
from tests.browser.translator_page import bring_back, by_directive, ready, translator

pytestmark = pytest.mark.browser

ORIGIN = {"toy-french": "attnbook.translators:toy_french"}
SENTENCE = "the black cat did not sleep"


@pytest.fixture(scope="module")
def kept():
    return translators.toy_french()


def a_live(kept, **options) -> LiveTranslator:
    given = {"sentences": translators.SENTENCES, "files": "toy-french", "title": "Hide a word"}
    return LiveTranslator(kept, **given | options)


@pytest.fixture(scope="module")
def only(browser, tmp_path_factory, kept):
    folder = tmp_path_factory.mktemp("live")
    book_page.write_models(folder, ORIGIN)
    with opened(browser, write_page(folder, a_live(kept)).as_uri()) as (page, record):
        start_widgets(page)
        ready(page)
        yield page, translator(page), record


@pytest.fixture
def live(open_page, tmp_path, kept, request):
    """`live(**options)` opens a page with a live translator: the page, its root, the record."""

    def open_(widget=None, wait=True, **options):
        if not (widget or options):
            found = request.getfixturevalue("only")
            bring_back(found[0], "live-translator", found[2])
            return found
        book_page.write_models(tmp_path, ORIGIN)
        path = write_page(tmp_path, widget or a_live(kept))
        page, record = open_page(path.as_uri(), **options)
        if wait:
            ready(page)
        return page, translator(page), record

    return open_


def want(kept, text, hidden=(), model=0):
    translator = list(kept.values())[model]
    return shown.translate(translator, shown.read_source(translator, text), hidden, 40)


def test_the_first_sentence_is_translated_at_once(live, kept):
    _, root, record = live()
    found, torch = root.snapshot(), want(kept, SENTENCE)
    assert (found["source"], found["target"]) == (torch.source, torch.target)
    expect(root.get_by_label("Search")).to_be_hidden()  # there are no beams to choose
    expect(root.locator(".translator-kept")).to_be_hidden()
    assert record.console == record.other_hosts() == []


def test_every_key_stroke_translates(live, kept):
    _, root, _ = live()
    box, typed = root.get_by_role("textbox"), ""
    box.fill(typed)
    for letter in "the old woman":
        box.press("Space" if letter == " " else letter)
        typed += letter
        if typed.strip():
            assert root.snapshot()["target"] == want(kept, typed).target, typed


def test_a_pressed_word_is_hidden_and_pressed_again_is_back(live, kept):
    _, root, _ = live()
    before = root.snapshot()["target"]
    root.source(1).click()
    found, torch = root.snapshot(), want(kept, SENTENCE, [1])
    assert found["hidden"] == [1]
    assert root.locator(".translator-target .translator-gone").inner_text() == "noir"
    assert found["target"] == torch.target != before
    assert all(row[1] == 0 for row in found["weights"])
    assert root.source(1).get_attribute("aria-pressed") == "true"
    said = root.locator(".translator-said").inner_text()
    assert said.startswith("You hid “black”. Before: le chat noir n'a pas dormi. Now: le chat n'a")
    assert root.get_by_role("status").inner_text() in said
    root.source(1).click()
    assert (root.snapshot()["hidden"], root.snapshot()["target"]) == ([], before)


def test_what_changed_is_marked_and_not_by_colour_alone(live):
    _, root, _ = live()
    root.write("my friend often eats a red apple")
    root.source(1).click()
    first = root.locator(".translator-target .translator-changed").first
    assert first.locator("del").inner_text() == "ami"
    assert "before: ami" in first.get_attribute("aria-label")
    assert int(first.evaluate("node => getComputedStyle(node).fontWeight")) >= 600
    assert root.locator(".translator-said del").first.inner_text() == "ami"
    assert root.locator(".translator-said ins").count() >= 1


def test_when_nothing_changes_the_heavy_line_is_named(live, kept):
    _, root, _ = live()
    place = SENTENCE.split().index("not")
    assert want(kept, SENTENCE, [place]).target == want(kept, SENTENCE).target
    root.source(place).click()
    said = root.locator(".translator-said").inner_text()
    assert said.startswith("You hid “not”. Nothing changed. And yet “pas” had looked at “not”")


def test_a_translation_without_a_word_is_said_to_end_at_once(live):
    page, root, _ = live()
    follow(page, f"live-translator=forced:[{EOS}]")
    assert root.snapshot()["target"] == []
    said = root.locator(".translator-said").inner_text()
    assert "You ended it there." in said
    assert "Now: (ends at once)." in said


def test_it_opens_on_the_step_that_is_least_sure(live):
    _, root, _ = live()
    for sentence, says in ((SENTENCE, "To write"), ("qwerty zzz", "Least sure of")):
        root.write(sentence)
        found = root.snapshot()
        chances = [step[0][1] for step in found["candidates"]]
        assert (min(chances) < 0.995) == says.startswith("Least")
        name = root.locator(".translator-looked-name").inner_text()
        assert name.startswith(f"{says} “{found['target'][chances.index(min(chances))]}”")


def test_a_target_word_shows_where_its_step_looked_and_what_else_there_was(live, kept):
    _, root, _ = live()
    root.target(1).click()
    assert root.snapshot()["step"] == 1
    torch = want(kept, SENTENCE)
    weights = torch.weights[1].tolist()
    first = root.locator(".translator-looked li").first.inner_text().split()
    assert first[0] == torch.source[weights.index(max(weights))] == "cat"
    assert float(first[1]) == pytest.approx(max(weights), abs=0.006)
    others = root.locator(".translator-other li span:first-child").all_inner_texts()
    assert others == [token for token, _ in torch.candidates[1]]
    assert "translator-later" in root.target(2).get_attribute("class")
    assert root.locator(".translator-chosen").count() >= 1
    root.target(1).click()
    assert root.snapshot()["step"] is None


def test_the_scrubber_goes_word_by_word_by_key_and_by_mouse(live):
    page, root, _ = live()
    slider = root.get_by_role("slider")
    slider.focus()
    count = len(root.snapshot()["target"])
    assert slider.get_attribute("aria-valuetext") == "all words"
    for key, step in (("ArrowLeft", count - 1), ("Home", 0)):
        page.keyboard.press(key)
        assert root.snapshot()["step"] == step
    assert slider.get_attribute("aria-valuetext") == f"word 1 of {count}"
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=5)
    assert 0 < root.snapshot()["step"] < count - 1
    page.mouse.move(box["x"] + box["width"] - 1, middle, steps=5)
    page.mouse.up()
    assert root.snapshot()["step"] is None


def test_play_walks_through_the_words_until_it_is_paused(live):
    page, root, _ = live()
    root.get_by_role("button", name="Play").click()
    assert root.snapshot()["step"] == 0
    page.wait_for_function("document.querySelector('.machine-translator').snapshot().step === 1")
    root.get_by_role("button", name="Pause").click()
    step = root.snapshot()["step"]
    page.wait_for_timeout(1200)
    assert root.snapshot()["step"] == step
    assert root.get_by_role("button", name="Play").count() == 1


def test_the_keyboard_reaches_everything(live):
    page, root, _ = live()
    root.get_by_role("textbox").focus()
    reached = ""
    for _ in range(40):
        reached += page.evaluate("document.activeElement.className + ' '")
        page.keyboard.press("Tab")
    for name in ("text", "model", "try", "word", "play", "step"):
        assert f"translator-{name}" in reached
    root.source(1).focus()
    for key, hidden in (("Enter", [1]), ("Space", [])):
        page.keyboard.press(key)
        assert root.snapshot()["hidden"] == hidden
        assert root.source(1).evaluate("node => node === document.activeElement")
    hands = root.locator("input, select, button, canvas, textarea")
    kept = hands.evaluate_all("all => all.map(node => node.dataset.lmSuppressShortcuts)")
    assert set(kept) == {"true"}  # JupyterLab would take their keys


# ---- Strange input.


STRANGE = [
    ("the zebra opened the green door", "Not among the"),
    ("", "Write a sentence in English."),
    ("...!?", "Write a sentence in English."),
    ("ＴＨＥ\u202e cat\u0000 \ufffd", "Not among the"),
]


@pytest.mark.parametrize(("text", "says"), STRANGE)
def test_strange_input_gets_a_clear_answer(live, kept, text, says):
    """What the other model makes of more, test_real_translator.py asks."""
    _, root, record = live()
    found = root.write(text)
    told = root.locator(".translator-flag").inner_text()
    assert told.startswith(says)
    assert len(found["weights"]) == len(found["target"])
    if "zebra" in text:
        assert "words it has learned: zebra." in told
        assert root.source(1).get_attribute("aria-label") == "zebra, unknown, hide"
        assert found["target"] == want(kept, text).target
    assert root.write(SENTENCE)["target"] == want(kept, SENTENCE).target
    assert record.console == []


def test_while_a_long_text_is_translated_it_says_so(live):
    _, root, _ = live()
    root.write("")
    # A clock that leaps a second at every look: on any machine the first slice is too short.
    at_once = root.evaluate("""root => {
        let leaps = 0;
        performance.now = () => 1000 * leaps++;
        const box = root.querySelector("input[type=text], textarea");
        box.value = "the black cat did not sleep ".repeat(10);
        box.dispatchEvent(new Event("input", { bubbles: true }));
        delete performance.now;
        return root.querySelector(".translator-flag").textContent;
    }""")
    assert at_once == "Translating…"
    root.snapshot()
    assert "only the first 24" in root.locator(".translator-flag").inner_text()


def test_texts_given_by_python_are_text(live, kept):
    widget = a_live(kept, title=ATTACK, caption=ATTACK, sentences=[ATTACK, "the cat"],
                    languages=[(ATTACK, "en"), (ATTACK, "fr")])  # fmt: skip
    _, root, record = live(widget=widget)
    assert root.locator("img").count() == 0
    assert ATTACK in root.inner_text()
    assert record.console == []


# ---- Where the weights come from.


def test_over_http_the_weights_are_fetched_when_the_widget_comes_near(open_page, tmp_path, kept):
    files = book_page.write_models(tmp_path, ORIGIN)
    path = write_page(tmp_path, a_live(kept))
    path.write_text(
        path.read_text("utf-8").replace("<h1>", '<div style="height:4000px"></div><h1>'), "utf-8"
    )
    with serving(tmp_path) as url:
        page, record = open_page(url)
        page.wait_for_selector(".machine-translator", state="attached")
        settle(page)
        assert not [one for one in record.requests if "live-translator" in one]
        ready(page)
        root = translator(page)
        assert root.snapshot()["target"] == want(kept, SENTENCE).target
        fetched = [one for one in record.requests if "live-translator" in one]
        assert fetched == [f"{url}live-translator/{files[0].name}"]
        assert files[0].stat().st_size <= 200_000
        assert record.console == []


def test_a_file_that_is_missing_is_said(open_page, tmp_path, kept):
    write_page(tmp_path, a_live(kept))
    with serving(tmp_path) as url:
        page, _ = open_page(url)
        page.get_by_text("The model could not be loaded.", exact=True).wait_for()
        assert translator(page).evaluate("root => root.snapshot()") is None


def test_without_files_a_page_says_that_it_needs_a_kernel(live, kept):
    page, root, _ = live(widget=a_live(kept, files=None), wait=False)
    root.scroll_into_view_if_needed()
    page.locator(".translator-flag", has_text="needs a kernel").wait_for()


def test_embedded_weights_need_no_file(live, kept):
    _, root, _ = live(widget=a_live(kept, files=None, embed=True, precision="int8"))
    assert root.snapshot()["target"] == want(kept, SENTENCE).target


IN_JUPYTER = f"""async ([source, traits, data]) => {{{AS_IN_JUPYTER}
    const heard = [], sent = [], widget = await load(source);
    const send = (content) => {{
        sent.push(content);
        const [, reply] = heard.find(([event]) => event === "msg:custom");
        setTimeout(() => reply(content, [bytes(data)]));
    }};
    const el = document.body.appendChild(document.createElement("div"));
    widget.render({{ model: {{ ...modelOf(traits, heard), send }}, el }});
    while (!el.firstChild.snapshot()) await new Promise(requestAnimationFrame);
    el.firstChild.hide(1);
    return {{ sent, hidden: traits.hidden, found: el.firstChild.snapshot() }};
}}"""


def test_in_jupyter_the_kernel_is_asked_once(open_page, kept):
    widget = a_live(kept)
    traits = {name: getattr(widget, name) for name in LiveTranslator.class_own_traits(sync=True)}
    traits |= {"weights": None, "title": "", "note": ""}
    data = base64.b64encode(payload(next(iter(kept.values())), "int8")).decode()
    page, _ = open_page("about:blank", start=False)
    found = page.evaluate(IN_JUPYTER, [widget._esm, traits, data])
    assert found["sent"] == [{"weights": 0}]
    assert found["hidden"] == [1]
    assert found["found"]["target"] == want(kept, SENTENCE, [1]).target


@pytest.fixture
def in_no_notebook(tmp_path, kept):
    book_page.write_models(tmp_path, ORIGIN)
    return by_directive(tmp_path, a_live(kept))


def test_the_directives_view_needs_no_notebook_and_prints_its_lines(
    open_page, in_no_notebook, kept
):
    page, record = open_page(in_no_notebook)
    ready(page)
    assert translator(page).snapshot()["target"] == want(kept, SENTENCE).target
    assert record.console == []
    page.emulate_media(media="print")
    assert page.locator(".translator-lines path").count() > 4
    expect(page.locator(".attnkit-view img")).to_be_hidden()


def test_no_word_of_a_directives_view_swallows_the_page(open_page, tmp_path, kept):
    """The words are given as they are to the page, in a script element that they must not leave."""
    words = a_live(kept, sentences=[f"the {SWALLOW} cat"], caption=f"{SWALLOW} {ATTACK}</script>")
    markup = "".join(book_page.view(words))
    path = tmp_path / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8">{markup}<p id="after">after</p>')
    page, _ = open_page(path.as_uri(), start=False)
    assert page.locator("#after").inner_text() == "after"
    script = page.locator(".attnkit-view script")
    state = script.evaluate("tag => JSON.parse(tag.textContent).state.state")
    assert state["sentences"] == [f"the {SWALLOW} cat"]
    assert state["note"].startswith(f"{SWALLOW} {ATTACK}</script>")


def test_without_javascript_a_picture_stands_there_and_says_what_it_is(open_page, in_no_notebook):
    page, _ = open_page(in_no_notebook, java_script_enabled=False)
    assert "With JavaScript" in page.locator(".attnkit-still").inner_text()
    picture, view = (page.locator(f".attnkit-view{part}").bounding_box() for part in (" img", ""))
    assert view["height"] < picture["height"] + 100  # no room is kept for what does not come


# ---- For every reader.


def test_at_360_pixels_the_words_stand_below_each_other_and_a_finger_hides_them(live, kept):
    _, root, _ = live(width=360, has_touch=True, is_mobile=True)
    first, second = root.source(0).bounding_box(), root.source(1).bounding_box()
    assert second["y"] >= first["y"] + first["height"] >= first["y"] + 44
    assert root.target(0).bounding_box()["x"] > first["x"] + first["width"]
    root.source(1).tap()
    assert root.snapshot()["target"] == want(kept, SENTENCE, [1]).target
    root.get_by_role("button", name="my friend often").tap()
    assert root.snapshot()["text"].startswith("my friend")


def ends(root):
    return root.evaluate(
        """root => {
        const box = root.querySelector(".translator-stage").getBoundingClientRect();
        const place = node => { const r = node.getBoundingClientRect();
            return [r.left - box.left, r.top - box.top, r.right - box.left, r.bottom - box.top]; };
        return { lines: [...root.querySelectorAll(".translator-lines path")].map(p => {
                const n = p.getAttribute("d").match(/[\\d.-]+/g).map(Number);
                return [n.slice(0, 2), n.slice(-2)]; }),
            from: [...root.querySelectorAll(".translator-source button")].map(place),
            to: [...root.querySelectorAll(".translator-target button")].map(place) };
        }"""
    )


def test_every_line_joins_a_word_to_a_word_also_after_a_change_of_width(live):
    page, root, _ = live()
    for width, text in ((360, SENTENCE), (400, "we found three white eggs under the big tree")):
        root.get_by_role("textbox").fill(text)
        for wide in (width, width + 920):
            page.set_viewport_size({"width": wide, "height": 900})
            settle(page)
            found = ends(root)
            assert len(found["lines"]) >= len(root.snapshot()["target"])
            for start, end in found["lines"]:
                assert any(touches(start, box) for box in found["from"]), (start, found["from"])
                assert any(touches(end, box) for box in found["to"]), (end, found["to"])


def touches(point, box, slack=1.5) -> bool:
    left, top, right, bottom = box
    return left - slack <= point[0] <= right + slack and top - slack <= point[1] <= bottom + slack


def test_for_readers_with_colours_of_their_own_without_motion_and_on_paper(live):
    page, root, _ = live()
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    root.source(1).click()
    assert page.evaluate("document.getAnimations().length") == 0
    root.target(1).click()
    lines, style = page.locator(".translator-lines path"), "node => getComputedStyle(node)"
    assert lines.first.evaluate(f"{style}.stroke") != root.evaluate(f"{style}.backgroundColor")
    assert root.target(1).evaluate(f"{style}.borderTopWidth") == "3px"
    drawn = lines.count()
    page.emulate_media(media="print", forced_colors="none")
    settle(page)
    for part, seen in ((root.source(1), True), (root.locator(".translator-play"), False)):
        expect(part).to_be_visible(visible=seen)
    assert lines.count() == drawn > 1


def test_the_status_speaks_of_what_the_reader_did(live):
    _, root, _ = live()
    status = root.get_by_role("status")
    root.write("the cat")
    status.get_by_text("French: le chat.", exact=True).wait_for()
    root.target(1).click()
    status.get_by_text("Word 2, “chat”: it looked at").wait_for()


def test_two_views_of_one_model_agree(open_page, tmp_path, kept):
    book_page.write_models(tmp_path, ORIGIN)
    widget = a_live(kept)
    page, _ = open_page(write_page(tmp_path, widget, widget).as_uri())
    first, second = (translator(page).other(place) for place in (0, 1))
    for root in (first, second):
        root.evaluate("async (e) => { while (!e.snapshot()) await new Promise(setTimeout); }")
    for place in (1, 99):
        first.evaluate("(root, place) => root.hide(place)", place)
        assert second.snapshot()["hidden"] == [1]
    assert second.snapshot()["target"] == first.snapshot()["target"]


ADDRESS = "live-translator=text:she sees a red car;hidden:[3];step:2;as:map"


def test_the_address_carries_sentence_hidden_words_and_step(live):
    page, root, record = live()
    follow(page, ADDRESS)
    shown = root.snapshot()
    assert (shown["text"], shown["hidden"]) == ("she sees a red car", [3])
    assert (shown["step"], shown["as"]) == (2, "map")
    root.get_by_role("button", name="Show it again").click()
    page.wait_for_function("!location.hash.includes('hidden')")
    page.reload()
    ready(page)
    again = root.snapshot()
    assert (again["text"], again["hidden"]) == ("she sees a red car", [])
    assert not record.console


def test_an_address_that_cannot_be_changes_nothing(live):
    page, root, record = live()
    before = root.snapshot()
    wrong = ("hidden:[-1]", "model:9", "beam_size:7", "as:song", "text:[1]")
    # Of words that are forced, those that the model has not are left out.
    for address in (*(f"step:1;{one}" for one in wrong), "forced:[99999999]"):
        follow(page, f"live-translator={address}")
        assert root.snapshot() == before
    assert not record.console
