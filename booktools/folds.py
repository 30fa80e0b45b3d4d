"""A cell's fold has one title, open or closed: the question that `code_prompt_show` asks.

myst-nb writes a second title for the open fold, and a label over both, the same for every fold,
which is all that a screen reader would say.

The code of a cell with the tag `figure` is no line between a sentence and its picture: its fold is
a small mark at the picture's corner.
"""

from __future__ import annotations

from html import escape

from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from booktools.form import MARK


def visit_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    """Open a fold, with its question as the title."""
    figure = "tag_figure" in node.parent["classes"]
    classes = " ".join([*node["classes"], MARK] if figure else node["classes"])
    question = "code and data" if figure else node["prompt_show"]
    title = f'<p class="admonition-title">{escape(question)}</p>'
    translator.body.append(f'<details class="admonition hide {classes}">\n')
    translator.body.append(f"<summary>\n{title}\n</summary>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_HideCellInput))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
