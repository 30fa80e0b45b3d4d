"""Icons and formulas without scripts, and pages that keep nobody waiting.

What a first visit to each page loads is in test_site.py, which makes one.
"""

from __future__ import annotations

import pytest

from booktools import weigh

pytestmark = pytest.mark.browser


def test_the_icons_are_drawn(open_page, site_dir):
    """Every icon of the page has its own shape in the small font; also from a file."""
    page, record = open_page((site_dir / "chapters/05_scaled_dot_product_attention.html").as_uri())
    assert record.console == []
    assert record.missing == []
    assert page.evaluate(
        "document.fonts.ready.then((all) => [...all].some((f) => f.status === 'loaded'))"
    )
    silent = page.evaluate(
        """() => [...document.querySelectorAll("i[class*='fa-']")]
            .filter((icon) => !/^".+"$/.test(getComputedStyle(icon, "::before").content))
            .map((icon) => icon.className)"""
    )
    assert silent == []


def test_formulas_stand_there_without_javascript(open_page, site_url):
    page, _ = open_page(site_url + "appendices/notation.html", java_script_enabled=False)
    formulas = page.locator("mjx-container > svg")
    assert formulas.count() > 40
    box = formulas.first.bounding_box()
    assert box["width"] > 8
    assert box["height"] > 8
    heard = page.locator("mjx-container mjx-assistive-mml").first.bounding_box()
    assert (heard["width"], heard["height"]) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "chapters/05_scaled_dot_product_attention"])
def test_a_page_blocks_the_reader_for_less_than_a_blink(browser, site_url, name):
    """Of the page's own time; the least of three, since caches of the processor are shared."""
    least = min(weigh.times(browser, f"{site_url}{name}.html").blocking for _ in range(3))
    assert least <= weigh.BLOCKING_LIMIT


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_has_its_theme_before_its_first_line(browser, site_url, theme):
    """Else the whole page is styled again when it has been read."""
    context = browser.new_context(color_scheme=theme)
    page = context.new_page()
    page.add_init_script(
        """new MutationObserver((_, watcher) => {
            if (!document.body) return;
            window.early = document.documentElement.dataset.theme;
            watcher.disconnect();
        }).observe(document, { childList: true, subtree: true });"""
    )
    page.goto(site_url + "index.html", wait_until="load")
    assert page.evaluate("[window.early, document.documentElement.dataset.theme]") == [theme] * 2
    context.close()
