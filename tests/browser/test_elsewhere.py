"""Widgets outside this book: in somebody else's, and in one file that nbconvert writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from attnbook.pages.notebook import STATE_MIME
from attnkit.viz import AttentionExplorer
from booktools import forked
from booktools.address import ROOT
from tests.browser.explorer_page import ATTACK, SWALLOW, snapshot, vectors, wait_for_widgets
from tests.browser.test_explorer_build import a_notebook

pytestmark = [pytest.mark.build, pytest.mark.browser]

TEMPLATES = re.compile(r"(?ms)^(`{3,})(yaml|markdown)\n(.*?)^\1$")


@pytest.mark.slow
def test_a_widget_of_somebody_else_lives_in_their_book(tmp_path, open_page):
    """The book that the page describes, file by file, built as it says."""
    page = (ROOT / "appendices" / "widgets_elsewhere.md").read_text("utf-8")
    blocks = [block[2] for block in TEMPLATES.findall(page)]
    for name, text in zip(("_config.yml", "_toc.yml", "counter.md"), blocks, strict=True):
        assert f"`{name}`" in page
        (tmp_path / name).write_text(text)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "-W", "-q"]
    done = forked.run(command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    page, record = open_page((tmp_path / "_build" / "html" / "counter.html").as_uri())
    button = page.locator("button.counter")
    assert button.inner_text() == "pressed 3 times"
    assert button.evaluate("b => getComputedStyle(b).borderRadius") == "12px"
    button.click()
    button.click()
    assert button.inner_text() == "pressed 5 times"
    assert [url for url in record.requests if "html-manager" in url or "require" in url] == []


WORDS = ["a", SWALLOW, ATTACK, "</script>"]
"""Which would end a script."""


def converted(notebook, folder: Path) -> Path:
    from attnbook.pages.nbconvert import LiveHTMLExporter

    text, _ = LiveHTMLExporter().from_notebook_node(notebook)
    (folder / "page.html").write_text(text, "utf-8")
    return folder / "page.html"


@pytest.fixture(scope="module", params=["saved", "converted"])
def one_file(request, tmp_path_factory) -> tuple[Path, AttentionExplorer, int]:
    """An explorer that was saved as a page, or a notebook of two; and how many there are."""
    query, folder = vectors(2, 4, 8), tmp_path_factory.mktemp("one")
    explorer = AttentionExplorer(query, query, tokens=WORDS, title="<b> & T", mask="causal")
    if request.param == "saved":
        return explorer.save(folder / "page.html"), explorer, 1
    second = AttentionExplorer(query, query)
    return converted(a_notebook(explorer, second), folder), explorer, 2


def test_one_file_is_alive_offline_and_keeps_its_pictures_without_javascript(one_file, open_page):
    file, explorer, count = one_file
    page, record = open_page(file.as_uri())
    shown = snapshot(wait_for_widgets(page, count))
    assert shown["tokens"] == WORDS
    assert shown["weights"] == pytest.approx(explorer.values()[0], abs=1e-6)
    assert [text for text in record.console if "uncaught" in text] == []
    if count == 1:
        assert page.title() == "<b> & T"
        assert record.console == record.missing == record.other_hosts() == []
    else:
        assert file.read_text("utf-8").count("function host(") == 1
        assert "html-manager" not in file.read_text("utf-8")
    page, _ = open_page(file.as_uri(), java_script_enabled=False)
    images = page.locator(".attnkit-fallback img")
    assert images.count() == count
    assert images.first.bounding_box()["width"] > 100
    assert images.first.get_attribute("alt") == explorer.description()


@pytest.mark.parametrize("widgets", [[], [AttentionExplorer(vectors(1, 4, 8), vectors(1, 4, 8))]])
def test_a_notebook_that_colab_saved_is_converted_too(widgets, tmp_path, open_page):
    """Its models lie one level higher, where nbconvert itself stops: "KeyError: 'state'"."""
    import ipywidgets

    notebook = a_notebook(*widgets, ipywidgets.IntSlider())
    notebook.metadata["widgets"][STATE_MIME] = notebook.metadata["widgets"][STATE_MIME]["state"]
    page, _ = open_page(converted(notebook, tmp_path).as_uri())
    assert page.locator(".attnkit-explorer").count() == len(widgets)


@pytest.fixture
def installed(tmp_path) -> dict[str, str]:
    """The environment of a process that finds the package's entry points, as after `pip install`.

    A checkout runs without being installed, too; then Python knows of no entry point.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    folder = tmp_path / "installed" / f"attnkit-{project['version']}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Name: attnkit\nVersion: {project['version']}\n")
    lines = []
    for group, found in project.get("entry-points", {}).items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in found.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines))
    paths = [str(folder.parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def nbconvert(*arguments: str | Path, env: dict[str, str]) -> None:
    command = [str(Path(sys.executable).with_name("jupyter")), "nbconvert", *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_chapter_is_converted_by_the_command_that_the_page_gives(tmp_path, open_page, installed):
    page = (ROOT / "appendices" / "widgets_elsewhere.md").read_text("utf-8")
    (command,) = re.findall(
        r"^jupyter nbconvert --execute (--to \S+) my_notebook.ipynb$", page, re.M
    )
    (chapter,) = ROOT.glob("chapters/05b_*.ipynb")
    nbconvert(*command.split(), chapter, "--output-dir", tmp_path, env=installed)
    notebook = json.loads(chapter.read_text("utf-8"))
    states = notebook["metadata"]["widgets"][STATE_MIME]["state"].values()
    count = sum("key_tokens" in model["state"] for model in states)
    page, record = open_page((tmp_path / f"{chapter.stem}.html").as_uri())
    wait_for_widgets(page, count)
    # Its drawings lie beside the chapters, not beside the file.
    assert page.locator("img:not([src^='data:'])").count() == 0
    assert [url for url in record.missing if url.startswith("file:")] == []


@pytest.mark.slow
def test_the_package_sets_nothing_for_other_peoples_notebooks(tmp_path, installed):
    """Who installs it and converts a notebook gets what nbconvert gives without it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    data = project["tool"]["setuptools"]["data-files"]
    assert [place for place in data if not place.startswith("share/attnkit/")] == []
    assert list(ROOT.glob("jupyter*config*")) == []
    explorer = AttentionExplorer(vectors(1, 4, 8), vectors(1, 4, 8))
    nbformat.write(a_notebook(explorer), tmp_path / "theirs.ipynb")
    nbconvert("--to", "html", tmp_path / "theirs.ipynb", env=installed)
    assert "attnkit-view" not in (tmp_path / "theirs.html").read_text("utf-8")


MANAGER = """
const type = "application/vnd.jupyter.widget-", all = [...document.scripts];
const read = (kind) => all.filter((tag) => tag.type === `${type}${kind}+json`)
    .map((tag) => JSON.parse(tag.text));
window.managed = { views: read("view").map((view) => view.model_id), states: read("state") };
"""
"""In place of ipywidgets' manager: what it finds to draw."""


def test_an_ordinary_widget_beside_ours_keeps_its_manager(browser, tmp_path):
    """The manager comes from the network, draws what is its own, and leaves ours alone."""
    import ipywidgets

    explorer = AttentionExplorer(vectors(1, 4, 8), vectors(1, 4, 8))
    slider = ipywidgets.IntSlider(value=3)
    page = browser.new_page()
    page.route("http*://**/*", lambda route: route.abort())
    page.route("**/embed-amd.js", lambda route: route.fulfill(
        body=MANAGER, content_type="text/javascript"))  # fmt: skip
    page.goto(converted(a_notebook(explorer, slider), tmp_path).as_uri())
    page.wait_for_function("window.managed")
    wait_for_widgets(page)
    managed = page.evaluate("managed")
    assert managed["views"] == [slider.model_id]
    assert [slider.model_id in state["state"] for state in managed["states"]] == [True]
    assert page.locator(".attnkit-no-kernel").count() == 0
    page.close()


@pytest.mark.slow
def test_conversion_needs_no_sphinx():
    """The package asks for neither, so a reader who only installed it may have neither."""
    script = """
import sys
sys.modules.update(sphinx=None, docutils=None)
from attnbook.pages.nbconvert import LiveWidgets, _head
assert "function host(" in _head({})
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
