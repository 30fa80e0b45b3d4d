"""The cover's experiment runs by itself once, and a sentence of the reader's own is translated."""

import re

import pytest
from playwright.sync_api import expect

from attnbook import translators, widgets
from attnbook.machines.live_translator import page as book_page
from attnbook.machines.live_translator import shown
from attnlab import Translator
from booktools.widget_page import write_page
from tests.browser.conftest import Record, listen, serving
from tests.browser.explorer_page import Widget

pytestmark = pytest.mark.browser

HEARD = """
[window.heard, window.seen] = [[], []];
new MutationObserver((all) => {
    for (const [list, name] of [[heard, "machine-live"], [seen, "machine-big"]]) {
        const found = all.filter(({ target }) => target.className === name);
        list.push(...found.map(({ target }) => target.textContent));
    }
}).observe(document, { subtree: true, childList: true });
"""
"""What is said aloud, and what stands in large type, one after another."""
NEAR = "() => new Promise((done) => new IntersectionObserver(done).observe(document.body))"
"""Wait until the page's observers know what is in view: the experiment begins there."""
OVER = 12_000
"""Milliseconds of the page's own clock after which the experiment has ended."""

OWN = "Now a sentence of yours"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cover")
    write_page(folder, widgets.hide_a_word())
    book_page.write_models(folder, {"tatoeba": "attnbook.translators:real_translator"})
    with serving(folder) as url:
        yield f"{url}index.html"


@pytest.fixture
def visit(browser, address):
    """`visit(rest, route=None, **options)`: a page at the machine's address, and its clock."""
    contexts, record = [], Record()

    def visit_(rest: str = "", route=None, **options):
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.clock.install()
        page.add_init_script(HEARD)
        if route:
            page.route("**/live-translator/**", route)
        else:
            listen(page, record)
        page.goto(address + rest, wait_until="load")
        root = Widget(page.locator(".machine-word"))
        root.wait_for()
        page.evaluate(NEAR)
        return page, root

    yield visit_
    for context in contexts:
        context.close()
    assert record.console == []


def state(root) -> tuple[int, bool]:
    now = root.snapshot()
    return now["word"], now["left"]


def test_it_runs_by_itself_once_and_is_heard_once(visit):
    page, root = visit()
    page.clock.run_for(OVER)
    assert state(root) == (4, True)
    assert root.get_by_role("button", name="3 Leave").get_attribute("aria-pressed") == "true"
    assert page.evaluate("seen.slice(-3)") == [
        "“black” hidden: “noir” is gone",
        "“not” hidden: nothing changes",
        "“not” left out: “n'”, “pas” are gone",
    ]
    page.clock.run_for(OVER)
    (heard,) = page.evaluate("heard")
    assert all(because in heard for *_, because in widgets.STEPS)
    assert state(root) == (4, True)
    assert "#" not in page.url
    expect(root.get_by_role("button", name="▶ Play")).to_be_visible()


def test_with_reduced_motion_it_waits_for_a_press(visit):
    page, root = visit(reduced_motion="reduce")
    page.clock.run_for(OVER)
    assert state(root) == (-1, False)
    root.get_by_role("button", name="▶ Play").press("Enter")
    page.clock.run_for(OVER)
    assert len(page.evaluate("heard")) > 1
    assert page.evaluate("seen.slice(-3)")[0].startswith("“black” hidden")
    assert state(root) == (4, True)
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize(
    ("touch", "begun"),
    [*((touch, False) for touch in ("press", "key", "wheel", "focus")), ("press", True)],
)
def test_a_touch_of_anything_stops_it_for_good(visit, touch, begun):
    """One function stops it, whatever it was about to do."""
    page, root = visit()
    if begun:
        page.wait_for_function("document.querySelector('.word-hidden')")
    if touch == "press":
        page.locator("h1").click()
    elif touch == "key":
        page.keyboard.press("Shift")
    elif touch == "focus":
        root.get_by_label(OWN).focus()
    else:
        page.mouse.wheel(0, 1)
        page.wait_for_timeout(50)
    before = state(root)
    page.clock.run_for(OVER)
    assert state(root) == before
    assert page.evaluate("heard") == []


def test_an_address_with_a_setting_keeps_it_still(visit):
    page, root = visit("#hide-a-word=word:2;left:true")
    page.clock.run_for(OVER)
    assert state(root) == (2, True)
    said = root.locator(".machine-big").inner_text()  # where most words change, what is written now
    assert said == "“cat” left out: it writes “les ont noirs n'ont pas mangé la pomme”"


def test_a_word_is_hidden_then_left_out_then_back(visit):
    page, root = visit(reduced_motion="reduce")
    root.button("not, hide").focus()
    word = root.locator(".word-source > g").nth(4)
    for key, now, name in (
        ("Enter", (4, False), "not, hidden, leave it out"),
        ("Space", (4, True), "not, left out, put it back"),
        ("Enter", (-1, False), "not, hide"),
    ):
        page.keyboard.press(key)
        assert (state(root), word.get_attribute("aria-label")) == (now, name)
    assert len(page.evaluate("heard")) == 3


