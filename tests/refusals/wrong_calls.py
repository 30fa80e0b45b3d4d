"""How a wrong call is tested: its error must name the argument, what was expected, what came.

The tables beside this file hold one wrong call a line:

    call | error | argument | expected | got

in parts that begin with "== name". A call is evaluated with the names of the module that reads it.
"""

import builtins
import re
from collections.abc import Callable
from pathlib import Path

import pytest


def assert_line_refused(line: str, names: dict[str, object]) -> None:
    """The call must fail, blame that argument and say that; an "…" stands for any text."""
    call, error, blamed, wanted, came = line.split(" | ")
    with pytest.raises(names.get(error) or getattr(builtins, error)) as caught:
        eval(call, names)
    message = re.fullmatch(r"(.+?): expected (.+), got (.+)", str(caught.value), re.DOTALL)
    assert message, f"not in the one form: {caught.value}"
    argument, expected, got = message.groups()
    assert argument == blamed
    assert reads(expected, wanted), f"expected {expected!r}, not {wanted!r}"
    assert reads(got, came), f"got {got!r}, not {came!r}"


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


def refused(name: str, *parts: str, names: dict[str, object]) -> Callable[[str], None]:
    """A test of each line of these parts of a table, or of all its parts, with these names."""
    lines = [line for part in parts or table(name) for line in table(name)[part]]

    @pytest.mark.parametrize("line", lines)
    def test(line: str) -> None:
        assert_line_refused(line, names)

    return test
