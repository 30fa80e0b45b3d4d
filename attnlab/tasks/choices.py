"""Reproducible random choices: the same on every machine and in every version of Python.

Python promises that one seed gives one sequence of `random.Random(seed).random()` forever. It
does not for `choice`, `shuffle` or `sample`, so those are written out here.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from attnkit.guard import checks

T = TypeVar("T")


class Choices:
    """A seeded random generator of choices.

    Args:
        seed: an int, or several, such as (seed, epoch), which give a stream of their own.

    Raises:
        TypeError: a seed is not an int.

    >>> Choices(0).choice("abc"), Choices(0).between(3, 9), Choices(0, 1).choice("abc")
    ('b', 5, 'c')
    """

    def __init__(self, *seed: int):
        for part in seed:
            checks.integer("seed", part)
        self._random = random.Random("/".join(map(str, seed)))

    def below(self, end: int) -> int:
        """Return a whole number from 0 to `end` - 1, each equally likely."""
        checks.integer("end", end, minimum=1)
        return int(self._random.random() * end)

    def between(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        checks.integer("high", high, minimum=low)
        return low + self.below(high - low + 1)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of `options`, each equally likely."""
        if not len(options):  # the check itself takes as long as the choice
            checks.not_empty("options", options, "at least one option")
        return options[int(self._random.random() * len(options))]  # `below`, without its check

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order (Fisher-Yates shuffle); the input is not modified."""
        items = list(items)
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
        return items


def all_choices(build: Callable[[Callable[[Sequence[Any]], Any]], T]) -> Iterator[T]:
    """Yield what `build(choose)` returns, once for every way of choosing.

    `build` may call `choose(options)` as often as it likes, and later options may depend on
    earlier choices. The same function given `Choices(seed).choice` makes one random example.

    Raises:
        TypeError: `build` cannot be called.
        ValueError: `options` is empty.

    >>> list(all_choices(lambda choose: choose("ab") + choose("xyz")))
    ['ax', 'ay', 'az', 'bx', 'by', 'bz']
    """
    checks.function("build", build, "a function of choose")
    path: list[int] = []
    while True:
        sizes: list[int] = []

        def choose(options: Sequence[Any], sizes: list[int] = sizes) -> Any:
            checks.not_empty("options", options, "at least one option")
            if len(sizes) == len(path):
                path.append(0)
            sizes.append(len(options))
            return options[path[len(sizes) - 1]]

        yield build(choose)
        while path and path[-1] + 1 == sizes[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1
