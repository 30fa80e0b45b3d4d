"""A cell's fold has one title, open or closed: the question that `code_prompt_show` asks.

myst-nb writes a second title for the open fold, and a label over both, the same for every fold,
which is all that a screen reader would say.

A hint and a solution are marked as answers, which paper leaves out while they are closed.

The code of a cell with the tag `figure` is no line between a sentence and its picture: its fold is
a small mark at the picture's corner.

A section `How this was made` is one fold, with whatever it holds.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from booktools.form import MARK

MADE = "How this was made"
_ANSWER = re.compile(r"<details(?=(?: open)?>\s*<summary>\s*(?:Hint|Solution)\b)")


def visit_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    """Open a fold, with its question as the title."""
    classes = " ".join(node["classes"])
    title = f'<p class="admonition-title">{escape(node["prompt_show"])}</p>'
    translator.body.append(f'<details class="admonition hide {classes}">\n')
    translator.body.append(f"<summary>\n{title}\n</summary>\n")


def mark_figures(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make the fold of a figure's code the figure's mark."""
    for cell in doctree.findall(nodes.container):
        if "tag_figure" in cell["classes"]:
            for fold in cell.findall(HideCodeCellNode):
                fold["classes"].append(MARK)
                fold["prompt_show"] = "code and data"


class made(nodes.Element):
    """What a section `How this was made` holds."""


def fold_the_making(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make a section of this title a fold, whose summary the title is."""
    for section in doctree.findall(nodes.section):
        if section[0].astext() == MADE:
            section[:] = [made("", *section[1:])]


def visit_made(translator: HTML5Translator, node: made) -> None:
    """Open the fold."""
    translator.body.append(f"<details>\n<summary>{MADE}</summary>\n")


def depart_made(translator: HTML5Translator, node: made) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def mark_answers(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Mark hints and solutions, which nothing else tells from other folds."""
    if "body" in context:
        context["body"] = _ANSWER.sub("<details data-answer", context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.setup_extension("myst_nb")
    app.connect("doctree-resolved", mark_figures)
    app.connect("doctree-resolved", fold_the_making)
    app.connect("html-page-context", mark_answers)
    app.add_node(made, html=(visit_made, depart_made))
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_HideCellInput))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
