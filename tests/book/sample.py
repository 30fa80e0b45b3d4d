"""A small notebook that passes every gate, and a small book of it, for the tests to break."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook.pages.notebook import STATE_MIME, VIEW_MIME
from booktools import claims, colab, forked, normal_form
from booktools.address import ROOT, Address

# Two claims of the cell that prints 2: one measured there, one read from a results file.
ONE = {"id": "01-sum", "sentence": "One and one is two.", "number": r"^(\d)$"}
READ = {**ONE, "id": "01-read", "source": "results/sum.json"}


def widget(children: tuple[str, ...] = (), **state) -> dict:
    """A stored model of an anywidget that points to ``children``."""
    return {
        "model_module": "anywidget",
        "model_module_version": "~0.11.*",
        "model_name": "AnyModel",
        "state": {"children": [f"IPY_MODEL_{child}" for child in children], **state},
    }


def view(model_id: str) -> NotebookNode:
    data = {
        VIEW_MIME: {"model_id": model_id, "version_major": 2, "version_minor": 1},
        "text/plain": "Control()",
    }
    return new_output("execute_result", data, execution_count=3)


def sound_notebook(address: Address | None = None) -> NotebookNode:
    """A heading, a printed number, a widget with a child, and an error that is meant."""
    meant = {"tags": ["raises-exception"]}
    error = {"ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["x"]}
    cells = [
        new_markdown_cell("# Trial\n\nA sentence that is long enough to be a page.", id="head"),
        new_code_cell("print(1 + 1)", id="sum", outputs=[new_output("stream", text="2\n")]),
        new_code_cell("Control()", id="control", outputs=[view("beef")]),
        new_code_cell("1 / 0", id="error", metadata=meant, outputs=[new_output("error", **error)]),
    ]
    state = {
        "cafe": widget(value=1, _esm="export default {}"),
        "beef": widget(("cafe",), _esm="export default {}", _css="a {}"),
        "dead": widget(value=2),
    }
    nb = new_notebook(cells=cells, metadata={"widgets": {STATE_MIME: {"state": state}}})
    colab.set_up(nb, address)
    for count, cell in enumerate((c for c in nb.cells if c.cell_type == "code"), start=1):
        cell.execution_count = count
    normal_form.normalise(nb)
    nb.metadata["book"] = {"executed": normal_form.source_record(nb)}
    return normal_form.read_text(normal_form.dumps(nb))


def by_id(nb: NotebookNode, id_: str) -> NotebookNode:
    return next(cell for cell in nb.cells if cell.id == id_)


def with_claim(*found: dict, address: Address | None = None) -> NotebookNode:
    """The sound notebook, its printed number carrying these claims."""
    nb = sound_notebook(address)
    by_id(nb, "sum").metadata[claims.KEY] = list(found) if len(found) > 1 else found[0]
    return nb


def small_book(folder: Path, nb: NotebookNode, repository: str | None = None) -> Path:
    """This book with one small chapter in place of its own."""
    for name in ("_static", "appendices", "booktools", "references.bib"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("*.ipynb"))
        else:
            shutil.copy(source, folder / name)
    # Not the weights of the models that the book's machines run, and no archive of what was built.
    config = (ROOT / "_config.yml").read_text("utf8")
    models = r"(?m)^ *(language_model: true|live_translators:|.*(_french|_translator|one_vector))\n"
    config, found = re.subn(models, "", config)
    assert found == 5, config
    (folder / "_config.yml").write_text(config, "utf8")
    shutil.copy(ROOT / ".gitignore", folder)
    urls = f'[project.urls]\nRepository = "{repository}"\n' if repository else ""
    (folder / "pyproject.toml").write_text(urls)
    # These may link to pages that this book does not have.
    page = "# How each number was made\n\nA sentence for a page of a trial.\n"
    (folder / "appendices" / "how_numbers_are_made.md").write_text(page)
    (folder / "index.md").write_text("# Trial book\n\nA sentence for the cover of a trial.\n")
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n  - file: chapters/01_trial\n"
        "  - file: appendices/how_numbers_are_made\n"
    )
    (folder / "chapters").mkdir()
    (folder / "chapters" / "01_trial.ipynb").write_text(normal_form.dumps(nb))
    return folder


def build(folder: Path, builder: str = "html") -> subprocess.CompletedProcess:
    tool = Path(sys.executable).with_name("jupyter-book")
    command = [str(tool), "build", ".", "-W", "-n", "--keep-going", "-q", "--builder", builder]
    env = {**os.environ, "NO_COLOR": "1"}
    return forked.run(command, cwd=folder, env=env, imported=forked.FOR_BUILDS)
