"""Where the parts of the widgets are, and the page's colours in them."""

from __future__ import annotations

import pytest

from attnkit.viz import AttentionExplorer
from booktools.sphinx_ext import PRINT_LIGHT
from tests.attnbook.machines.test_lamp_machine import make as the_lamps
from tests.browser.explorer_page import settle, vectors

pytestmark = pytest.mark.browser


def an_explorer(*, values: bool = False) -> AttentionExplorer:
    query = vectors(2, 5, 4)
    return AttentionExplorer(query, query, value=query if values else None, tokens=list("abcde"))


def test_reset_stands_with_the_controls(show):
    _, root, _ = show(an_explorer())
    reset = root.get_by_role("button", name="Reset").bounding_box()
    box = root.locator(".machine-controls").bounding_box()
    assert box["y"] <= reset["y"]
    assert reset["y"] + reset["height"] <= box["y"] + box["height"]


def test_reset_stands_beside_the_last_switch(show):
    _, root, _ = show(the_lamps())
    reset = root.get_by_role("button", name="Reset").bounding_box()
    last = root.locator(".machine-controls input:visible").last.bounding_box()
    assert abs(reset["y"] + reset["height"] / 2 - last["y"] - last["height"] / 2) < 12


def test_a_row_with_values_is_open_once_on_a_page(show):
    page, _, _ = show(an_explorer(), an_explorer(values=True), an_explorer(values=True))
    opened = page.locator(".explorer-apart").evaluate_all("all => all.map((one) => one.open)")
    assert opened == [False, True, False]
    assert page.locator(".explorer-apart[open] tbody tr").count() == 5


def test_widgets_take_the_colours_of_the_page(show):
    """Those of drawings and plots, where a book defines them."""
    page, root, _ = show(an_explorer())
    page.add_style_tag(
        content=":root{--attn-query:rgb(1,2,3);--attn-key:rgb(4,5,6);--attn-muted:rgb(7,8,9)}"
    )
    settle(page)
    colours = [
        root.locator(part).evaluate("e => getComputedStyle(e).color")
        for part in (".explorer-query", ".explorer-key", ".machine-score")
    ]
    assert colours == ["rgb(1, 2, 3)", "rgb(4, 5, 6)", "rgb(7, 8, 9)"]


def test_a_dark_page_is_light_on_paper_and_dark_again(open_page):
    page, _ = open_page("about:blank")
    page.set_content('<html data-theme="dark"><body>words</body></html>')
    page.add_script_tag(content=PRINT_LIGHT.read_text("utf-8"))
    theme = "document.documentElement.dataset.theme"
    for medium, worn in (("print", "light"), ("screen", "dark"), ("print", "light")):
        page.emulate_media(media=medium)
        page.wait_for_function(f"{theme} === '{worn}'")


@pytest.mark.build
def test_the_keyboard_skips_to_the_first_widget(open_page, site_url):
    """It starts when the focus gets there, and takes the focus on."""
    url = site_url + "chapters/05b_self_attention.html"
    page, _ = open_page(url, start=False)
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'first-widget'")
    page.keyboard.press("Tab")
    page.wait_for_function("document.activeElement.closest('.attnkit-explorer')")
