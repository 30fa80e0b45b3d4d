"""A chapter's exercises, read from its notebooks themselves, so what is tested is what is read."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from nbformat import NotebookNode

import attnkit
from booktools import gates, normal_form
from tests.book import answers


class Chapter:
    """The cells of one chapter, its checks, its printed solutions and the wrong answers to it."""

    def __init__(self, data: ModuleType) -> None:
        self.data = data

    @cached_property
    def cells(self) -> dict[str, NotebookNode]:
        """The chapter's cells by id; read late, so that a chapter still missing hurts no other."""
        books = reversed(notebooks()[self.name])  # where two have an id, the first one's counts
        return {cell.id: cell for book in books for cell in book.cells}

    @property
    def name(self) -> str:
        """That of the modules of its checks and of its wrong answers, `ch05`."""
        return self.data.__name__.split(".")[-1]

    @cached_property
    def module(self) -> ModuleType:
        return importlib.import_module(f"attnbook.checks.{self.name}")

    @cached_property
    def checks(self) -> dict[int, str]:
        """The names of the checks by the numbers of their exercises, whose order is theirs."""
        names = (name for name, value in vars(self.module).items() if hasattr(value, "verdict"))
        return dict(enumerate(names, start=1))

    @cached_property
    def book(self) -> dict[str, Any]:
        """The module of the chapter's checks, without the rest of the chapter; solutions."""
        names: dict[str, Any] = {**vars(self.module), "__name__": "__main__"}
        for number in self.checks:
            exec(self.solution(number), names)
        return names

    @cached_property
    def wrong(self) -> dict[str, Any]:
        """The names that the wrong answers need beside those of the book."""
        names = {**self.book, "attnkit": attnkit, "masks": attnkit.masks}
        for cell in getattr(self.data, "CELLS", ()):
            exec(self.cells[cell].source, names)
        exec(getattr(self.data, "HELPERS", ""), names)
        return names

    def wrong_answer(self, number: int, what: str) -> tuple[Any, str]:
        """One of them, and a piece of what its check must say."""
        answer, reason = self.data.WRONG[number, what]
        parameters = getattr(self.data, "PARAMETERS", {}).get(number, "")
        named = re.findall(r"\w+", parameters)
        if not set(named).isdisjoint(compile(answer, "", "eval").co_names):
            answer = f"lambda {parameters}: {answer}"
        return eval(answer, self.wrong), reason

    def solution(self, number: int) -> str:
        text = self.cells[f"exercise-{number}-help"].source
        (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        return code

    def read(self, number: int) -> dict[str, Any]:
        """What a reader has who ran the imports above the exercise, down to that of its check."""
        names: dict[str, Any] = {"__name__": "__main__"}
        (book,) = (one for one in notebooks()[self.name] if number in exercises(one))
        code = {cell.id: cell.source for cell in book.cells if cell.cell_type == "code"}
        above = "\n".join([*code.values()][: [*code].index("exercise-checkers") + 1])
        body = [
            one for one in ast.parse(above).body if isinstance(one, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(body, []), self.name, "exec"), names)
        return names

    def verdict(self, capsys, number: int, answer: Any) -> str:
        capsys.readouterr()
        self.book[self.checks[number]](answer)
        return capsys.readouterr().out.strip()


@cache
def notebooks() -> dict[str, list[NotebookNode]]:
    """By the module of checks that they import, the notebooks with exercises, pages first."""
    found: dict[str, list[NotebookNode]] = {}
    for path in gates.notebooks():
        book = normal_form.read(path)
        for cell in book.cells:
            if cell.id == "exercise-checkers":
                (name,) = re.findall(r"^from attnbook\.checks\.(\w+) import", cell.source, re.M)
                found.setdefault(name, []).append(book)
    return found


def page_cells(page: str, folder: Path = gates.CHAPTERS) -> dict[str, str]:
    """The sources of a page's cells by their ids."""
    (path,) = folder.glob(f"{page}_*.ipynb")
    return {cell.id: cell.source for cell in normal_form.read(path).cells}


def exercises(book: NotebookNode) -> list[int]:
    found = (re.fullmatch(r"exercise-(\d+)-code", cell.id) for cell in book.cells)
    return [int(match[1]) for match in found if match]


@cache
def chapter(name: str) -> Chapter:
    return Chapter(importlib.import_module(f"{answers.__name__}.{name}"))


NAMES = [module.name for module in pkgutil.iter_modules(answers.__path__)]
