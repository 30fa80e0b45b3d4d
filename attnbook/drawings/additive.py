"""Chapter 03: how a sum, a tanh and a vector make a score; and the links that come out."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, vector

FRENCH, ENGLISH = ("le", "chat", "noir"), ("the", "black", "cat")
QUERIES = ((1, -2), (2, 1), (3, -1))
"""The projected states before each French word."""
KEYS = ((1, -1), (-2, 2), (-1, 1))
"""The projected states of the English words."""
V = (4, 4)
LEAST, STRONG = 0.04, 0.5


class Step(NamedTuple):
    """From a query and a key to a score."""

    total: tuple[float, ...]
    tanh: tuple[float, ...]
    score: float


def step(query: Sequence[float], key: Sequence[float]) -> Step:
    """The sum, its tanh, and that weighed with v."""
    total = tuple(q + k for q, k in zip(query, key, strict=True))
    tanh = tuple(math.tanh(x) for x in total)
    return Step(total, tanh, sum(v * x for v, x in zip(V, tanh, strict=True)))


def weights(query: Sequence[float]) -> list[float]:
    """The softmax of the scores of all keys."""
    shares = [math.exp(step(query, key).score) for key in KEYS]
    return [share / sum(shares) for share in shares]


def draw_score(narrow: bool) -> Sheet:
    """The query of chat; a row for each key, from the key to its weight; the tanh as a curve."""
    sheet, query = Sheet(NARROW, 404, 13), QUERIES[1]
    sheet.item("query", 0, 4, 66, 30, vector(query))
    sheet.text(76, 19, "before “chat”", "query", anchor="start", style="d-bold")
    for x, name in ((28, "key"), (102, "sum"), (182, "tanh"), (254, "× v"), (312, "weight")):
        sheet.text(x, 58, name, style="d-bold", size=12.5)
    for place, (word, key) in enumerate(zip(ENGLISH, KEYS, strict=True)):
        y, (total, tanh, score) = 110 + 56 * place, step(query, key)
        sheet.text(8, y - 24, word, anchor="start", style="d-italic")
        sheet.item("key", 0, y - 14, 62, 28, vector(key))
        sheet.text(74, y, "+")
        sheet.text(102, y, vector(total))
        sheet.arrow([(120, y), (134, y)])
        sheet.text(182, y, vector(tanh, 3))
        sheet.text(254, y, f"{score:.2f}", style="d-bold")
        share = weights(query)[place]
        sheet.bar(288, y - 7, 50, 14, share)
        sheet.text(313, y + 17, f"{share:.2f}", "weight", size=12.5)
    _curve(sheet, 40, 284, 168, 84)
    sheet.text(232, 314, "3 in one feature:", anchor="start", size=12.5)
    sheet.text(232, 332, f"{math.tanh(3):.3f}", anchor="start", style="d-bold")
    sheet.text(232, 356, "1 and 2 in two:", anchor="start", size=12.5)
    sheet.text(232, 374, f"{math.tanh(1) + math.tanh(2):.3f}", anchor="start", style="d-bold")
    return sheet


def _curve(sheet: Sheet, left: float, top: float, wide: float, tall: float) -> None:
    """The tanh from 0 to 3, with a dot at 1, 2 and 3."""

    def at(x: float) -> tuple[float, float]:
        return left + wide * x / 3, top + tall * (1 - math.tanh(x))

    sheet.line([(left, top - 6), (left, top + tall), (left + wide, top + tall)], style="d-muted")
    sheet.line([(left, top), (left + wide, top)], style="d-thin d-dashed d-muted")
    sheet.text(left - 8, top, "1", anchor="end", size=12)
    sheet.text(left - 8, top + tall, "0", anchor="end", size=12)
    sheet.line([at(x / 20) for x in range(61)], "state", style="d-wide")
    for x in (1, 2, 3):
        sheet.circle(*at(x), 5, "d-state d-solid")
        sheet.text(at(x)[0], top + tall + 14, str(x), size=12)
        below = f"{math.tanh(x):.3f}"
        sheet.text(at(x)[0] - (4 if x == 3 else 0), at(x)[1] + 18, below, size=12)
    sheet.text(left + 4, top - 16, "tanh", anchor="start", style="d-italic", size=12.5)


def draw_links(narrow: bool) -> Sheet:
    """French words at the left, English ones at the right, and a line where there is weight."""
    sheet = Sheet(NARROW, 178, 14)
    sheet.text(45, 12, "query", "query", style="d-bold")
    sheet.text(NARROW - 45, 12, "key", "key", style="d-bold")
    for place, (said, read) in enumerate(zip(FRENCH, ENGLISH, strict=True)):
        y = 50 + 50 * place
        sheet.item("query", 6, y - 15, 78, 30, said)
        sheet.item("key", NARROW - 84, y - 15, 78, 30, read)
    for i, query in enumerate(QUERIES):
        for j, share in enumerate(weights(query)):
            if share < LEAST:
                continue
            ends = [(88, 50 + 50 * i), (NARROW - 88, 50 + 50 * j)]
            sheet.line(ends, "weight", style="d-thick" if share > STRONG else "d-thin d-dashed")
    return sheet


SCORE = Drawing(
    name="additive-score",
    title="An additive score: add, squash each feature, and weigh what comes out.",
    description=(
        "The projected query before chat is 2, 1. It is added to three projected keys. With the, "
        "1, −1, the sum is 3, 0, the tanh 0.995, 0 and the score 3.98. With black, −2, 2, the sum "
        "is 0, 3 and the score again 3.98. With cat, −1, 1, the sum is 1, 2, the tanh 0.762, "
        "0.964 and the score 6.90. The weights are 0.05, 0.05 and 0.90. Below, the curve of the "
        "tanh: 3 in one feature gives 0.995, 1 and 2 in two give 1.726."
    ),
    draw=draw_score,
)

CROSSING = Drawing(
    name="crossing-links",
    title="The example as lines: “chat” and “noir” look past each other, and the links cross.",
    description=(
        "French words at the left, English words at the right. A thick line, of more than half of "
        "a row's weight, leads from le to the, from chat to cat and from noir to black; the last "
        "two cross. Dashed lines, of at least 0.04, lead from le to black and cat, from chat to "
        "the and black, and from noir to cat. Less is not drawn."
    ),
    draw=draw_links,
)
