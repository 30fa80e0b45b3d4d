"""A change of a control costs a frame: only what it changed is computed and coloured again."""

import itertools

import pytest

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import WORDS, control, move, settle, vectors

pytestmark = pytest.mark.browser

HEADS = 4
COUNT_THE_PEN = """() => {
    const pen = CanvasRenderingContext2D.prototype;
    window.calls = { putImageData: 0, createImageData: 0 };
    for (const name of Object.keys(window.calls)) {
        const own = pen[name];
        pen[name] = function (...values) {
            window.calls[name] += 1;
            return own.apply(this, values);
        };
    }
}"""

# All controls to these values, in one frame.
SET = """(root, values) => {
    for (const [label, value] of values) {
        const input = root.querySelector(`[aria-label="${label}"]`);
        if (input.type === "checkbox") input.checked = value; else input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""


def an_explorer(**settings):
    query, key = vectors(HEADS, 12, 16), vectors(HEADS, 12, 16, seed=1)
    return AttentionExplorer(query, key, **{"tokens": WORDS, "head": "all", **settings})


@pytest.fixture
def counted(show):
    """`counted(label, value)` moves a control and returns the calls of the pen that it cost."""
    page, root, _ = show(an_explorer())
    settle(page)
    page.evaluate(COUNT_THE_PEN)

    def counted_(label: str, value) -> dict[str, int]:
        before = page.evaluate("({ ...window.calls })")
        move(root, label, value)
        settle(page)
        after = page.evaluate("window.calls")
        return {name: after[name] - before[name] for name in after}

    return counted_


def test_a_head_is_coloured_again_only_when_it_changed(counted):
    assert counted("Head", "2")["putImageData"] == 0
    assert counted("Temperature", 0.5)["putImageData"] == 1
    assert counted("Head", "all")["putImageData"] == HEADS - 1
    assert counted("Mask", "causal")["putImageData"] == HEADS


def test_no_change_asks_for_the_room_of_a_new_image(counted):
    for label, value in (("Length", 4), ("Length", 8), ("Head", "1"), ("Head", "all")):
        assert counted(label, value)["createImageData"] == 0


def pixels(root) -> str:
    return root.evaluate("e => e.querySelector('.explorer-map').toDataURL()")


def test_after_any_changes_the_map_is_that_of_an_explorer_without_a_past(show):
    page, walked, _ = show(an_explorer(), an_explorer())
    fresh = page.locator(".attnkit-explorer").nth(1)
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
            move(walked, label, value)
            settle(page)
        fresh.evaluate(SET, list(now.items()))
        settle(page)
        assert pixels(walked) == pixels(fresh), now
    assert control(walked, "Mask").input_value() == "padding"
