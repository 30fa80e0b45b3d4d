"""How long a chapter is on its open path, and the limits that the build holds it to.

python -m booktools.measure         a table of every chapter
python -m booktools.measure 05 06   of those whose name contains 05 or 06

The open path is what a reader sees without opening a fold: the text outside ``<details>``, code
without the tag ``hide-input``, outputs without ``hide-output``. Depth belongs in folds. Exercises
are done, not read, and sources looked up: what stands under these headings is not counted.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nbformat import NotebookNode

from attnbook.drawings import DRAWINGS
from attnbook.pages.notebook import VIEW_MIME
from booktools import normal_form
from booktools.address import ROOT

WORDS_A_MINUTE = 200  # of a text to learn from; a novel is read at 240
CODE_LINES_A_MINUTE = 30
MINUTES_A_PICTURE = 0.25
SKIPPED = ("Exercises", "Sources")
# What a part of a page takes up, in lines of its text: 95 characters wide.
CHARACTERS_A_LINE, PICTURE_LINES, FOLD_LINES = 95, 20, 2

_HEADING = re.compile(r"^(##? +.*)$", re.MULTILINE)
_FOLD = re.compile(r"<details.*?</details>", re.DOTALL)
_FENCE = re.compile(r"^(```+).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->|\{[a-z:]+\}(?=`)|<[^>]+>", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_TARGET = re.compile(r"(?<=\])\([^)\s]*\)")
_MATHS = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE)


class Size(NamedTuple):
    """What a chapter asks of its reader.

    Attributes:
        minutes: words, code and pictures of the open path, read once.
        words: of the text; a formula counts as one.
        numbers: that open outputs print.
        drawings: SVG drawings of the book in the text.
        widgets: views in the outputs.
        first_move: share of the page, from 0 to 1, that comes before the first widget or stepper;
            1 when there is none.
        longest_line: characters of the longest line of an open output.
    """

    minutes: float
    words: int
    numbers: int
    drawings: int
    widgets: int
    first_move: float
    longest_line: int


LIMITS = {"minutes": 30, "words": 3000, "numbers": 120, "longest_line": 88}


def _hidden(cell: NotebookNode, part: str) -> bool:
    tags = set(cell.metadata.get("tags", []))
    return bool(tags & {f"hide-{part}", f"remove-{part}", "hide-cell", "remove-cell"})


def open_text(source: str) -> str:
    """A markdown cell without its folds; see `prose`."""
    return prose(_FOLD.sub("", source))


def prose(source: str) -> str:
    """A markdown cell without code blocks, comments, markup and addresses; a formula is a word."""
    text = _COMMENT.sub("", _FENCE.sub("", source))
    return _TARGET.sub("", _MATHS.sub("formula", _IMAGE.sub("", text)))


def _read(nb: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
    """The cells that a reader reads, each with its text: no removed ones, no exercises."""
    skipped = False
    for cell in nb.cells:
        text = cell.source
        if cell.cell_type == "markdown":
            # The text before the first heading, then headings and what follows them by turns.
            first, *rest = _HEADING.split(cell.source)
            text = "" if skipped else first
            for heading, body in zip(rest[::2], rest[1::2], strict=True):
                skipped = heading.strip("# ").startswith(SKIPPED)
                text += "" if skipped else heading + body
        removed = skipped if cell.cell_type != "markdown" else not text
        if not removed and "remove-cell" not in cell.metadata.get("tags", []):
            yield cell, text


def _printed(output: NotebookNode) -> str:
    """The text that an output shows on the page; "" for a picture or a widget."""
    data = output.get("data", {})
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    if "text/html" in data:
        return re.sub(r"<[^>]+>", " ", data["text/html"])
    return data.get("text/plain", "") if set(data) == {"text/plain"} else ""


def measure(nb: NotebookNode) -> Size:
    """Measure the open path of a chapter."""
    words = code_lines = pictures = numbers = drawings = widgets = longest = 0
    page, before_move = 0.0, None
    for cell, source in _read(nb):
        if cell.cell_type == "markdown":
            shown = [Path(image).stem for image in _IMAGE.findall(_FOLD.sub("", source))]
            text = open_text(source)
            words += len(_WORD.findall(text))
            drawings += sum(name in DRAWINGS for name in shown)
            pictures += len(shown)
            page += sum(math.ceil(len(line) / CHARACTERS_A_LINE) for line in text.splitlines())
            page += FOLD_LINES * len(_FOLD.findall(source))
            moves = any(name in DRAWINGS and DRAWINGS[name].says for name in shown)
            if moves and before_move is None:
                before_move = page
            page += PICTURE_LINES * len(shown)
        if cell.cell_type != "code":
            continue
        lines = len(cell.source.splitlines())
        folded = _hidden(cell, "input")
        code_lines += 0 if folded else lines
        page += FOLD_LINES if folded else lines
        if _hidden(cell, "output"):
            page += FOLD_LINES
            continue
        for output in cell.outputs:
            printed = _printed(output)
            if VIEW_MIME in output.get("data", {}):
                widgets += 1
                before_move = page if before_move is None else before_move
            if printed:
                numbers += len(_NUMBER.findall(printed))
                longest = max(longest, *map(len, printed.splitlines() or [""]))
                page += len(printed.splitlines())
            else:
                pictures += 1
                page += PICTURE_LINES
    return Size(
        minutes=words / WORDS_A_MINUTE
        + code_lines / CODE_LINES_A_MINUTE
        + pictures * MINUTES_A_PICTURE,
        words=words,
        numbers=numbers,
        drawings=drawings,
        widgets=widgets,
        first_move=1.0 if before_move is None else before_move / page,
        longest_line=longest,
    )


def faults(nb: NotebookNode) -> Iterator[str]:
    """One line for each limit that a chapter exceeds; one with a `page` is `booktools.form`'s."""
    if "page" in nb.metadata:
        return
    size = measure(nb)
    for name, limit in LIMITS.items():
        if (value := getattr(size, name)) > limit:
            what = name.replace("_", " ")
            fold = "fold text into <details>, tag outputs hide-output, code hide-input"
            yield f"{what} on the open path: {value:.0f}, at most {limit}; {fold}"


