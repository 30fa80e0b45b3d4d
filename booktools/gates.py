"""Checks that a committed notebook must pass before the book is built from it.

``python -m booktools.gates`` checks every notebook; the Sphinx extension does the same at the
start of a build, and a single fault stops it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from attnbook.pages import notebook
from booktools import claims, colab, measure, normal_form
from booktools.address import ROOT, Address, read_address

CHAPTERS = ROOT / "chapters"
# The folders that hold notebooks.
FOLDERS = ("chapters", "appendices", "appendices/exercises")

_MACHINE_PATH = re.compile(
    r"(?:(?<![\w.-])/(?:home|Users|root|tmp|work|opt|usr|private|var|mnt|content)/[\w.\-/]+"
    r"|[A-Za-z]:\\[\w.\-\\]+|site-packages|ipykernel_\d+)"
)
_MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_FOLDS = {"hide-input", "hide-cell", "hide-output"}
_UNCHECKED_TAGS = {"nbval-skip", "nbval-ignore-output", "skip-execution"}
_UNCHECKED_COMMENTS = re.compile(r"^\s*#\s*(?:NBVAL_SKIP|NBVAL_IGNORE_OUTPUT)\s*$", re.MULTILINE)


def _code_cells(nb: NotebookNode) -> Iterator[tuple[int, NotebookNode]]:
    """Code cells with their number among all cells, counted from 1 as a reader would."""
    for number, cell in enumerate(nb.cells, start=1):
        if cell.cell_type == "code":
            yield number, cell


def _outputs(nb: NotebookNode) -> Iterator[tuple[int, NotebookNode, NotebookNode]]:
    for number, cell in _code_cells(nb):
        for output in cell.outputs:
            yield number, cell, output


def views_without_state(nb: NotebookNode) -> Iterator[str]:
    """A control without its state would be dead on the page."""
    states = notebook.states(nb)
    for number, view in notebook.views(nb):
        if not states.get(view["model_id"], {}).get("state"):
            yield f"cell {number + 1}: a widget view has no stored state ({view['model_id']})"


def errors(nb: NotebookNode) -> Iterator[str]:
    """An error is shown where the cell says, with ``raises-exception``, that it is meant, and only
    there."""
    for number, cell, output in _outputs(nb):
        if output.output_type == "error" and "raises-exception" not in cell.metadata.get(
            "tags", []
        ):
            yield f"cell {number}: raised {output.ename}: {output.evalue}"
    for number, cell in _code_cells(nb):
        raised = any(output.output_type == "error" for output in cell.outputs)
        if "raises-exception" in cell.metadata.get("tags", []) and not raised:
            yield f"cell {number}: is tagged raises-exception, and raised nothing"


def missing_pictures(nb: NotebookNode) -> Iterator[str]:
    """A cell that shows a plot holds it, or the page would have none."""
    for number, cell in _code_cells(nb):
        shows = re.search(r"^plt\.show\(\)$", cell.source, re.MULTILINE)
        if shows and not any("image/png" in output.get("data", {}) for output in cell.outputs):
            yield f"cell {number}: shows a plot, and its output holds none"


def unmarked_heat_maps(nb: NotebookNode) -> Iterator[str]:
    """A dark page turns the lightness of plots over, but not that of a picture marked as a map."""
    drawing = {"imshow", "heatmap", "pcolormesh", "matshow"}
    for number, cell in _code_cells(nb):
        drawn = False
        for statement in re.split(r"^(?=\S)", cell.source, flags=re.MULTILINE):
            if not re.search(rf"\b({'|'.join(drawing)})\(", statement):
                continue
            if function := re.match(r"def (\w+)\(", statement):
                drawing.add(function[1])  # to call it is to draw a map
            else:
                drawn = True
        shown = any("image/png" in output.get("data", {}) for output in cell.outputs)
        classes = cell.metadata.get("mystnb", {}).get("image", {}).get("classes", "")
        if drawn and shown and "heat-map" not in classes.split():
            yield f'cell {number}: draws a heat map, and its image lacks "classes": "heat-map"'


def unnamed_folds(nb: NotebookNode) -> Iterator[str]:
    """A fold says in its title what lies in it; without one the page says "Show code cell"."""
    for number, cell in _code_cells(nb):
        tags = set(cell.metadata.get("tags", []))
        folded = _FOLDS & tags and "figure" not in tags  # whose mark says the same everywhere
        if folded and not cell.metadata.get("mystnb", {}).get("code_prompt_show"):
            yield f"cell {number}: it is folded, and has no code_prompt_show for a title"


def open_answers(nb: NotebookNode) -> Iterator[str]:
    """The code of a question holds its answer, so no page shows it."""
    for number, cell in _code_cells(nb):
        asks = re.search(r"^Question\(", cell.source, re.MULTILINE)
        if asks and "remove-input" not in cell.metadata.get("tags", []):
            yield f"cell {number}: a question, whose code gives its answer; tag it remove-input"


def count_gaps(nb: NotebookNode) -> Iterator[str]:
    """Counts 1, 2, 3 ... are the mark of one run from a fresh kernel, top to bottom."""
    for expected, (number, cell) in enumerate(_code_cells(nb), start=1):
        if not cell.source.strip():
            yield f"cell {number}: an empty code cell; remove it"
            return
        if cell.execution_count != expected:
            yield f"cell {number}: execution count {cell.execution_count}, expected {expected}"
            return


def stale_outputs(nb: NotebookNode) -> Iterator[str]:
    """The cells must be the ones that the stored outputs came from."""
    executed = nb.metadata.get("book", {}).get("executed")
    if executed is None:
        yield "never executed by `make notebooks`"
        return
    now = normal_form.source_record(nb)
    if now == executed:
        return
    for (number, _), line in zip(_code_cells(nb), now, strict=True):
        if line not in executed:
            yield f"cell {number}: changed since it was executed"
            return
    yield "code cells were removed or moved since the notebook was executed"


def stderr(nb: NotebookNode) -> Iterator[str]:
    """A warning that the reader cannot act on has no place in a chapter."""
    for number, _, output in _outputs(nb):
        if output.output_type == "stream" and output.name == "stderr":
            first = output.text.strip().split("\n")[0]
            yield f"cell {number}: wrote to stderr: {first}"


def _texts(output: NotebookNode) -> Iterator[str]:
    if output.output_type == "stream":
        yield output.text
    elif output.output_type == "error":
        yield from (output.evalue, *output.traceback)
    for mime, value in output.get("data", {}).items():
        if isinstance(value, str) and (mime.startswith("text/") or mime == "image/svg+xml"):
            yield value


def machine_traces(nb: NotebookNode) -> Iterator[str]:
    """Paths and memory addresses are of the machine that ran the notebook, not of the lesson."""
    for number, _, output in _outputs(nb):
        for text in _texts(output):
            for pattern in (_MACHINE_PATH, _MEMORY_ADDRESS):
                if match := pattern.search(text):
                    yield f"cell {number}: its output holds {match[0].strip()!r}"


def unchecked_cells(nb: NotebookNode) -> Iterator[str]:
    """Only the Colab set-up may stay out of the strict comparison."""
    for number, cell in _code_cells(nb):
        skipped = _UNCHECKED_TAGS.intersection(cell.metadata.get("tags", []))
        if _UNCHECKED_COMMENTS.search(cell.source):
            skipped.add("an NBVAL comment")
        if skipped and cell.id != colab.CELL_ID:
            yield f"cell {number}: {', '.join(sorted(skipped))} keeps it from being checked"


_CHECK_CALL = re.compile(r"^(check_\w+)\(", re.MULTILINE)
_EXERCISE_ID = re.compile(r"exercise-\d+-code")


def untested_checks(nb: NotebookNode) -> Iterator[str]:
    """A cell with a check is found by its id, which JupyterLab draws at random and cannot set."""
    imported = set()
    for number, cell in _code_cells(nb):
        for names in re.findall(r"^from attnbook\.checks\.\w+ import ([\w, ]+)", cell.source, re.M):
            imported |= set(names.replace(" ", "").split(","))
        called = [name for name in _CHECK_CALL.findall(cell.source) if name in imported]
        if called and not _EXERCISE_ID.fullmatch(cell.id):
            yield (
                f"cell {number}: it calls {called[0]}, and its id is {cell.id!r}: call it "
                '"exercise-N-code" in a text editor, or nobody asks its wrong answers'
            )


NOT_NORMAL = "not in normal form: python -m booktools.normal_form FILE writes it so, unexecuted"


def not_in_normal_form(nb: NotebookNode) -> Iterator[str]:
    """A notebook saved by hand or by an editor carries what `make notebooks` removes."""
    text = normal_form.dumps(nb)
    again = normal_form.read_text(text)
    if normal_form.dumps(normal_form.normalise(again)) != text:
        yield NOT_NORMAL


GATES: tuple[Callable[[NotebookNode], Iterator[str]], ...] = (
    views_without_state,
    errors,
    missing_pictures,
    unmarked_heat_maps,
    unnamed_folds,
    open_answers,
    count_gaps,
    stale_outputs,
    stderr,
    machine_traces,
    unchecked_cells,
    untested_checks,
    not_in_normal_form,
)


def colab_cell_out_of_date(nb: NotebookNode, address: Address | None) -> Iterator[str]:
    """The set-up cell must be the one that the repository's address gives."""
    first: Any = nb.cells[0] if nb.cells else {}
    if first.get("id") != colab.CELL_ID:
        yield "its first cell is not the Colab set-up"
    elif first.source != colab.setup_source(address) or first.metadata.get("tags") != colab.TAGS:
        yield "its Colab set-up does not follow from the address in pyproject.toml"


