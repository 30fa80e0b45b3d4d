"""How a wrong call is tested: its error must name the argument, what was expected, what came."""

import re
from collections.abc import Callable
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
