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
from traitlets import import_item
from traitlets.config import Config

from attnbook.pages.nbconvert import LiveWidgets
from attnkit.viz import AttentionExplorer
from attnkit.viz.notebook import STATE_MIME
from booktools import forked
from tests.browser.conftest import ROOT
from tests.browser.explorer_page import ATTACK, SWALLOW, snapshot, vectors, wait_for_widgets
from tests.browser.test_explorer_build import a_notebook

pytestmark = [pytest.mark.build, pytest.mark.browser]

TEMPLATES = re.compile(r"(?ms)^(`{3,})(yaml|markdown)\n(.*?)^\1$")


@pytest.fixture(scope="module")
def other_book(tmp_path_factory) -> Path:
    """The book that the page describes, file by file, built as it says."""
    folder = tmp_path_factory.mktemp("other")
    page = (ROOT / "appendices" / "widgets_elsewhere.md").read_text("utf-8")
    names = ("_config.yml", "_toc.yml", "counter.md")
    blocks = [block[2] for block in TEMPLATES.findall(page)]
    for name, text in zip(names, blocks, strict=True):
        assert f"`{name}`" in page
        (folder / name).write_text(text)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", ".", "-W", "-q"]
    done = forked.run(command, cwd=folder)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder / "_build" / "html"


def test_a_widget_of_somebody_else_lives_in_their_book(other_book, open_page):
    page, record = open_page((other_book / "counter.html").as_uri())
    button = page.locator("button.counter")
    assert button.inner_text() == "pressed 3 times"
    assert button.evaluate("b => getComputedStyle(b).borderRadius") == "12px"
    button.click()
    button.click()
    assert button.inner_text() == "pressed 5 times"
    assert [url for url in record.requests if "html-manager" in url or "require" in url] == []


def converted(notebook, folder: Path) -> Path:
    """The notebook as one HTML file, by nbconvert with the preprocessor."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(config=Config(HTMLExporter={"preprocessors": [LiveWidgets]}))
    text, _ = exporter.from_notebook_node(notebook)
    (folder / "page.html").write_text(text, "utf-8")
    return folder / "page.html"


@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    """A notebook with two explorers as one file, and the first of them."""
    query = vectors(2, 4, 8)
    first = AttentionExplorer(query, query, tokens=["a", SWALLOW, ATTACK, "</script>"], title="T")
    second = AttentionExplorer(query, query)
    return converted(a_notebook(first, second), tmp_path_factory.mktemp("one")), first


def test_a_converted_notebook_is_alive_offline(one_file, open_page):
    file, explorer = one_file
    page, record = open_page(file.as_uri())
    root = wait_for_widgets(page, 2)
    shown = snapshot(root)
    assert shown["tokens"] == ["a", SWALLOW, ATTACK, "</script>"]
    assert shown["weights"] == pytest.approx(explorer.values()[0], abs=1e-6)
    assert [text for text in record.console if "uncaught" in text] == []
    assert file.read_text("utf-8").count("function host(") == 1
    assert "html-manager" not in file.read_text("utf-8")


def test_a_converted_notebook_keeps_its_pictures_without_javascript(one_file, open_page):
    file, explorer = one_file
    page, _ = open_page(file.as_uri(), java_script_enabled=False)
    images = page.locator(".attnkit-fallback img")
    assert images.count() == 2
    assert images.first.bounding_box()["width"] > 100
    assert images.first.get_attribute("alt") == explorer.description()


def test_a_notebook_without_widgets_is_left_alone():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("words")])
    same, _ = LiveWidgets().preprocess(notebook, {})
    assert same == notebook


def test_a_chapter_is_converted_without_an_option(tmp_path, open_page):
    """As a reader would: the plain command, with the setting that the package installs."""
    (chapter,) = ROOT.glob("chapters/05_*.ipynb")
    command = [str(Path(sys.executable).with_name("jupyter")), "nbconvert", "--to", "html"]
    command += [str(chapter), "--output-dir", str(tmp_path)]
    # A checkout that runs without being installed has the setting in its own folder.
    setting = {"JUPYTER_CONFIG_PATH": str(ROOT)}
    done = subprocess.run(command, env=os.environ | setting, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    notebook = json.loads(chapter.read_text("utf-8"))
    states = notebook["metadata"]["widgets"][STATE_MIME]["state"].values()
    count = sum("key_tokens" in model["state"] for model in states)
    page, _ = open_page((tmp_path / f"{chapter.stem}.html").as_uri())
    wait_for_widgets(page, count)


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


def test_the_setting_is_installed_with_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    installed = project["tool"]["setuptools"]["data-files"]["etc/jupyter"]
    (setting,) = [json.loads((ROOT / name).read_text("utf-8")) for name in installed]
    (named,) = setting["HTMLExporter"]["preprocessors"]
    assert import_item(named) is LiveWidgets
    assert installed == ["jupyter_nbconvert_config.json"]  # the name that nbconvert looks for
