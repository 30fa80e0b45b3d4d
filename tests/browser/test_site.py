"""Every page of the built book, in Chromium, with the network cut."""

from __future__ import annotations

from urllib.parse import unquote, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup
from sphinx_external_toc.parsing import parse_toc_yaml

from tests.browser.conftest import ROOT
from tests.browser.explorer_page import axe_violations

pytestmark = pytest.mark.browser

DOCUMENTS = sorted(parse_toc_yaml(ROOT / "_toc.yml"))
PAGES = [f"{name}.html" for name in DOCUMENTS] + ["search.html"]
CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
NOT_FOUND = "404.html"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, NOT_FOUND])
def test_page_is_sound_and_accessible(open_page, site_url, name, theme):
    """No other host, nothing missing, a silent console, and no axe violation, in each theme."""
    page, record = open_page(site_url + name, theme=theme)
    assert page.locator("html").get_attribute("data-theme") == theme
    assert record.other_hosts() == []
    assert record.missing == []
    assert record.console == []
    assert axe_violations(page) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_wide_formula_is_reached_by_keyboard(open_page, site_url, name):
    """On a phone a long formula scrolls in its own box, which must then take the focus."""
    page, _ = open_page(site_url + name, width=360)
    boxes = page.locator('mjx-container[display="true"]').evaluate_all(
        "all => all.map(box => [box.scrollWidth > box.clientWidth, box.tabIndex === 0])"
    )
    assert [wide for wide, _ in boxes] == [focus for _, focus in boxes]


@pytest.mark.parametrize("name", [*PAGES, NOT_FOUND])
def test_nothing_scrolls_sideways_on_a_phone(open_page, site_url, name):
    page, _ = open_page(site_url + name, width=360)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .filter(e => !e.closest('pre, .output, .math, table, [tabindex]'))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, wide


@pytest.mark.parametrize("name", PAGES)
def test_works_from_a_file(open_page, site_dir, name):
    """From ``file:`` a browser refuses fonts; the icons among them are all that may be missing."""
    page, record = open_page((site_dir / name).as_uri())
    assert record.other_hosts() == []
    assert [url for url in record.missing if not url.endswith((".woff2", ".ttf"))] == []
    assert [text for text in record.console if not _is_about_a_font(text)] == []
    assert page.locator("#main-content h1:visible").first.is_visible()


def _is_about_a_font(text: str) -> bool:
    return ".woff" in text or ".ttf" in text or "net::ERR_FAILED" in text


@pytest.mark.parametrize("name", PAGES)
def test_is_readable_without_javascript(open_page, site_url, name):
    page, _ = open_page(site_url + name, java_script_enabled=False)
    assert page.locator("#main-content h1:visible").first.is_visible()
    assert len(page.locator("main").inner_text()) > 40


@pytest.mark.parametrize("name", [page for page in PAGES if page.startswith("chapters/")])
def test_is_readable_on_paper(open_page, site_url, name):
    """On A4 nothing is cut off at the right, and what only a screen needs is gone."""
    page, _ = open_page(site_url + name, width=718)
    page.emulate_media(media="print")
    cut = page.evaluate(
        """() => [...document.querySelectorAll('main pre, main img, main table, main canvas')]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                      || e.scrollWidth > e.clientWidth + 1)
            .map(e => e.outerHTML.slice(0, 160))"""
    )
    assert cut == []
    for folded in page.locator("main details > *:not(summary)").all():
        assert folded.evaluate("e => e.checkVisibility({contentVisibilityAuto: true})")
    for selector in (".bd-sidebar-primary", ".article-header-buttons", "button.copybtn"):
        for element in page.locator(selector).all():
            assert not element.is_visible(), selector


def test_every_link_within_the_book_leads_somewhere(site_dir):
    """Each ``href`` and ``src`` names a file that is there, each anchor an element that is."""
    soups = {
        path: BeautifulSoup(path.read_text("utf8"), "lxml") for path in site_dir.rglob("*.html")
    }
    soups = {path: soup for path, soup in soups.items() if "_static" not in path.parts}
    anchors = {
        path: {tag["id"] for tag in soup.find_all(id=True)} | {""} for path, soup in soups.items()
    }
    broken = []
    for path, soup in soups.items():
        here = "/" + path.relative_to(site_dir).as_posix()
        for tag in soup.find_all(["a", "link", "script", "img", "iframe", "source"]):
            target = tag.get("href") or tag.get("src")
            if not target or urlsplit(target).scheme:
                continue
            parts = urlsplit(urljoin(here, target))
            file = site_dir / unquote(parts.path).lstrip("/")
            if not file.is_file():
                broken.append(f"{here}: {target}")
            elif file in anchors and unquote(parts.fragment) not in anchors[file]:
                broken.append(f"{here}: no such anchor: {target}")
    assert len(soups) >= len(PAGES)
    assert broken == []


def test_every_picture_has_a_description(site_dir):
    """Alt text that says something: a file's name does not."""
    silent = []
    for name in PAGES:
        soup = BeautifulSoup((site_dir / name).read_text("utf8"), "lxml")
        for image in soup.select("main img"):
            alt = (image.get("alt") or "").strip()
            if len(alt) < 15 or "_images/" in alt or alt.endswith(".png"):
                silent.append(f"{name}: {image.get('src')}: {alt!r}")
    assert silent == []


def test_search_finds_a_page(open_page, site_url, site_dir):
    for url in (site_url + "search.html", (site_dir / "search.html").as_uri()):
        page, _ = open_page(url + "?q=numbers")
        result = page.locator("#search-results li a", has_text="How each number was made")
        result.first.wait_for()


def test_one_search_field_is_visible(open_page, site_url):
    page, _ = open_page(site_url + "index.html")
    fields = page.locator("input[type=search], .search-button-field").all()
    assert sum(element.is_visible() for element in fields) == 1


def test_the_theme_button_goes_round_and_is_remembered(open_page, site_url):
    page, _ = open_page(site_url + "index.html")
    button = page.locator("button.theme-switch-button:visible").first
    seen = set()
    for _ in range(3):
        button.click()
        seen.add(page.evaluate("document.documentElement.dataset.mode"))
    assert seen == {"auto", "light", "dark"}
    page.evaluate("localStorage.setItem('mode', 'dark'); localStorage.setItem('theme', 'dark')")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_an_address_that_leads_nowhere_gets_the_books_own_page(open_page, site_url):
    """Also from a folder below: its links and styles are absolute."""
    page, record = open_page(site_url + "no/such/page.html")
    assert page.locator(".bd-article h1").inner_text().startswith("Page not found")
    assert record.missing == [site_url + "no/such/page.html"]
    assert page.locator("nav a[href='/appendices/how_numbers_are_made.html']").count() >= 1


def test_previous_and_next_lead_through_the_book(open_page, site_url):
    """Following "next" from the cover visits every page of the contents."""
    page, _ = open_page(site_url + "index.html")
    visited = {"index"}
    while page.locator("a.right-next").count():
        page.locator("a.right-next").click()
        page.wait_for_load_state()
        visited.add(page.url.removeprefix(site_url).removesuffix(".html"))
    assert visited == set(DOCUMENTS)


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter_has_copy_buttons_and_no_set_up_cell(open_page, site_url, name):
    page, _ = open_page(site_url + name)
    assert page.locator("button.copybtn").count() == page.locator("div.highlight pre").count() > 0
    assert "google.colab" not in page.locator("main").inner_text()
