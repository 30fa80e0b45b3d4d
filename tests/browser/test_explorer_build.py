"""The Sphinx extension: what it puts into built pages, and what makes it stop the build."""

import base64
import subprocess

import nbformat
import pytest
from playwright.sync_api import expect

from attnbook.pages.notebook import STATE_MIME, VIEW_MIME, strip_modules
from attnkit.viz import AttentionExplorer
from booktools import forked
from tests.browser.explorer_page import (
    ATTACK,
    SWALLOW,
    snapshot,
    state_of,
    vectors,
    wait_for_widgets,
)

pytestmark = pytest.mark.build

CONFIGURATION = """
project = "Trial"
extensions = ["myst_nb", "attnbook.pages.sphinx_ext"]
nb_execution_mode = "off"
nb_ipywidgets_js = {}
"""


def a_notebook(*widgets) -> nbformat.NotebookNode:
    """A notebook with the output of each widget and their states, as `make notebooks` leaves it."""
    cells = [nbformat.v4.new_markdown_cell("# Trial")]
    for widget in widgets:
        bundle = widget._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        output = nbformat.v4.new_output("display_data", data, metadata=metadata)
        cells.append(nbformat.v4.new_code_cell("explorer", outputs=[output], execution_count=1))
    saved = {STATE_MIME: {"state": state_of(*widgets), "version_major": 2, "version_minor": 0}}
    language = {"name": "python", "pygments_lexer": "ipython3"}
    metadata = {"widgets": saved, "language_info": language}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    return strip_modules(notebook)


def build(folder, notebook, builder="html", link="") -> subprocess.CompletedProcess:
    """Build a book of this notebook and of a page without widgets, with warnings as errors."""
    (folder / "conf.py").write_text(CONFIGURATION)
    (folder / "words.md").write_text("# Words only\n")
    notebook.cells[0].source = "# Trial\n\n```{toctree}\nwords\n```"
    if link:
        notebook.cells.insert(
            1, nbformat.v4.new_markdown_cell(f"Two ([show me](#{link})), then on.")
        )
    nbformat.write(notebook, folder / "index.ipynb")
    command = ["-m", "sphinx", "-W", "-q", "-b", builder, ".", builder]
    return forked.run(command, cwd=folder)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A built book with an explorer and two views of a control without a kernel; the explorer."""
    import ipywidgets

    folder = tmp_path_factory.mktemp("book")
    query = vectors(2, 4, 8)
    explorer = AttentionExplorer(
        query, query, tokens=["a", SWALLOW, ATTACK, "</script>"], title="T", anchor="explorer-77-1",
        tour=[{"say": "All."}, {"say": "Two words.", "seq_len": 2}],
    )  # fmt: skip
    picture = base64.b64decode(explorer._repr_mimebundle_()[0]["image/png"])
    control = ipywidgets.VBox(
        [ipywidgets.IntSlider(), ipywidgets.Image(value=picture, tooltip="What was recorded")]
    )
    notebook = a_notebook(explorer, control, control)
    done = build(folder, notebook, link="explorer-77-1=2")
    assert done.returncode == 0, done.stderr
    return folder / "html", explorer


@pytest.mark.browser
def test_the_page_comes_alive_from_file_and_a_link_in_its_prose_takes_the_step(book, open_page):
    folder, explorer = book
    page, record = open_page((folder / "index.html").as_uri())
    root = wait_for_widgets(page)
    shown = snapshot(root)
    assert shown["tokens"] == ["a", SWALLOW, ATTACK, "</script>"]
    assert shown["weights"] == pytest.approx(explorer.values()[0], abs=1e-6)
    assert page.locator(".attnkit-fallback").count() == 0
    page.get_by_text("show me").click()
    assert snapshot(root)["seqLen"] == 2
    assert record.other_hosts() == []
    assert not record.console
    # A control without a kernel shows its recorded picture, and says so.
    boxes = page.locator(".attnkit-no-kernel").all()
    assert len(boxes) == 2
    for box in boxes:
        assert "needs a kernel" in box.inner_text()
        image = box.locator("img")
        assert image.get_attribute("alt") == "What was recorded"
        image.evaluate("image => image.decode()")
        assert box.locator("input").count() == 0


@pytest.mark.browser
def test_without_javascript_the_picture_stands_with_words(book, open_page):
    page, _ = open_page((book[0] / "index.html").as_uri(), java_script_enabled=False)
    image = page.locator(".attnkit-fallback img")
    expect(image).to_be_visible()
    assert image.get_attribute("alt") == book[1].description()
    assert image.bounding_box()["width"] > 100
    assert "needs JavaScript" in page.locator("noscript").first.inner_text()


@pytest.mark.parametrize("link", ["", "explorer-77-1=2"])
def test_a_view_without_state_and_a_link_to_no_step_stop_the_build(tmp_path, link):
    query = vectors(1, 3, 4)
    explorer = AttentionExplorer(query, query, anchor="explorer-77-1", tour=[{"say": "All."}])
    notebook, said = a_notebook(explorer), f"index: no explorer on this page has #{link}"
    if not link:
        del notebook.metadata.widgets[STATE_MIME]["state"][explorer.model_id]
        said = f"index: widget view {explorer.model_id} has no state"
    done = build(tmp_path, notebook, link=link)
    assert done.returncode != 0
    assert said in done.stderr


def test_latex_gets_the_picture(tmp_path):
    query = vectors(1, 3, 4)
    done = build(tmp_path, a_notebook(AttentionExplorer(query, query)), "latex")
    assert done.returncode == 0, done.stderr
    tex = "".join(path.read_text() for path in (tmp_path / "latex").glob("*.tex"))
    assert "includegraphics" in tex
    assert VIEW_MIME not in tex
