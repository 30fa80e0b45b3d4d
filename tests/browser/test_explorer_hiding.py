"""A word pressed in the explorer is hidden from every query, and the weights are torch's."""

import math

import numpy as np
import pytest
import torch

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import (
    WORDS,
    follow,
    settle,
    snapshot,
    text,
    vectors,
)

pytestmark = pytest.mark.browser

LENGTH = len(WORDS)


def an_explorer(**settings):
    query, key = vectors(2, LENGTH, 16), vectors(2, LENGTH, 16, seed=1)
    return AttentionExplorer(
        query, key, **{"tokens": WORDS, "controls": ["mask", "head", "hide"], **settings}
    )


def word(root, name: str):
    return root.locator(".explorer-hide").get_by_role("button", name=name, exact=True)


def test_the_weights_left_are_torchs_and_pythons(show):
    given, explorers = [], []
    for mask in ("none", "causal", "padding", "window", "prefix"):
        for hidden in ([1], [0, 8, 11], list(range(LENGTH))):
            one = an_explorer(mask=mask, window=3, prefix_len=4, head="all", temperature=0.5)
            visible = one.visible().copy()
            visible[:, hidden] = False
            one.hidden = hidden
            given.append(visible)
            explorers.append(one)
    page, _, _ = show(*explorers)
    query, key = vectors(2, LENGTH, 16).double(), vectors(2, LENGTH, 16, seed=1).double()
    scores = query @ key.mT / math.sqrt(16) / 0.5
    for place, (explorer, visible) in enumerate(zip(explorers, given, strict=True)):
        found = np.array(snapshot(page.locator(".attnkit-explorer").nth(place))["weights"])
        masked = scores.masked_fill(~torch.tensor(visible), float("-inf"))
        expected = masked.softmax(-1).nan_to_num(0.0)  # a row that sees nothing: zeros
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, equal_nan=False)
        np.testing.assert_allclose(found, explorer.values(), rtol=0, atol=1e-6, equal_nan=False)
        assert (explorer.visible() == visible).all()


def test_a_press_hides_a_word_and_a_second_one_brings_it_back(show):
    page, root, _ = show(an_explorer(pinned=[0, 8, 1]))
    before = snapshot(root)["weights"]
    word(root, "animal").click()
    settle(page)
    shown = snapshot(root)
    assert shown["hidden"] == [1]
    assert text(root, "big") == "masked"
    assert "of 11 keys" in text(root, "row")
    assert root.locator(".explorer-masked").is_visible()
    assert all(row[1] == 0 and sum(row) == pytest.approx(1) for row in shown["weights"])
    word(root, "animal").click()
    settle(page)
    assert snapshot(root)["weights"] == before
    word(root, "it").click()
    root.get_by_role("button", name="Reset").click()
    settle(page)
    assert snapshot(root)["hidden"] == []


def test_by_keyboard_and_in_words(show):
    page, root, _ = show(an_explorer(pinned=[0, 8, 1]))
    word(root, "The").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settle(page)
    assert snapshot(root)["hidden"] == [1]
    assert page.evaluate("document.activeElement.textContent") == "animal"
    assert word(root, "animal").get_attribute("aria-pressed") == "true"
    spoken = text(root, "live")
    assert spoken.startswith("“animal” is hidden. query “it”, key “animal”")
    assert "masked, weight 0; it looks most at" in spoken
    assert "“animal” hidden" in root.locator(".explorer-cursor").get_attribute("aria-label")
    page.keyboard.press(" ")
    assert text(root, "live").startswith("“animal” is back.")


def test_with_everything_hidden_the_row_says_so_and_nothing_breaks(show):
    page, root, record = show(an_explorer(pinned=[0, 8, 1], hidden=list(range(LENGTH))))
    root.locator(".explorer-apart summary").click()
    settle(page)
    assert "is hidden: its weights are 0" in text(root, "row")
    assert "NaN" not in root.inner_text()
    assert "Infinity" not in root.inner_text()
    assert not record.console


def test_recorded_weights_have_no_words_to_press(show):
    frames = {3: vectors(1, 3, 3).softmax(-1)}
    _, root, _ = show(AttentionExplorer.from_frames(frames, controls=["hide"]))
    assert not root.locator(".explorer-hide").is_visible()


def test_a_step_hides_a_word_and_the_next_one_does_not(show):
    tour = [{"say": "One word is gone.", "hidden": [1]}, {"say": "It is back."}]
    page, root, _ = show(an_explorer(tour=tour, anchor="explorer-99-1"))
    assert snapshot(root)["hidden"] == [1]
    root.get_by_role("button", name="Next", exact=True).click()
    settle(page)
    assert snapshot(root)["hidden"] == []
    assert "explorer-moved" in root.locator(".explorer-hide").get_attribute("class")
    for address, found in (("hidden:[2,3]", [2, 3]), ("hidden:[2,99]", [2, 3])):
        follow(page, f"explorer-99-1={address}")
        assert snapshot(root)["hidden"] == found


def test_a_finger_has_room_for_each_word(show):
    _, root, _ = show(an_explorer(), width=360, has_touch=True, is_mobile=True)
    word(root, "animal").tap()
    assert snapshot(root)["hidden"] == [1]
    assert word(root, "animal").bounding_box()["height"] >= 44