def faults(nb: NotebookNode, address: Address | None, root: Path = ROOT) -> list[str]:
    """Everything that is wrong with one notebook; an empty list when it may be published.

    ``root`` is the folder that the results files of its claims are named from.
    """
    found = [fault for gate in GATES for fault in gate(nb)]
    return found + list(colab_cell_out_of_date(nb, address)) + list(claims.faults(nb, root))


def check(paths: list[Path], address: Address | None, root: Path = ROOT) -> list[str]:
    """The faults of the notebooks at ``paths``, each beginning with the file's name."""
    notebooks = [(path.name, normal_form.read(path)) for path in paths]
    own = [f"{name}: {fault}" for name, nb in notebooks for fault in faults(nb, address, root)]
    own += [f"{name}: {fault}" for name, nb in notebooks for fault in measure.faults(nb)]
    return own + list(claims.repeated(notebooks))


def chapters(folder: Path = CHAPTERS) -> list[Path]:
    """Every chapter, in the order of its number."""
    return sorted(folder.glob("*.ipynb"))


def notebooks(root: Path = ROOT) -> list[Path]:
    """Every notebook of the book: the chapters, then those of the appendices, exercises last."""
    return [path for folder in FOLDERS for path in chapters(root / folder)]


def main(argv: list[str] | None = None) -> int:
    """Print the faults of the named notebooks, or of every notebook."""
    parser = argparse.ArgumentParser(prog="python -m booktools.gates", description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of them")
    paths = parser.parse_args(argv).notebooks or notebooks()
    found = check(paths, read_address())
    for fault in found:
        print(fault)
    if any(NOT_NORMAL not in fault for fault in found):
        print("Run `make notebooks` to execute and write them again.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
