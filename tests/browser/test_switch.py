"""The switch of heads in Chromium: its answers are torch's, and every reader can use it."""

import itertools

import pytest
import torch

from attnbook.machines import HeadSwitch
from attnkit.viz import AttentionExplorer
from tests.browser.conftest import ROOT
from tests.browser.explorer_page import (
    ATTACK,
    THEMES_AND_WIDTHS,
    complaints,
    control,
    render_and_close,
    saved_arrays,
    saved_models,
    settle,
    snapshot,
    vectors,
    wait_for_theme,
)

pytestmark = pytest.mark.browser

WORDS = ["hang", "them", "not", "let", "them", "go"]
LABELS = ["hang", "let", "pay", "free"]


def a_switch(words=WORDS, **settings):
    heads, size = 2, len(words)
    given = {
        "tokens": words,
        "row": 2,
        "questions": ["comma after", "comma before"],
        "answers": LABELS,
        "expected": [1, 0],
        "title": "A title",
    }
    weights = vectors(heads, size, size).softmax(-1)
    effects = 3 * vectors(heads, size, 2 * len(LABELS), seed=1).unflatten(-1, (2, -1))
    return HeadSwitch(weights, effects, vectors(1, 2, len(LABELS), seed=2)[0], **given | settings)


@pytest.mark.parametrize("off", [[], [0], [1], [0, 1]])
def test_the_answers_are_torchs_with_every_choice_of_heads(show, off):
    switch = a_switch(head_names=["the one", "the other"])
    _, root, record = show(switch)
    for head in off:
        control(root, switch.head_names[head]).uncheck()
    switch.on = [head not in off for head in range(2)]
    shown = snapshot(root)
    assert shown["on"] == switch.on
    assert shown["logits"] == pytest.approx(switch.logits(), abs=1e-6)
    assert [sum(chances) for chances in shown["chances"]] == pytest.approx([1, 1])
    assert shown["answers"] == switch.given()
    assert root.locator(".ak-big").all_inner_texts() == switch.given()
    right = [LABELS[place] for place in (1, 0)]
    for said, answer, expected in zip(
        root.locator(".as-answers .ak-score").all_inner_texts(), switch.given(), right, strict=True
    ):
        assert said == ("✓ right" if answer == expected else f"✗ wrong, it should be {expected}")
    assert root.locator(".as-off").count() == len(off)
    assert not record.console
    root.get_by_role("button", name="Reset").click()
    assert snapshot(root)["on"] == [True, True]
    assert root.locator(".as-off").count() == 0


def test_the_weights_are_those_recorded_with_their_names(show):
    switch = a_switch()
    _, root, _ = show(switch)
    weights = vectors(2, 6, 6).softmax(-1)
    for shown, recorded in zip(snapshot(root)["weights"], weights.tolist(), strict=True):
        assert shown == [pytest.approx(row, abs=1e-6) for row in recorded]
    first = root.locator("table").first
    assert first.locator("caption").inner_text() == "head 0"
    assert first.locator("tbody tr").nth(2).locator("th").inner_text() == "not"
    texts = first.locator("tbody tr").nth(2).locator("td").all_inner_texts()
    assert [float(text) for text in texts] == pytest.approx(weights[0, 2].tolist(), abs=5.1e-3)
    assert root.locator("tr.as-row").count() == 2


def test_the_keyboard_turns_a_head_off_and_the_page_says_what_follows(show):
    page, root, _ = show(a_switch())
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    said = root.locator(".ak-live").inner_text()
    assert said.startswith("head 0 off, head 1 on. At “not”, comma after: ")
    assert said.count("right") + said.count("wrong") == 2
    assert root.evaluate("e => getComputedStyle(document.activeElement).outlineStyle") == "solid"
    names = []
    for _ in range(2):
        page.keyboard.press("Tab")
        focus = "document.activeElement.ariaLabel || document.activeElement.textContent"
        names.append(page.evaluate(focus))
    assert names == ["head 1", "Reset"]
    page.keyboard.press("Enter")
    assert snapshot(root)["on"] == [True, True]


