"""What an explorer can do besides: compare, ask for a guess, hide words, draw lines; its cost."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import (
    PEN,
    WORDS,
    an_explorer,
    button,
    complaints,
    follow,
    named,
    settle,
    vectors,
)

pytestmark = pytest.mark.browser

LENGTH = len(WORDS)

# ---- Two settings side by side, and their difference: weights now minus those that were kept.


def test_the_kept_picture_stays_while_the_other_moves(show):
    _, root, record = show(an_explorer(pinned=[0, 8, 1]))
    root.press("Keep this picture to compare")
    assert "No weight has changed" in root.text("change")
    kept, moving = root.picture("before"), root.picture()
    root.control("Mask").select_option("causal")
    root.move("Temperature", -0.5)
    assert root.picture("before") == kept
    assert root.picture() != moving
    now = "Kept: mask none, temperature 1. Now: mask causal, temperature 0.316"
    assert root.text("old") == now
    root.press("Let go of the kept picture")
    expect(root.locator(".explorer-kept")).to_be_hidden()
    assert root.snapshot()["kept"] == {}
    assert not record.console


CHANGES = [
    ({"temperature": 0.5}, {"temperature": 2.0}),
    ({"head": 1, "mask": "causal"}, {"head": 0, "seq_len": 9}),
    ({"head": "all", "hidden": [1]}, {"scaled": False}),
]


def test_the_largest_change_in_words_is_torchs(show):
    made = [an_explorer(2, **now, kept=kept, difference=True) for now, kept in CHANGES]
    _, root, _ = show(*made)
    for place, (explorer, (now, kept)) in enumerate(zip(made, CHANGES, strict=True)):
        change, head = explorer.change(), now.get("head", 0)
        plain = an_explorer(2, **{**now, **kept}).values()
        then = plain if head == "all" else plain[[kept.get("head", 0)]]
        rows = change.shape[1]
        heads = slice(None) if head == "all" else [head]
        expected = explorer.values()[heads][:, :rows, :rows] - then[:, :rows, :rows]
        np.testing.assert_allclose(change, expected, rtol=0, atol=1e-12)
        most = np.abs(change).argmax()
        _, query, key = np.unravel_index(most, change.shape)
        said = root.other(place).text("change")
        assert f"“{WORDS[query]}” → “{WORDS[key]}”" in said
        assert f"({change.flat[most]:+.3f})".replace("-", "−") in said


def test_the_difference_is_a_choice_with_a_scale_about_zero(show):
    page, root, _ = show(an_explorer(temperature=0.5, kept={"temperature": 2.0}))
    plain = root.picture("before")
    root.control("show the difference").focus()
    page.keyboard.press(" ")
    assert root.snapshot()["difference"] is True
    assert root.picture("before") != plain
    assert (root.text("less"), root.text("more")) == ("−1.00", "+1.00")
    assert "blue has more weight now" in root.text("old")
    assert root.text("live") == root.text("change")
    root.get_by_label("stretch colours").check()
    assert root.text("less").replace("−", "") == root.text("more").replace("+", "") != "1.00"
    root.move("Temperature", np.log10(2))
    assert "No weight has changed" in root.text("change")


# ---- Guess first: a row that is covered until the reader has pressed where they expect the weight.

IT, TIRED = WORDS.index("it"), WORDS.index("tired")
QUESTIONS = [
    {"say": "Guess where “it” looks.", "guess": [0, IT]},
    {"say": "And the last row?", "guess": [0, TIRED], "mask": "causal"},
    {"say": "No more questions."},
]


def asking(**settings):
    return an_explorer(2, **{"anchor": "explorer-99-1", "tour": QUESTIONS, **settings})


def answer(root, name: str):
    return button(root.locator(".explorer-answers"), name)


def truth(explorer, row: int = IT) -> tuple[str, str, float, float]:
    """The strongest key of a row and another one, with their weights."""
    weights = explorer.values()[0, row]
    best, other = int(weights.argmax()), int(weights.argsort()[-3])
    return WORDS[best], WORDS[other], weights[best], weights[other]


def test_the_row_is_covered_everywhere_until_the_guess(show):
    explorer = asking(value=vectors(2, LENGTH, 4, seed=7))
    best, _, weight, _ = truth(explorer)
    page, root, record = show(explorer, an_explorer(2, value=vectors(2, LENGTH, 4)))
    assert (root.text("query"), root.text("big")) == ("“it”", "?")
    assert root.locator(".machine-top li:visible").count() == 0
    for part in ("apart", "data", "chip", "change"):
        expect(root.locator(named(part))).to_be_hidden()
    for key in ("ArrowLeft", "ArrowRight", "Home"):
        root.locator(".explorer-cursor").press(key)
        assert "covered. Enter guesses" in root.text("live")
        assert f"{weight:.3f}" not in root.inner_text()
    before = root.picture()
    answer(root, best).click()
    assert root.picture() != before
    said = f"You pressed “{best}”, and there is most of the weight of “it” in head 0: {weight:.3f}"
    assert said in root.text("told")
    assert root.text("big") == f"{weight:.3f}"
    assert page.evaluate("document.activeElement.className") == "explorer-skip"
    folds = page.locator(".explorer-apart").evaluate_all("all => all.map((one) => one.open)")
    assert folds == [False, False]  # the row stays folded
    assert not record.console


def test_another_key_is_compared_with_the_truth_and_spoken(show):
    explorer = asking()
    best, other, weight, less = truth(explorer)
    _, root, _ = show(explorer)
    answer(root, other).press("Enter")
    told = root.text("told")
    assert f"“{other}”: it has {less:.3f}, place 3 of {LENGTH}" in told
    assert f"{weight:.3f}, lies on “{best}”" in told
    assert root.text("live") == told
    shown = root.snapshot()
    assert shown["guess"] == [0, IT, WORDS.index(other)] == shown["pinned"]


def test_a_cell_of_the_row_is_a_guess_but_nobody_has_to_make_one(show):
    page, root, _ = show(asking())
    cursor = root.locator(".explorer-cursor")

    def press(*keys: str) -> list[int]:
        for key in keys:
            cursor.press(key)
        return root.snapshot()["guess"]

    press("ArrowDown")
    assert root.text("query") == "“was”"
    box = cursor.bounding_box()
    for y in np.arange(box["y"] + box["height"] - 9, box["y"] + 60, -6).tolist():
        page.mouse.move(box["x"] + box["width"] / 2, y)
        if root.text("query") == "“it”" and root.text("big") == "?":
            break
    page.mouse.click(box["x"] + box["width"] / 2, y)
    assert "You pressed" in root.text("told")
    root.press("Cover it again")
    assert root.snapshot()["guess"] == [0, IT]
    assert root.text("told") == ""
    assert press("Home", "Enter") == [0, IT, 0]
    root.press("Next")
    assert "weight of “tired”" in root.text("ask")
    root.press("Just show me")
    assert root.snapshot()["guess"] == []
    assert root.text("big") != "?"
    expect(root.locator(".explorer-guess")).to_be_hidden()
    root.press("Back")
    assert root.snapshot()["guess"] == [0, IT]
    follow(page, "explorer-99-1=mask:causal;guess:[0,1]")
    assert root.locator(".explorer-answers button").count() == 2
    assert press("End", "Enter") == [0, 1]
    assert "masked for this query" in root.text("live")


def test_the_question_names_its_head_and_waits_while_another_is_on_show(show):
    explorer = asking(value=vectors(2, LENGTH, 4, seed=7))
    best, *_ = truth(explorer)
    _, root, _ = show(explorer)
    assert "weight of “it” in head 0?" in root.text("ask")
    root.control("Head").select_option("1")
    expect(root.locator(named("guess"))).to_be_hidden()
    expect(root.locator(named("apart"))).to_be_visible()
    root.control("Head").select_option("0")
    answer(root, best).click()
    said = root.text("told")
    assert "most of the weight of “it” in head 0" in said
    root.control("Head").select_option("1")
    expect(root.locator(named("told"))).to_be_hidden()
    root.control("Head").select_option("all")
    assert root.text("told") == said


# ---- A word that is pressed is hidden from every query.


def hiding(**settings):
    return an_explorer(2, **{"controls": ["mask", "head", "hide"], **settings})


def word(root, name: str):
    return button(root.locator(".explorer-hide"), name)


def test_the_weights_left_are_torchs_and_pythons(show):
    masks = ("none", "causal", "padding", "window", "prefix")
    given, explorers = [], []
    for mask, hidden in itertools.product(masks, ([1], [0, 8, 11], list(range(LENGTH)))):
        one = hiding(mask=mask, window=3, prefix_len=4, head="all", temperature=0.5)
        visible = one.visible().copy()
        visible[:, hidden] = False
        one.hidden = hidden
        given.append(visible)
        explorers.append(one)
    _, root, _ = show(*explorers)
    query, key = vectors(2, LENGTH, 16).double(), vectors(2, LENGTH, 16, seed=1).double()
    scores = query @ key.mT / math.sqrt(16) / 0.5
    for place, (explorer, visible) in enumerate(zip(explorers, given, strict=True)):
        found = np.array(root.other(place).snapshot()["weights"])
        masked = scores.masked_fill(~torch.tensor(visible), float("-inf"))
        expected = masked.softmax(-1).nan_to_num(0.0)  # a row that sees nothing: zeros
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, equal_nan=False)
        np.testing.assert_allclose(found, explorer.values(), rtol=0, atol=1e-6, equal_nan=False)
        assert (explorer.visible() == visible).all()


def test_a_press_hides_a_word_and_a_second_one_brings_it_back(show):
    page, root, _ = show(hiding(pinned=[0, 8, 1], anchor="explorer-99-1"))
    before = root.snapshot()["weights"]
    word(root, "The").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert root.snapshot()["hidden"] == [1]
    assert root.text("big") == "masked"
    assert "of 11 keys" in root.text("row")
    expect(root.locator(".explorer-masked")).to_be_visible()
    assert page.evaluate("document.activeElement.textContent") == "animal"
    assert word(root, "animal").get_attribute("aria-pressed") == "true"
    spoken = root.text("live")
    assert spoken.startswith("“animal” is hidden. query “it”, key “animal”")
    assert "masked, weight 0; it looks most at" in spoken
    assert "“animal” hidden" in root.locator(".explorer-cursor").get_attribute("aria-label")
    page.keyboard.press(" ")
    assert root.text("live").startswith("“animal” is back.")
    assert root.snapshot()["weights"] == before
    for address in ("hidden:[2,3]", "hidden:[2,99]"):  # which has no such word
        follow(page, f"explorer-99-1={address}")
        assert root.snapshot()["hidden"] == [2, 3]
    root.press("Reset")
    assert root.snapshot()["hidden"] == []


def test_with_everything_hidden_the_row_says_so_and_nothing_breaks(show):
    recorded = AttentionExplorer.from_frames({3: vectors(1, 3, 3).softmax(-1)}, controls=["hide"])
    _, root, record = show(hiding(pinned=[0, 8, 1], hidden=list(range(LENGTH))), recorded)
    root.locator(".explorer-apart summary").click()
    assert "is hidden: its weights are 0" in root.text("row")
    assert not {"NaN", "Infinity"} & set(re.findall(r"\w+", root.inner_text()))
    assert not record.console
    expect(root.other(1).locator(".explorer-hide")).to_be_hidden()  # recorded weights have no words


# ---- Attention as lines between words.

WEIGHTS = torch.tensor([[0.9, 0.06, 0.04], [0.1, 0.2, 0.7], [0.03, 0.94, 0.03]])


def of_lines(**settings):
    given = {"query_tokens": ["le", "chat", "noir"], "key_tokens": ["the", "black", "cat"]}
    given |= {"view": "lines", "title": "T", "pinned": [0, 2, 1]}
    return AttentionExplorer.from_frames({3: WEIGHTS}, **given | settings)


def test_the_view_is_a_choice_where_words_stand_on_both_sides(show):
    page, root, record = show(of_lines(view="map", pinned=[]))
    page.evaluate(PEN, ["lineTo"])
    root.control("View").select_option("lines")
    assert root.snapshot()["view"] == "lines"
    for part, weights in (("map", WEIGHTS), ("cursor", WEIGHTS[2])):
        drawn = page.evaluate(f"pen.filter(([, name]) => name === 'explorer-{part}').length")
        assert drawn == int((weights >= 0.05).sum())
    expect(root.locator(".explorer-ramp")).to_be_hidden()
    assert not record.console
    square = AttentionExplorer.from_frames({3: WEIGHTS}, tokens=["the", "black", "cat"])
    assert "view" not in square.controls


def test_it_says_what_lies_below_the_threshold_and_pointers_choose_words_and_lines(show):
    page, root, _ = show(of_lines())
    cursor = root.locator(".explorer-cursor")

    def pair() -> tuple[str, str]:
        return root.text("query"), root.text("key")

    assert "Not drawn: 0.060 of the row of “noir”" in root.text("least")
    assert "lines from queries to keys" in cursor.get_attribute("aria-label")
    cursor.press("ArrowUp")
    assert "Not drawn: 0.000 of the row of “chat”" in root.text("least")
    cursor.press("ArrowRight")
    assert pair() == ("“chat”", "“cat”")
    assert "query “chat”, key “cat”: weight 0.700" in root.text("live")
    root.press("Reset")
    box = cursor.bounding_box()
    left, top, step = box["x"] + 15, box["y"] + 26, 30
    page.mouse.move(left, top + 0.5 * step)
    assert pair() == ("“le”", "“the”")  # its strongest key
    page.mouse.move(3, 3)
    assert root.text("query") == "“noir”"  # which is pinned
    found = set()
    for down, x in itertools.product((1.75, 2.25), np.arange(180, 360, 20).tolist()):
        page.mouse.move(box["x"] + x, top + down * step)
        found.add(pair())
    assert {("“chat”", "“cat”"), ("“noir”", "“black”")} <= found  # where the two cross
    page.mouse.click(left, top + 1.5 * step)
    assert root.snapshot()["pinned"] == [0, 1, 2]


def test_lines_are_seen_on_a_phone_in_colours_of_the_readers_own(show):
    page, root, record = show(of_lines(), width=360, forced_colors="active")
    settle(page)
    shown = """e => { const c = e.querySelector('.explorer-map');
        const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return pixels.filter((v, k) => k % 4 === 3 && v > 60).length }"""
    assert root.evaluate(shown) > 500
    assert complaints(page, record, 360) == []


# ---- A change of a control costs a frame: only what it changed is computed and coloured again.

HEADS = 4

# All controls to these values, in one frame.
SET = """(root, values) => {
    for (const [label, value] of values) {
        const input = root.querySelector(`[aria-label="${label}"]`);
        if (input.type === "checkbox") input.checked = value; else input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""


def test_a_head_is_coloured_again_only_when_it_changed(show):
    page, root, _ = show(an_explorer(HEADS, head="all"))
    settle(page)
    page.evaluate(PEN, ["putImageData", "createImageData"])
    for label, value, heads in (
        *(("Head", "2", 0), ("Temperature", 0.5, 1), ("Head", "all", HEADS - 1)),
        *(("Mask", "causal", HEADS), ("Length", 4, HEADS)),
    ):
        page.evaluate("pen.length = 0")
        root.move(label, value)
        # None with the room of a new image.
        assert page.evaluate("pen.map(([name]) => name)") == ["putImageData"] * heads, label


def test_after_any_changes_the_map_is_that_of_an_explorer_without_a_past(show):
    _, walked, _ = show(*(an_explorer(HEADS, head="all") for _ in range(2)))
    fresh = walked.other(1)
    choices = {
        "Length": [11, 3, 7],
        "Head": ["all", "2"],
        "Mask": ["causal", "none", "window", "padding", "prefix"],
        "Temperature": [0, -1, 0.6],
        "scale by 1/√16": [True, False],
        "Show": ["weights", "scores", "masked scores"],
        "stretch colours": [False, True],
    }
    values = {label: itertools.cycle(found) for label, found in choices.items()}
    for turn in range(4):
        now = {label: next(found) for label, found in values.items()}
        for label, value in reversed(now.items()) if turn % 2 else now.items():
            walked.move(label, value)
        fresh.evaluate(SET, list(now.items()))
        assert walked.picture() == fresh.picture(), now
    assert walked.control("Mask").input_value() == "padding"
