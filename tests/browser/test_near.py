"""Widgets start when their reader comes near; until then their pictures keep the place."""

from __future__ import annotations

import pytest

from attnkit.viz import AttentionExplorer
from booktools.widget_page import write_page
from tests.browser.explorer_page import settle, start_widgets, vectors, wait_for_widgets

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


def drawn(page) -> list[str]:
    return page.evaluate(DRAWN)


def wait_until_drawn(page, number: int) -> None:
    page.wait_for_function(
        f"document.querySelector('#explorer-{number} .machine-big')?.textContent"
    )


def test_those_near_the_top_start_and_the_others_keep_their_pictures(long_page):
    page = long_page()
    wait_until_drawn(page, 1)
    page.wait_for_timeout(300)
    there = drawn(page)
    assert there[:2] == ["explorer-0", "explorer-1"]
    assert len(there) <= FAR / 2
    assert page.locator(".attnkit-fallback").count() == FAR - len(there)
    heights = page.locator(".attnkit-view").evaluate_all("all => all.map(e => e.offsetHeight)")
    assert min(heights) >= 500


def test_the_next_start_as_the_reader_comes_near_and_nothing_in_sight_moves(long_page):
    page = long_page()
    view = page.locator(".attnkit-view").nth(7)
    view.evaluate("e => e.scrollIntoView({ behavior: 'instant' })")
    wait_until_drawn(page, 7)
    page.wait_for_timeout(300)
    assert "explorer-11" not in drawn(page)
    place = view.bounding_box()["y"]
    page.wait_for_timeout(300)
    assert abs(view.bounding_box()["y"] - place) < 2


def test_an_address_starts_the_explorer_that_it_leads_to(long_page):
    page = long_page("#explorer-9=2")
    wait_until_drawn(page, 9)
    page.wait_for_function("document.querySelector('#explorer-9').snapshot().seqLen === 2")
    page.wait_for_function(
        "Math.abs(document.querySelector('#explorer-9').getBoundingClientRect().y) < 300"
    )


def test_a_link_starts_the_explorer_that_it_leads_to(long_page):
    page = long_page()
    assert "explorer-9" not in drawn(page)
    page.get_by_text("go", exact=True).click()
    wait_until_drawn(page, 9)
    page.wait_for_function("document.querySelector('#explorer-9').snapshot().seqLen === 2")


def test_the_keyboard_starts_the_explorer_that_it_reaches(long_page):
    page = long_page()
    page.locator(".attnkit-view > [tabindex='0']").last.focus()
    wait_until_drawn(page, FAR - 1)
    page.wait_for_function(
        f"document.activeElement.closest('#explorer-{FAR - 1}') && "
        "document.activeElement.matches('button, input, select')"
    )
    assert page.locator("[aria-label='No. 11'][tabindex]").count() == 0


def test_all_start_for_paper(long_page):
    page = long_page()
    assert len(drawn(page)) < FAR
    page.emulate_media(media="print")
    wait_for_widgets(page, FAR)


def test_all_start_where_nobody_can_tell_who_is_near(browser, tmp_path):
    query = vectors(1, 4, 8)
    page = browser.new_page()
    page.add_init_script("delete window.IntersectionObserver")
    page.goto(write_page(tmp_path, *(AttentionExplorer(query, query) for _ in range(5))).as_uri())
    wait_for_widgets(page, 5)
    page.close()


@pytest.mark.parametrize("address", ["#%E0%A4%A", "#explorer-0=%E0%A4%A", "#100%"])
def test_an_address_that_is_none_keeps_no_widget_from_starting(long_page, address):
    """No percent sign in an address may end the script that starts them."""
    page = long_page(address)
    start_widgets(page)
    wait_for_widgets(page, FAR)
    assert page.locator(".attnkit-fallback").count() == 0
