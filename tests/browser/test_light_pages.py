"""A first visit to each page of the book: what it loads, and that it keeps nobody waiting."""

from __future__ import annotations

import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

from booktools import weigh
from tests.browser.conftest import ROOT

PAGES = ["index.html"] + sorted(
    f"{name}.html" for name in parse_toc_yaml(ROOT / "_toc.yml") if name != "index"
)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def visits(browser, site_url):
    """What each page asks for, once a page."""
    found = {}

    def visit(name):
        if name not in found:
            found[name] = weigh.first_visit(browser, site_url + name)
        return found[name]

    return visit


@pytest.mark.parametrize("name", PAGES)
def test_a_first_visit_is_light(visits, name):
    parts = visits(name)
    total = sum(part.sent for part in parts)
    heaviest = [f"{part.sent} {part.address}" for part in parts[:4]]
    assert total <= weigh.limit(name), (total, heaviest)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_no_script_twice_and_none_of_the_heavy_ones(visits, name):
    addresses = [part.address for part in visits(name)]
    assert [a for a in addresses if "mathjax" in a or "fontawesome" in a] == []
    scripts = [a for a in addresses if a.endswith(".js")]
    assert sum("attnkit" in a for a in scripts) <= 1


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
    page, _ = open_page(
        site_url + "chapters/05_scaled_dot_product_attention.html", java_script_enabled=False
    )
    formulas = page.locator("mjx-container > svg")
    assert formulas.count() > 40
    box = formulas.first.bounding_box()
    assert box["width"] > 8
    assert box["height"] > 8
    heard = page.locator("mjx-container mjx-assistive-mml").first.bounding_box()
    assert (heard["width"], heard["height"]) == (1, 1)


@pytest.mark.slow
def test_the_cover_blocks_the_reader_for_less_than_a_blink(browser, site_url):
    """Of the page's own time; the least of three, since caches of the processor are shared."""
    least = min(weigh.times(browser, site_url + "index.html").blocking for _ in range(3))
    assert least <= weigh.BLOCKING_LIMIT
