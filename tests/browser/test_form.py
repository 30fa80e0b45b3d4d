"""What only a browser can tell of a page in the form: its screens, words and figures' marks."""

import pytest
from playwright.sync_api import expect

from booktools import form
from booktools.address import ROOT
from booktools.gates import chapters
from tests.browser.explorer_page import wait_until_started

pytestmark = pytest.mark.browser

PAGES = [path for path in chapters() if form.stated(path) is not None]

WORDS = """() => {
    const article = document.querySelector("article").cloneNode(true);
    const unread = "script, style, svg, pre, .cell_output, .headerlink, mjx-container, .math";
    article.querySelectorAll(unread).forEach(node => node.remove());
    article.querySelectorAll("details.figure-mark").forEach(node => node.remove());
    document.querySelector("article").after(article);
    const text = article.innerText;
    article.remove();
    return text.match(/[\\p{L}](?:[\\p{L}\\p{N}_'’-]*[\\p{L}\\p{N}_])?/gu).length;
}"""


@pytest.mark.parametrize(
    "path", PAGES or [None], ids=lambda path: path.stem if path else "none yet"
)
def test_a_page_fills_ten_screens_at_most(path, open_page, site_url):
    if path is None:
        pytest.skip("no page is in the form yet")
    page, _ = open_page(f"{site_url}chapters/{path.stem}.html")
    # Until it is drawn a widget is kept a place, which may be another size than its own.
    wait_until_started(page)
    height = page.evaluate("document.querySelector('article').scrollHeight")
    assert height <= form.SCREENS * 900
    counted = form.form(page.content(), 1).words
    assert page.evaluate(WORDS) == pytest.approx(counted, rel=0.03)


MARKED = """<link rel="stylesheet" href="{css}"><article class="bd-article">
<div class="cell container tag_figure"><details class="admonition hide figure-mark">
<summary><p class="admonition-title">code and data</p></summary><pre>a = 1</pre></details>
<div class="cell_output"><div style="height: 200px"></div></div></div></article>"""


def test_a_figures_mark_takes_no_room_between_the_text_and_the_figure(open_page, tmp_path):
    (tmp_path / "page.html").write_text(MARKED.format(css=(ROOT / "_static/book.css").as_uri()))
    page, _ = open_page((tmp_path / "page.html").as_uri(), start=False)
    top = page.locator("div.cell").bounding_box()["y"]
    figure = page.locator(".cell_output").bounding_box()
    mark = page.locator("summary").bounding_box()
    assert figure["y"] - top < 2
    assert mark["y"] >= figure["y"] + figure["height"] - 1
    page.locator("summary").click()
    expect(page.locator("pre")).to_be_visible()
    assert (
        page.locator("pre").bounding_box()["y"] < page.locator(".cell_output").bounding_box()["y"]
    )
