"""Widgets start when their reader comes near, who lands where an address says."""

from __future__ import annotations

import pytest

from attnkit.viz import AttentionExplorer
from booktools.widget_page import write_page
from tests.browser.explorer_page import (
    settle,
    start_widgets,
    vectors,
    wait_for_widgets,
    wait_until_started,
)

pytestmark = pytest.mark.browser

FAR = 12
TOUR = [{"say": "All."}, {"say": "Two words.", "seq_len": 2}]
DRAWN = "[...document.querySelectorAll('.attnkit-explorer')].map((root) => root.id)"


@pytest.fixture
def long_page(open_page, tmp_path):
    """`long_page(hash)` opens a page of many explorers, of which none is asked to start."""
    query = vectors(1, 4, 8)
    widgets = [
        AttentionExplorer(query, query, tour=TOUR, title=f"No. {n}", anchor=f"explorer-{n}")
        for n in range(FAR)
    ]
    path = write_page(tmp_path, *widgets)
    text = path.read_text("utf-8")
    path.write_text(text.replace("<h1>", '<a href="#explorer-9=2">go</a><h1>'), "utf-8")

    def long_page_(hash_: str = "", **options):
        page, record = open_page(path.as_uri() + hash_, start=False, **options)
        settle(page)
        page.wait_for_timeout(300)  # nothing more is to come
        assert record.console == []
        return page

    return long_page_


def wait_until_drawn(page, number: int) -> None:
    page.wait_for_function(
        f"document.querySelector('#explorer-{number} .machine-big')?.textContent"
    )


def test_those_near_start_for_paper_all_and_nothing_in_sight_moves(long_page):
    page = long_page()
    wait_until_drawn(page, 1)
    page.wait_for_timeout(300)
    there = page.evaluate(DRAWN)
    assert there[:2] == ["explorer-0", "explorer-1"]
    assert len(there) <= FAR / 2
    assert page.locator(".attnkit-fallback").count() == FAR - len(there)
    heights = page.locator(".attnkit-view").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert min(heights) >= 500
    view = page.locator(".attnkit-view").nth(7)
    view.evaluate("e => e.scrollIntoView({ behavior: 'instant' })")
    wait_until_drawn(page, 7)
    page.wait_for_timeout(300)
    assert "explorer-11" not in page.evaluate(DRAWN)
    place = view.bounding_box()["y"]
    page.wait_for_timeout(300)
    assert abs(view.bounding_box()["y"] - place) < 2
    page.emulate_media(media="print")
    wait_for_widgets(page, FAR)


@pytest.mark.parametrize(("address", "length"), [("#explorer-9=2", 2), ("#explorer-9", 4)])
def test_an_address_starts_the_explorer_that_it_leads_to(long_page, address, length):
    page = long_page(address)
    page.wait_for_function(
        "length => document.querySelector('#explorer-9')?.snapshot?.().seqLen === length",
        arg=length,
    )
    page.wait_for_function(
        "Math.abs(document.querySelector('#explorer-9').getBoundingClientRect().y) < 300"
    )


def test_a_link_starts_the_explorer_that_it_leads_to(long_page):
    page = long_page()
    assert "explorer-9" not in page.evaluate(DRAWN)
    page.get_by_text("go", exact=True).click()
    page.wait_for_function("document.querySelector('#explorer-9')?.snapshot?.().seqLen === 2")


def test_the_keyboard_starts_the_explorer_that_it_reaches(long_page):
    page = long_page()
    page.locator(".attnkit-view > [tabindex='0']").last.focus()
    page.wait_for_function(
        f"document.activeElement.closest('#explorer-{FAR - 1}') && "
        "document.activeElement.matches('button, input, select')"
    )
    assert page.locator("[aria-label='No. 11'][tabindex]").count() == 0


def test_all_start_where_nobody_can_tell_who_is_near(open_page, tmp_path):
    widgets = [AttentionExplorer(vectors(1, 4, 8), vectors(1, 4, 8)) for _ in range(5)]
    blind = "<script>delete window.IntersectionObserver;</script>"
    page, _ = open_page(write_page(tmp_path, *widgets, head=blind).as_uri(), start=False)
    wait_for_widgets(page, 5)


@pytest.mark.parametrize("address", ["#100%", "#explorer-0=%E0%A4%A"])
def test_an_address_that_is_none_keeps_no_widget_from_starting(long_page, address):
    """No percent sign in an address may end the script that starts them."""
    page = long_page(address)
    start_widgets(page)
    wait_for_widgets(page, FAR)
    assert page.locator(".attnkit-fallback").count() == 0


# A watcher has nothing to see when all widgets were started before it looked.
BLIND = "<script>window.IntersectionObserver = class { observe() {} unobserve() {} };</script>"


@pytest.mark.parametrize(("width", "head"), [(1280, ""), (360, BLIND)], ids=["watched", "blind"])
def test_an_address_below_widgets_is_where_the_reader_lands(open_page, tmp_path, width, head):
    """The browser goes there before the widgets have drawn and grown."""
    query = vectors(4, 12, 16)
    widgets = [AttentionExplorer(query, query, title=str(n), head="all") for n in range(3)]
    head += "<style>html{scroll-behavior:smooth}</style>"
    path = write_page(tmp_path, *widgets, head=head)
    tail = '<h2 id="below">Below</h2><div style="height:3000px"></div></main>'
    path.write_text(path.read_text().replace("</main>", tail))
    page, _ = open_page(path.as_uri() + "#below", width=width)
    wait_for_widgets(page, 3)
    page.wait_for_function(
        "(y => -2 <= y && y <= 90)(document.getElementById('below').getBoundingClientRect().y)"
    )


def test_who_goes_back_from_a_machine_finds_the_link(open_page, site_url):
    page, _ = open_page(site_url + "chapters/12_the_cost_of_attention.html")
    # What is drawn or has come later moves the link.
    wait_until_started(page)
    page.wait_for_load_state("networkidle")
    link = page.get_by_text("the largest score first")
    link.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 300)")
    settle(page)
    before = page.evaluate("scrollY")
    link.evaluate("node => node.click()")  # a click of Playwright's would scroll first
    page.wait_for_function("y => scrollY < y - 200", arg=before)
    # A scroll that is under way would go on after the way back.
    page.wait_for_function("() => window.at === (window.at = scrollY)", polling=200)
    page.go_back()
    page.wait_for_function("y => Math.abs(scrollY - y) < 5", arg=before)


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
