"""`reverse` and `copy`: the smallest tasks whose alignment is known exactly."""

import string

from attnkit.guard import checks
from attnlab.tasks.choices import Choices
from attnlab.tasks.pairs import Pair


def reverse(
    count: int, *, min_length: int = 1, max_length: int = 16, symbols: int = 20, seed: int = 0
) -> list[Pair]:
    """Make examples whose target is the source backwards.

    Target symbol t links to source symbol n - 1 - t, for a source of n symbols.

    Args:
        count: number of examples, drawn independently, so short ones repeat.
        min_length: of the shortest source, at least 1.
        max_length: of the longest source; each length is as likely as the others.
        symbols: size of the alphabet, 2 to 52 letters.
        seed: one seed gives the same examples on every machine.

    Raises:
        TypeError: an argument is not an int.
        ValueError: a number is out of range.

    >>> pair = reverse(1, min_length=4, max_length=4)[0]
    >>> pair.source, pair.target
    (('s', 'h', 's', 'b'), ('b', 's', 'h', 's'))
    >>> sorted(pair.sure)
    [(0, 3), (1, 2), (2, 1), (3, 0)]
    """
    pairs = []
    for source in _sources(count, min_length, max_length, symbols, seed):
        links = frozenset((t, len(source) - 1 - t) for t in range(len(source)))
        pairs.append(Pair(source, source[::-1], links, links))
    return pairs


def copy(
    count: int, *, min_length: int = 1, max_length: int = 16, symbols: int = 20, seed: int = 0
) -> list[Pair]:
    """Make examples whose target is the source itself. The arguments and errors are those of
    `reverse`.

    >>> copy(1, min_length=3, max_length=3)[0].target
    ('s', 'h', 's')
    """
    pairs = []
    for source in _sources(count, min_length, max_length, symbols, seed):
        links = frozenset((t, t) for t in range(len(source)))
        pairs.append(Pair(source, source, links, links))
    return pairs


def _sources(
    count: int, min_length: int, max_length: int, symbols: int, seed: int
) -> list[tuple[str, ...]]:
    checks.integer("count", count, minimum=0)
    checks.integer("min_length", min_length, minimum=1)
    checks.integer("max_length", max_length, minimum=min_length)
    checks.integer("symbols", symbols, minimum=2, maximum=len(string.ascii_letters))
    draw, alphabet = Choices(seed), string.ascii_letters[:symbols]
    lengths = [draw.between(min_length, max_length) for _ in range(count)]
    return [tuple(draw.choice(alphabet) for _ in range(length)) for length in lengths]