@pytest.mark.parametrize(("theme", "width"), THEMES_AND_WIDTHS)
def test_no_axe_violation_and_no_sideways_scroll(show, theme, width):
    long = [*WORDS, "at", "dawn", "said", "the", "king"]
    page, _, record = show(
        a_switch(on=[True, False]), a_switch(long, title="Long"), theme=theme, width=width
    )
    assert complaints(page, record, width) == []


def test_it_follows_the_theme_and_paper_is_white(show):
    page, root, _ = show(a_switch())
    cell = "e => getComputedStyle(e.querySelector('tbody td')).backgroundColor"
    light = root.evaluate(cell)
    page.emulate_media(color_scheme="dark")
    wait_for_theme(page, dark=True)
    assert root.evaluate(cell) != light
    page.emulate_media(color_scheme="dark", media="print")
    wait_for_theme(page, dark=False)
    assert root.evaluate(cell) == light


def test_token_text_is_text_everywhere(show):
    words = [ATTACK, "</script>", "&lt;", "$x$"]
    switch = a_switch(
        words, title=ATTACK, caption=ATTACK, head_names=[ATTACK, "b"], questions=[ATTACK, "q"]
    )
    _, root, record = show(switch)
    root.locator("input").first.uncheck()
    assert snapshot(root)["tokens"] == words
    assert ATTACK in root.locator(".ak-live").inner_text()
    assert root.locator("img, b").count() == 0
    assert not record.console
    assert not record.missing


def test_it_stands_beside_an_explorer_and_two_views_stay_in_step(show):
    switch, query = a_switch(), vectors(2, 4, 8)
    page, _, _ = show(switch, AttentionExplorer(query, query), switch)
    first, second = (page.locator(".attnkit-switch").nth(place) for place in range(2))
    control(first, "head 1").uncheck()
    settle(page)
    assert snapshot(first) == snapshot(second)
    assert not control(second, "head 1").is_checked()
    assert page.locator(".attnkit-explorer").nth(1).locator("canvas").count() == 3


def test_closing_a_view_lets_go_of_everything(browser):
    listeners, heard = render_and_close(browser, a_switch())
    assert listeners >= 6
    assert heard == 1


def saved_switch() -> tuple[dict, dict]:
    """The traits of the switch in chapter 08, and its arrays, from the committed notebook."""
    (model,) = saved_models(ROOT / "chapters" / "08_multi_head_attention.ipynb", HeadSwitch)
    heads, size, asked, answers = model["state"]["shape"]
    shapes = {
        "weights": (heads, size, size),
        "effects": (heads, size, asked, answers),
        "bias": (asked, answers),
    }
    arrays = saved_arrays(model)
    return model["state"], {
        name: torch.tensor(arrays[name]).double().reshape(shape) for name, shape in shapes.items()
    }


def test_in_chapter_08_a_reader_turns_a_head_off_and_sees_the_task_fail(open_page, site_url):
    state, arrays = saved_switch()
    page, record = open_page(site_url + "chapters/08_multi_head_attention.html")
    root = page.locator(".attnkit-switch")
    root.scroll_into_view_if_needed()
    assert root.locator("caption").all_inner_texts() == state["head_names"]
    assert snapshot(root)["tokens"] == ["hang", "them", "not", "let", "them", "go"]
    right = [state["answers"][place] for place in state["expected"]]
    given = {}
    for on in itertools.product([True, False], repeat=2):
        for name, wanted in zip(state["head_names"], on, strict=True):
            control(root, name).set_checked(wanted)
        used = arrays["weights"][:, state["row"]] * torch.tensor(on).double()[:, None]  # (H, S)
        logits = arrays["bias"] + torch.einsum("hs,hsqn->qn", used, arrays["effects"])
        shown = snapshot(root)
        assert shown["logits"] == pytest.approx(logits.numpy(), abs=1e-6)
        given[on] = shown["answers"]
        assert root.locator(".ak-big").all_inner_texts() == given[on]
    assert given[True, True] == right == ["let them go", "hang them"]
    for on in ((True, False), (False, True)):  # one reading stays, one is lost
        assert sum(a == b for a, b in zip(given[on], right, strict=True)) == 1
    assert not record.console
