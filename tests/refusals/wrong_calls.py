"""How a wrong call is tested: its error must name the argument, what was expected, what came.

The tables beside this file hold one wrong call a line:

    call | error | argument | expected | got

in parts that begin with "== name". A call is evaluated with the names of the module that reads it.
"""

import builtins
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Wrong(NamedTuple):
    """A call that must fail, with the argument it must blame and what it must say of it.

    An "…" in `expected` or `got` stands for any text.
    """

    call: Callable[[], object]
    error: type[Exception]
    argument: str
    expected: str
    got: str


def assert_refused(wrong: Wrong) -> None:
    with pytest.raises(wrong.error) as caught:
        wrong.call()
    message = re.fullmatch(r"(.+?): expected (.+), got (.+)", str(caught.value), re.DOTALL)
    assert message, f"not in the one form: {caught.value}"
    argument, expected, got = message.groups()
    assert argument == wrong.argument
    assert reads(expected, wrong.expected), f"expected {expected!r}, not {wrong.expected!r}"
    assert reads(got, wrong.got), f"got {got!r}, not {wrong.got!r}"


def reads(text: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL) is not None


def table(name: str) -> dict[str, list[str]]:
    """The lines of each part of NAME.txt beside this file."""
    parts: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            lines = parts.setdefault(line.removeprefix("== "), [])
        elif line:
            lines.append(line)
    return parts


def assert_line_refused(line: str, names: dict[str, object]) -> None:
    call, error, *said = line.split(" | ")
    assert_refused(
        Wrong(lambda: eval(call, names), names.get(error) or getattr(builtins, error), *said)
    )
