"""Guess first: a row that is covered until the reader has pressed where they expect the weight."""

import numpy as np
import pytest

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import (
    WORDS,
    follow,
    named,
    settle,
    snapshot,
    text,
    vectors,
)

pytestmark = pytest.mark.browser

IT, TIRED = WORDS.index("it"), WORDS.index("tired")
SETTINGS = {"tokens": WORDS, "anchor": "explorer-99-1"}
TOUR = [
    {"say": "Guess where “it” looks.", "guess": [0, IT]},
    {"say": "And the last row?", "guess": [0, TIRED], "mask": "causal"},
    {"say": "No more questions."},
]


def an_explorer(**settings):
    query, key = vectors(2, len(WORDS), 16), vectors(2, len(WORDS), 16, seed=1)
    return AttentionExplorer(query, key, **{**SETTINGS, "tour": TOUR, **settings})


def answer(root, name: str):
    return root.locator(".explorer-answers").get_by_role("button", name=name, exact=True)


def truth(explorer, row: int = IT) -> tuple[str, str, float, float]:
    """The strongest key of a row and another one, with their weights."""
    weights = explorer.values()[0, row]
    best, other = int(weights.argmax()), int(weights.argsort()[-3])
    return WORDS[best], WORDS[other], weights[best], weights[other]


def test_the_row_is_covered_everywhere_until_the_guess(show):
    explorer = an_explorer()
    best, _, weight, _ = truth(explorer)
    page, root, record = show(explorer)
    assert text(root, "query") == "“it”"
    assert text(root, "big") == "?"
    assert root.locator(".machine-top li:visible").count() == 0
    for part in ("apart", "data", "chip", "change"):
        assert not root.locator(named(part)).is_visible()
    for key in ("ArrowLeft", "ArrowRight", "Home"):
        root.locator(".explorer-cursor").press(key)
        settle(page)
        assert "covered. Enter guesses" in text(root, "live")
        assert f"{weight:.3f}" not in root.inner_text()
    before = root.evaluate("e => e.querySelector('.explorer-map').toDataURL()")
    answer(root, best).click()
    settle(page)
    assert root.evaluate("e => e.querySelector('.explorer-map').toDataURL()") != before
    assert f"You pressed “{best}”, and there is most of the weight of “it”: {weight:.3f}" in text(
        root, "told"
    )
    assert text(root, "big") == f"{weight:.3f}"
    assert page.evaluate("document.activeElement.className") == "explorer-skip"
    assert not record.console


def test_another_key_is_compared_with_the_truth_and_spoken(show):
    explorer = an_explorer()
    best, other, weight, less = truth(explorer)
    page, root, _ = show(explorer)
    answer(root, other).focus()
    page.keyboard.press("Enter")
    settle(page)
    told = text(root, "told")
    assert f"“{other}”: it has {less:.3f}, place 3 of {len(WORDS)}" in told
    assert f"{weight:.3f}, lies on “{best}”" in told
    assert text(root, "live") == told
    shown = snapshot(root)
    assert shown["guess"] == [0, IT, WORDS.index(other)] == shown["pinned"]
    np.testing.assert_allclose(shown["weights"], explorer.values()[0], rtol=0, atol=1e-6)


def test_a_cell_of_the_row_is_a_guess_by_mouse_and_by_keys(show):
    page, root, _ = show(an_explorer())
    root.locator(".explorer-cursor").press("ArrowDown")
    settle(page)
    assert text(root, "query") == "“was”"
    box = root.locator(".explorer-cursor").bounding_box()
    for y in np.arange(box["y"] + box["height"] - 9, box["y"] + 60, -6).tolist():
        page.mouse.move(box["x"] + box["width"] / 2, y)
        settle(page)
        if text(root, "query") == "“it”" and text(root, "big") == "?":
            break
    page.mouse.click(box["x"] + box["width"] / 2, y)
    settle(page)
    assert "You pressed" in text(root, "told")
    root.get_by_role("button", name="Cover it again").click()
    settle(page)
    assert snapshot(root)["guess"] == [0, IT]
    assert text(root, "told") == ""
    root.locator(".explorer-cursor").press("Home")
    root.locator(".explorer-cursor").press("Enter")
    settle(page)
    assert snapshot(root)["guess"] == [0, IT, 0]


def test_nobody_has_to_guess_and_a_masked_word_is_no_answer(show):
    page, root, _ = show(an_explorer())
    root.get_by_role("button", name="Next", exact=True).click()
    settle(page)
    assert "weight of “tired”" in text(root, "ask")
    root.get_by_role("button", name="Just show me").click()
    settle(page)
    assert snapshot(root)["guess"] == []
    assert text(root, "big") != "?"
    assert not root.locator(".explorer-guess").is_visible()
    root.get_by_role("button", name="Back").click()
    settle(page)
    assert snapshot(root)["guess"] == [0, IT]
    follow(page, "explorer-99-1=mask:causal;guess:[0,1]")
    assert root.locator(".explorer-answers button").count() == 2
    for key in ("End", "Enter"):
        root.locator(".explorer-cursor").press(key)
    settle(page)
    assert "masked for this query" in text(root, "live")
    assert snapshot(root)["guess"] == [0, 1]
