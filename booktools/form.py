"""The form of a page: one question, and limits on what its open path asks of a reader.

python -m booktools.form            a table of every built chapter
python -m booktools.form 05 06      of those whose name contains 05 or 06

A page whose metadata hold `page` is in this form, and the build stops where it breaks it:

    "page": {"question": "Why the root?", "ideas": ["scores spread with the width", ...]}

The counts are of the page as the build writes it, with all folds closed. A page without `page` is
held to the limits of `booktools.measure` until it is written anew. How many screens a page fills
only a browser can tell: `tests/browser/test_site.py` asks one.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util import logging

from booktools import normal_form
from booktools.address import ROOT

LIMITS = {"ideas": 10, "words": 1800, "numbers": 60, "code": 120, "folds": 10}
SCREENS = 10
"""Of 900 pixels, in a window 1,280 wide."""

MARK = "figure-mark"
"""The class of the small fold on a figure's corner, which is no line between text and picture."""

_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE)
_UNREAD = (
    "script",
    "style",
    "template",
    "mjx-assistive-mml",
    "svg",
    ".headerlink",
    ".attnkit-view",
    ".drawing-frames > li + li",  # a stepper shows one
)


class Form(NamedTuple):
    """What the open path of a built page holds.

    Attributes:
        ideas: that its metadata list; 0 where it lists none.
        words: of prose: text, captions, titles of folds; a formula counts as none.
        numbers: that open outputs print.
        code: open lines of code.
        folds: that a reader meets, a fold inside a fold and a figure's mark not counted.
    """

    ideas: int
    words: int
    numbers: int
    code: int
    folds: int


def form(html: str, ideas: int = 0) -> Form:
    """Count what a page's HTML, or its article's alone, shows before any fold is opened."""
    page = BeautifulSoup(html, "html.parser")
    article = page.find("article") or page
    for hidden in article.select(", ".join(_UNREAD)):
        hidden.decompose()
    marks = article.select(f"details.{MARK}")
    for mark in marks:
        mark.decompose()
    folds = [fold for fold in article.find_all("details") if not fold.find_parent("details")]
    for fold in folds:
        summary = fold.find("summary")
        fold.replace_with(*([summary] if summary else []))
    numbers = code = 0
    for output in article.select(".cell_output"):
        numbers += len(_NUMBER.findall(output.get_text(" ")))
        output.decompose()
    for block in article.find_all("pre"):
        code += len(block.get_text().strip("\n").splitlines())
        block.decompose()
    for formula in article.select("mjx-container, .math"):
        formula.decompose()
    return Form(ideas, len(_WORD.findall(article.get_text(" "))), numbers, code, len(folds))


def faults(page: dict, found: Form) -> Iterator[str]:
    """One line for each thing that a page in the form lacks or has too much of."""
    if not str(page.get("question", "")).strip().endswith("?"):
        yield "its metadata name no question that it answers"
    if not found.ideas:
        yield "its metadata list no ideas"
    for name, limit in LIMITS.items():
        if (value := getattr(found, name)) > limit:
            yield f"{name} on the open path: {value}, at most {limit}"


def stated(path: Path) -> dict | None:
    """What a page's metadata say of it, a notebook's or those at the head of a Markdown file;
    `None` where it is not in the form."""
    if path.suffix == ".ipynb":
        return normal_form.read(path).metadata.get("page")
    if path.suffix != ".md" or not path.is_file():  # such as the page for addresses of nothing
        return None
    head = re.match(r"---\n(.*?)^---$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return yaml.safe_load(head[1]).get("page") if head else None


def hold_to_form(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Warn, and so stop the build, where a page in the form breaks it."""
    if "body" not in context or (said := stated(Path(app.env.doc2path(page)))) is None:
        return
    for fault in faults(said, form(context["body"], len(said.get("ideas", [])))):
        logging.getLogger(__name__).warning(fault, location=page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.connect("html-page-context", hold_to_form)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def table(forms: dict[str, Form]) -> str:
    """The counts of some pages as text; one over its limit is followed by ``!``."""
    width = max(map(len, forms), default=0)
    lines = [f"{'':{width}} " + " ".join(f"{name:>8}" for name in Form._fields)]
    for name, found in forms.items():
        cells = [
            f"{value:>7}{'!' if value > LIMITS[field] else ' '}"
            for field, value in found._asdict().items()
        ]
        lines.append(f"{name:{width}} " + " ".join(cells))
    limits = ", ".join(f"{name} {limit}" for name, limit in LIMITS.items())
    return "\n".join([*lines, f"limits: {limits}"])


def main(argv: list[str] | None = None) -> None:
    """Print the table of the chapters that are built."""
    parser = argparse.ArgumentParser(prog="python -m booktools.form", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", help="parts of the pages' names; default: all")
    names = parser.parse_args(argv).names
    built = sorted((ROOT / "_build" / "html" / "chapters").glob("*.html"))
    forms = {}
    for path in built:
        if names and not any(name in path.name for name in names):
            continue
        said = stated(ROOT / "chapters" / f"{path.stem}.ipynb") or {}
        forms[path.stem] = form(path.read_text("utf8"), len(said.get("ideas", [])))
    print(table(forms) if forms else "no chapter of that name is built: run `make book`")


if __name__ == "__main__":
    main()