HEADINGS = ("minutes", "words", "numbers", "drawings", "widgets", "first move", "longest line")


def table(sizes: dict[str, Size]) -> str:
    """The sizes of some chapters as text; a number over its limit is followed by ``!``."""
    width = max(map(len, sizes), default=0)
    lines = [f"{'':{width}} " + " ".join(f"{heading:>12}" for heading in HEADINGS)]
    for name, size in sizes.items():
        cells = []
        for field, value in zip(Size._fields, size, strict=True):
            text = f"{value:.0%}" if field == "first_move" else f"{value:.0f}"
            cells.append(text + ("!" if value > LIMITS.get(field, math.inf) else " "))
        lines.append(f"{name:{width}} " + " ".join(f"{cell:>12}" for cell in cells))
    limits = ", ".join(f"{name.replace('_', ' ')} {limit}" for name, limit in LIMITS.items())
    return "\n".join([*lines, f"limits: {limits}"])


def main(argv: list[str] | None = None) -> int:
    """Print the table; 1 when a chapter exceeds a limit."""
    parser = argparse.ArgumentParser(prog="python -m booktools.measure", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", help="parts of the chapters' names; default: all")
    names = parser.parse_args(argv).names
    every = sorted((ROOT / "chapters").glob("*.ipynb"))
    paths = [path for path in every if not names or any(name in path.name for name in names)]
    books = {path.stem: normal_form.read(path) for path in paths}
    print(table({name: measure(nb) for name, nb in books.items()}))
    return int(any(list(faults(nb)) for nb in books.values()))


if __name__ == "__main__":
    raise SystemExit(main())
