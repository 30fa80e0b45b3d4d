"""A question remembers its answer, an address comes before that, and paper lists the choices."""

import pytest

from attnbook.machines import Question
from booktools.widget_page import write_page
from tests.browser import paper
from tests.browser.conftest import serving
from tests.browser.explorer_page import follow, snapshot, start_widgets, wait_for_widgets

pytestmark = pytest.mark.browser


def test_an_answer_is_there_when_the_reader_comes_back(open_page, tmp_path):
    asked = Question("Twice 3?", right=6, replies={9: "That is its square."})
    write_page(tmp_path, asked, Question("Which?", right=1, options=["a", "b"]))
    with serving(tmp_path) as url:
        page, _ = open_page(f"{url}index.html")
        wait_for_widgets(page, 2)
        field = page.locator(".machine input").first
        field.fill("9")
        assert snapshot(page.locator(".machine").first)["verdict"] == ""
        field.press("Enter")
        assert page.locator(".machine-say").first.inner_text() == "That is its square."
        page.goto(f"{url}index.html")
        start_widgets(page)
        wait_for_widgets(page, 2)
        page.wait_for_function("document.querySelector('.machine').snapshot().reply === '9'")
        assert page.locator(".machine-big").all_inner_texts() == ["Not yet", "Not answered yet"]
        follow(page, "question=reply:%226%22;checked:true")
        assert page.locator(".machine-big").first.inner_text() == "Right"


TYPED = [
    ("0,59", "0.59"), ("0.59", "0.59"), (",5", ".5"), ("1,000", "1000"), ("12,345.5", "12345.5"),
    ("0,125", "0.125"), ("\u22120,5", "-0.5"), ("-", ""), ("1e-3", "1e-3"),
    ("1,2,3", ""), ("half", ""), ("59/100", "0.59"), ("59%", "0.59"), (" 0.59 ", "0.59"),
    ("1/0", ""), ("1/2/3", ""), ("/2", ""), ("%", ""),
]  # fmt: skip


def test_a_number_is_read_as_its_reader_means_it(show):
    _, root, _ = show(Question("How much?", right=0.59, tolerance=0.006))
    field = root.locator("input")
    for typed, reply in TYPED:
        field.fill("")
        field.press_sequentially(typed)
        field.press("Enter")
        assert (root.snapshot()["reply"], field.input_value()) == (reply, typed)
        assert (root.locator(".machine-big").inner_text() == "Right") is (reply == "0.59")
        assert ("Type a number" in root.locator(".machine-say").inner_text()) is (reply == "")


def test_paper_lists_what_to_choose_from(show):
    page, _, _ = show(Question("Which?", right=1, options=["the first", "the other"]))
    page.emulate_media(media="print")
    told = paper.words(page)
    assert "A. the first" in told
    assert "B. the other" in told
    assert "Not answered yet" not in told
    assert "Reset" not in told


def test_to_press_a_choice_is_to_answer(show):
    which = Question("Which?", right=1, options=["a", "b"], replies={0: "The first."})
    _, root, _ = show(which, Question("How many per cent?", right=67))
    root.get_by_role("button", name="a", exact=True).press("Enter")
    assert root.locator(".machine-say").inner_text() == "The first."
    root.get_by_role("button", name="b", exact=True).click()
    assert root.locator(".machine-big").inner_text() == "Right"
    assert root.locator("[aria-pressed=true]").all_inner_texts() == ["b"]
    per_cent = root.other(1)
    per_cent.locator("input").fill("67%")
    per_cent.locator("input").press("Enter")
    assert per_cent.locator(".machine-big").inner_text() == "Right"
