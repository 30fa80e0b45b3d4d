"""Links from the prose of a built book to the steps of an explorer's guide."""

import nbformat
import pytest

from attnkit.viz import AttentionExplorer
from tests.browser.explorer_page import (
    settle,
    snapshot,
    vectors,
    wait_for_widgets,
    wait_until_started,
    write_page,
)
from tests.browser.test_explorer_build import a_notebook, build

pytestmark = pytest.mark.browser

TOUR = [{"say": "All."}, {"say": "Two words.", "seq_len": 2}]


def with_links(text: str) -> nbformat.NotebookNode:
    query = vectors(2, 4, 8)
    notebook = a_notebook(AttentionExplorer(query, query, tour=TOUR, anchor="explorer-77-1"))
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(text))
    return notebook


def test_a_link_in_the_prose_takes_the_step(tmp_path, open_page):
    done = build(tmp_path, with_links("Two words ([show me](#explorer-77-1=2)), then on."))
    assert done.returncode == 0, done.stderr
    page, record = open_page((tmp_path / "html" / "index.html").as_uri())
    root = wait_for_widgets(page)
    page.get_by_text("show me").click()
    settle(page)
    assert snapshot(root)["seqLen"] == 2
    assert not record.console


@pytest.mark.parametrize("address", ["explorer-77-1=3", "explorer-77-2=1"])
def test_a_link_to_no_step_stops_the_build(tmp_path, address):
    done = build(tmp_path, with_links(f"[show me](#{address})"))
    assert done.returncode != 0
    assert f"index: no explorer on this page has #{address}" in done.stderr


# A watcher has nothing to see when all widgets were started before it looked.
BLIND = "<script>window.IntersectionObserver = class { observe() {} unobserve() {} };</script>"


@pytest.mark.parametrize("head", ["", BLIND], ids=["watched", "blind"])
@pytest.mark.parametrize("width", [1280, 360])
def test_an_address_below_widgets_is_where_the_reader_lands(open_page, tmp_path, width, head):
    """The browser goes there before the widgets have drawn and grown."""
    query = vectors(4, 12, 16)
    widgets = [AttentionExplorer(query, query, title=str(n), head="all") for n in range(3)]
    path = write_page(tmp_path, *widgets)
    tail = '<h2 id="below">Below</h2><div style="height:3000px"></div></main>'
    text = path.read_text().replace("</main>", tail)
    path.write_text(text.replace("<style>", f"{head}<style>html{{scroll-behavior:smooth}}", 1))
    page, _ = open_page(path.as_uri() + "#below", width=width)
    wait_for_widgets(page, 3)
    page.wait_for_function(
        "(y => -2 <= y && y <= 90)(document.getElementById('below').getBoundingClientRect().y)"
    )


def test_who_goes_back_from_a_machine_finds_the_link(open_page, site_url):
    page, _ = open_page(site_url + "chapters/12_the_cost_of_attention.html")
    wait_until_started(page)  # what is drawn later moves the link
    link = page.get_by_text("the largest score first")
    link.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 300)")
    before = page.evaluate("scrollY")
    link.evaluate("node => node.click()")  # a click of Playwright's would scroll first
    page.wait_for_function("y => scrollY < y - 200", arg=before)
    page.go_back()
    page.wait_for_function("y => Math.abs(scrollY - y) < 5", arg=before)
