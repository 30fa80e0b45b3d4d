"""Pages on paper, looked at as printed: what a style sheet says of print shows only there."""

import pytest

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import WORDS, settle, vectors, wait_for_theme
from tests.browser.paper import coloured, dark, printed

pytestmark = pytest.mark.browser


def explorers() -> list[AttentionExplorer]:
    query, key = vectors(4, 12, 16), vectors(4, 12, 16, seed=1)
    one = AttentionExplorer(query, key, tokens=WORDS, mask="causal", title="One head")
    return [one, AttentionExplorer(query, key, tokens=WORDS, head="all", title="All heads")]


def test_the_map_of_an_explorer_prints(show):
    """Its cells, not just the frame around the one in hand."""
    page, _, _ = show(*explorers())
    settle(page)
    whole = printed(page)
    page.add_style_tag(content=".explorer-map{visibility:hidden}")
    assert coloured(whole) > 3 * coloured(printed(page))


def test_the_frame_around_the_cell_in_hand_prints_too(show):
    page, _, _ = show(*explorers())
    settle(page)
    whole = printed(page)
    page.add_style_tag(content=".explorer-cursor{visibility:hidden}")
    assert coloured(whole) > coloured(printed(page)) + 500


def test_a_dark_page_prints_as_a_light_one(show):
    page, _, _ = show(*explorers())
    settle(page)
    light = printed(page)
    page.emulate_media(color_scheme="dark")
    wait_for_theme(page, dark=True)
    settle(page)
    night = printed(page)
    assert coloured(night) == pytest.approx(coloured(light), rel=0.02)
    assert dark(night) == pytest.approx(dark(light), rel=0.02)


def test_a_page_is_itself_again_after_printing(show):
    page, root, _ = show(*explorers())
    settle(page)
    look = "root => [...root.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL())"
    before = root.evaluate(look)
    printed(page)
    settle(page)
    assert root.evaluate(look) == before