def words(root, side: str) -> list[str]:
    """What is read or written, without what is gone."""
    return root.locator(f".word-{side} > g:not(.word-gone) text").all_text_contents()


def test_a_sentence_of_ones_own_is_what_torch_writes(visit):
    translator = Translator.load(translators.REAL_MODELS["Transformer"])
    page, root = visit(reduced_motion="reduce")
    root.get_by_label(OWN).fill("My brother does not eat meat")
    read = ["my", "brother", "does", "not", "eat", "meat", "."]
    for hidden, source in (([], read), ([3], read), ([], [*read[:3], *read[4:]])):
        want = shown.translate(translator, source, hidden).by_word()[1]
        expect(root.locator(".word-target > g:not(.word-gone) text")).to_have_text(want)
        assert words(root, "source") == read
        root.locator(".word-source > g").nth(3).click()
    page.wait_for_function("location.hash.startsWith('#hide-a-word=own:My%20brother')")
    assert all("One moment" not in text for text in page.evaluate("heard"))
    # What is typed on within the moment is not spoken.
    page.evaluate("""async () => {
        const input = document.querySelector(".word-input");
        heard.length = 0;
        for (const text of ["She", "She sings", "She sings well"]) {
            input.value = text;
            input.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((done) => setTimeout(done, 60));
        }
    }""")
    page.wait_for_function("heard.length")
    want = shown.translate(translator, ["she", "sings", "well", "."], []).by_word()[1]
    (said,) = page.evaluate("heard")
    assert said.startswith(" ".join(want).replace(" .", ". Press"))


def test_on_a_telephone_the_translation_is_under_the_box_too(visit):
    page, root = visit(reduced_motion="reduce")
    answer, note = root.locator(".word-answer"), root.locator(".machine-note")
    recorded = note.inner_text()
    assert "beforehand" in recorded
    page.set_viewport_size({"width": 360, "height": 740})
    expect(answer).to_be_hidden()
    root.locator(".word-tries").scroll_into_view_if_needed()
    root.button("I love you.").click()
    expect(answer).to_have_text("je t'aime.")
    box = answer.bounding_box()
    assert 0 < box["y"] < 740 - box["height"]
    assert "beforehand" not in note.inner_text()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(answer).to_be_hidden()
    root.press("Reset")
    assert note.inner_text() == recorded


def test_until_the_model_is_there_the_page_says_so_and_the_first_sentence_answers(visit):
    held = []
    _, root = visit(route=lambda one: held.append(one), reduced_motion="reduce")
    big, line = root.locator(".machine-big"), root.locator(".word-state")
    expect(line).to_contain_text("on its way")
    root.get_by_label(OWN).fill("I love you")
    assert words(root, "source") == ["i", "love", "you"]
    assert words(root, "target") == []
    root.get_by_role("button", name="2 Hide").click()
    assert "nothing changes" in big.inner_text()
    root.button("I love you.").click()
    held[0].continue_()
    expect(big).to_have_text("je t'aime.")
    assert "stays with you" in line.inner_text()


def test_a_model_that_does_not_come_can_be_asked_for_again(visit):
    tries = []

    def route(route):
        tries.append(route)
        route.abort() if len(tries) == 1 else route.continue_()

    _, root = visit(route=route, reduced_motion="reduce")
    expect(root.locator(".word-state")).to_contain_text("could not")
    root.get_by_label(OWN).focus()
    root.get_by_label(OWN).fill("I love you.")
    expect(root.locator(".machine-big")).to_have_text("je t'aime.")
    assert len(tries) == 2


PLACES = """root => [
    ...[...root.querySelectorAll(".word-lines path")].map((path) => path.getAttribute("d")),
    ...[...root.querySelectorAll("g[transform]")].map((word) => [
        word.getAttribute("transform"), word.firstChild.getAttribute("width")].join(" "))]"""


@pytest.mark.parametrize(("wide", "name"), [(680, "word-wide"), (300, "word-tall")])
def test_what_a_page_shows_first_is_where_the_machine_draws_it(visit, wide, name):
    page, root = visit(reduced_motion="reduce")
    drawn = root.locator(".word-picture")
    drawn.evaluate("(node, wide) => { node.style.width = `${wide}px`; }", wide)
    expect(drawn).to_have_attribute("viewBox", re.compile(rf"^\S+ \S+ {wide + 4} "))
    found = drawn.evaluate(PLACES)
    page.evaluate("html => { document.body.innerHTML = html; }", widgets.hide_a_word().still())
    first = page.locator(f".{name}").evaluate(PLACES)
    assert len(found) == len(first) > 16
    there, here = (re.findall(r"[\d.]+", " ".join(places)) for places in (found, first))
    assert [*map(float, there)] == pytest.approx([*map(float, here)], abs=0.11)
