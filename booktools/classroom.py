"""For a class: an assignment made of the exercises of a chapter, and slides of its pictures.

    make assignment N=05    _build/class/release/05/*.ipynb, and their source
    make slides N=05        _build/class/slides-05.pdf, of the built book

An assignment follows the conventions of nbgrader. `release` is what students get: the exercises
with their hints and checks and no solution, and behind each answer a locked cell for the grader.
`source` holds the solutions between the marks that `nbgrader generate_assignment 05`, called in
`_build/class`, takes out again. Without nbgrader, run what comes back: where an answer is not
right, the locked cell stops with the check's sentence.
"""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from booktools import colab, normal_form
from booktools.address import ROOT, read_address
from booktools.plain import Plain

POINTS = {"easy": 1, "medium": 2, "hard": 3}
CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "attention"
# The function to complete stands above the solution, which leaves nothing behind.
c.ClearSolutions.code_stub = {"python": ""}
"""
_CODE = re.compile(r"exercise-(\d+)-code")
_CALL = re.compile(r"\n\n\n(?P<check>check_\w+)\((?P<answer>[\w.]+)\)\Z")
_FOLD = re.compile(r"\n*<details>\s*<summary>Solution.*?</details>", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\]\n]|\n(?!\n))+)\]\((?!https?:)[^)\s]*\)")
_ANSWER = re.compile(r"```python\n(.*?)```", re.DOTALL)


def pages(root: Path, number: str) -> list[Path]:
    """The notebooks with exercises of a chapter or a page, "05" or "05b".

    Raises:
        ValueError: there is none.
    """
    folders = ("chapters", "appendices/exercises")
    found = [path for folder in folders for path in root.glob(f"{folder}/{number}_*.ipynb")]
    found = [path for path in found if '"exercise-checkers"' in path.read_text("utf-8")]
    if not found:
        raise ValueError(f"no exercises in {number!r}; expected a page such as 05 or 05b")
    return found


def assignment(
    nb: NotebookNode, page: str, plain: Plain, *, solutions: bool = False
) -> NotebookNode:
    """The exercises of a notebook, which the book has at `page`, with their metadata for nbgrader.

    Args:
        nb: the notebook.
        page: its path in the book, without an ending.
        plain: puts words in place of what only the book understands.
        solutions: whether each is there, between nbgrader's marks.
    """
    whole = page.startswith("appendices")  # its exercises need what stands around them
    cells = [cell for cell in nb.cells if whole or cell.id.startswith("exercise-")]
    made = new_notebook(metadata={"kernelspec": nb.metadata.get("kernelspec", {})})
    if not whole:
        title = next(cell.source for cell in nb.cells if cell.cell_type == "markdown")
        made.cells = [
            new_markdown_cell(title.partition("\n")[0], id="title"),
            new_code_cell(_imports(nb), id="imports"),
        ]
    helps = {cell.id: cell.source for cell in nb.cells}
    level = 1
    for cell in cells:
        number = _CODE.fullmatch(cell.id)
        if cell.cell_type == "markdown":
            text = _LINK.sub(r"\1", plain.text(_FOLD.sub("", cell.source), page))
            made.cells.append(new_markdown_cell(text, id=cell.id))
            found = re.match(r"#+ Exercise .*?(easy|medium|hard)", text)
            level = POINTS[found[1]] if found else level
            continue
        source = cell.source
        if not number:
            made.cells.append(new_code_cell(source, id=cell.id))
            continue
        call = _CALL.search(source)
        if solutions:
            right = _ANSWER.search(_FOLD.search(helps[f"exercise-{number[1]}-help"])[0])[1]
            marked = f"\n\n\n### BEGIN SOLUTION\n{right.strip()}\n### END SOLUTION"
            source = source[: call.start()] + marked + source[call.start() :]
        made.cells.append(_graded(source, cell.id, solution=True))
        test = "verdict = {check}.verdict({answer})\nassert verdict.right, verdict.words"
        test = test.format_map(call.groupdict())
        made.cells.append(_graded(test, f"exercise-{number[1]}-grade", points=level))
    colab.set_up(made, plain.address)
    return made


def _imports(nb: NotebookNode) -> str:
    """What the cells of a notebook import, but for the book's own: answers may use it."""
    found = {}
    for cell in nb.cells:
        if cell.cell_type == "code" and cell.id != colab.CELL_ID:
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    found[ast.unparse(node)] = None
    return "\n".join(line for line in found if "attnbook" not in line)


def _graded(source: str, name: str, *, solution: bool = False, points: int = 0) -> NotebookNode:
    """A cell for an answer, or one that gives points for it."""
    asks = {"grade": not solution, "solution": solution, "locked": not solution, "task": False}
    asks |= {"grade_id": name, "schema_version": 3, "cell_type": "code"}
    return new_code_cell(
        source, id=name, metadata={"nbgrader": asks | ({"points": points} if points else {})}
    )


def write(root: Path, number: str, folder: Path) -> list[Path]:
    """Write the assignment of a page into `folder`, and return the files for students."""
    plain, released = Plain(root, read_address(root / "pyproject.toml")), []
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nbgrader_config.py").write_text(CONFIG)
    for path in pages(root, number):
        page = path.relative_to(root).with_suffix("").as_posix()
        name = f"{path.stem}{'_more' * page.startswith('appendices')}.ipynb"
        for kind in ("source", "release"):
            made = assignment(normal_form.read(path), page, plain, solutions=kind == "source")
            target = folder / kind / number / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(normal_form.dumps(made), "utf-8")
        released.append(target)
    return released


def main(argv: list[str] | None = None) -> int:
    """Write what is asked for, and print where it is."""
    parser = argparse.ArgumentParser(prog="python -m booktools.classroom", description=__doc__)
    parser.add_argument("what", choices=("assignment", "slides"))
    parser.add_argument("page", help="such as 05 or 05b")
    options = parser.parse_args(argv)
    folder = ROOT / "_build" / "class"
    try:
        if options.what == "assignment":
            made = write(ROOT, options.page, folder)
        else:
            from booktools import slides

            made = [slides.write(options.page, folder)]
    except ValueError as error:
        parser.exit(1, f"{error}\n")
    print(*made, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
