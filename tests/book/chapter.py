"""A chapter's exercises, read from the notebook itself, so what is tested is what is read."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache, cached_property
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
        notebook = normal_form.read(gates.CHAPTERS / self.data.CHAPTER)
        return {cell.id: cell for cell in notebook.cells}

    @cached_property
    def book(self) -> dict[str, Any]:
        """The module of the chapter's checks, without the rest of the chapter; solutions."""
        checks = importlib.import_module(f"attnbook.checks.{self.data.__name__.split('.')[-1]}")
        names: dict[str, Any] = {**vars(checks), "__name__": "__main__"}
        for number in self.data.CHECKS:
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

    def solution(self, number: int) -> str:
        """The code of the printed solution."""
        text = self.cells[f"exercise-{number}-help"].source
        (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        return code

    def verdict(self, capsys, number: int, answer: Any) -> str:
        """What the check of an exercise prints."""
        capsys.readouterr()
        self.book[self.data.CHECKS[number]](answer)
        return capsys.readouterr().out.strip()


@cache
def chapter(name: str) -> Chapter:
    """The chapter of the module `name` in `tests.book.answers`."""
    return Chapter(importlib.import_module(f"{answers.__name__}.{name}"))


NAMES = [module.name for module in pkgutil.iter_modules(answers.__path__)]
