"""Attention as lines between words: which there are, what they leave out, and how they are read."""

import numpy as np
import pytest
import torch

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import complaints, control, settle, snapshot, text

pytestmark = pytest.mark.browser

FRENCH, ENGLISH = ["le", "chat", "noir"], ["the", "black", "cat"]
WEIGHTS = torch.tensor([[0.9, 0.06, 0.04], [0.1, 0.2, 0.7], [0.03, 0.94, 0.03]])


def an_explorer(**settings):
    return AttentionExplorer.from_frames(
        {3: WEIGHTS},
        query_tokens=FRENCH,
        key_tokens=ENGLISH,
        **{"view": "lines", "title": "T", **settings},
    )


STROKES = """() => {
    window.strokes = [];
    const own = CanvasRenderingContext2D.prototype.lineTo;
    CanvasRenderingContext2D.prototype.lineTo = function (...at) {
        window.strokes.push(this.canvas.className);
        return own.call(this, ...at);
    };
}"""


def test_the_view_is_a_choice_where_words_stand_on_both_sides(show):
    page, root, record = show(an_explorer(view="map"))
    page.evaluate(STROKES)
    control(root, "View").select_option("lines")
    settle(page)
    assert snapshot(root)["view"] == "lines"
    drawn = page.evaluate("window.strokes.filter(name => name === 'explorer-map').length")
    assert drawn == int((WEIGHTS >= 0.05).sum())
    one_row = page.evaluate("window.strokes.filter(name => name === 'explorer-cursor').length")
    assert one_row == int((WEIGHTS[2] >= 0.05).sum())
    assert not root.locator(".explorer-ramp").is_visible()
    assert not record.console
    square = AttentionExplorer.from_frames({3: WEIGHTS}, tokens=ENGLISH)
    assert "view" not in square.controls


def test_it_says_the_threshold_and_what_lies_below_it(show):
    page, root, _ = show(an_explorer(pinned=[0, 2, 1]))
    said = text(root, "least")
    assert "at least 0.05" in said
    assert "Not drawn: 0.060 of the row of “noir”" in said
    assert "lines from queries to keys" in root.locator(".explorer-cursor").get_attribute(
        "aria-label"
    )
    root.locator(".explorer-cursor").press("ArrowUp")
    settle(page)
    assert "Not drawn: 0.000 of the row of “chat”" in text(root, "least")
    root.locator(".explorer-cursor").press("ArrowRight")
    settle(page)
    assert (text(root, "query"), text(root, "key")) == ("“chat”", "“cat”")
    assert "query “chat”, key “cat”: weight 0.700" in text(root, "live")


def test_pointer_and_finger_choose_words_and_lines(show):
    page, root, _ = show(an_explorer(pinned=[0, 2, 1]))
    box = root.locator(".explorer-cursor").bounding_box()
    plan = {"left": box["x"] + 15, "top": box["y"] + 26, "step": 30}
    page.mouse.move(plan["left"], plan["top"] + 0.5 * plan["step"])
    settle(page)
    assert (text(root, "query"), text(root, "key")) == ("“le”", "“the”")  # its strongest key
    page.mouse.move(3, 3)
    settle(page)
    assert text(root, "query") == "“noir”"  # which is pinned
    found = set()
    for down in (1.75, 2.25):
        for x in np.arange(box["x"] + 180, box["x"] + 360, 20).tolist():
            page.mouse.move(x, plan["top"] + down * plan["step"])
            settle(page)
            found.add((text(root, "query"), text(root, "key")))
    assert {("“chat”", "“cat”"), ("“noir”", "“black”")} <= found  # where the two cross
    page.mouse.click(plan["left"], plan["top"] + 1.5 * plan["step"])
    settle(page)
    assert snapshot(root)["pinned"] == [0, 1, 2]


@pytest.mark.parametrize("colours", ["none", "active"])
def test_lines_are_seen_on_a_phone_in_any_colours(show, colours):
    page, root, record = show(an_explorer(), width=360, forced_colors=colours)
    settle(page)
    shown = """e => { const c = e.querySelector('.explorer-map');
        const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return pixels.filter((v, k) => k % 4 === 3 && v > 60).length }"""
    assert root.evaluate(shown) > 500
    assert complaints(page, record, 360) == []
