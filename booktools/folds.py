"""A cell's fold has one title, open or closed: the question that `code_prompt_show` asks.

myst-nb writes a second title for the open fold, and a label over both, the same for every fold,
which is all that a screen reader would say.
"""

from __future__ import annotations

from html import escape

from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    """Open a fold, with its question as the title."""
    classes = " ".join(node["classes"])
    title = f'<p class="admonition-title">{escape(node["prompt_show"])}</p>'
    translator.body.append(f'<details class="admonition hide {classes}">\n')
    translator.body.append(f"<summary>\n{title}\n</summary>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_HideCellInput))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
