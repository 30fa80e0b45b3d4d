"""Chapter 03: the whole machine; and how a sum, a tanh and a vector make a score."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, vector

ENGLISH = ("the", "black", "cat")
STATE, STATES = (0.5, 0.5), ((1, 0), (0, 1), (1, 1))
"""The decoder's state before "chat", and those of the English words."""
W, U, V = ((4, 0), (0, 2)), ((1, -2), (-1, 2)), (4, 4)


def _times(matrix: Sequence[Sequence[float]], x: Sequence[float]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix)


QUERY, KEYS = _times(W, STATE), tuple(_times(U, state) for state in STATES)
"""The same, projected."""


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


def weights() -> list[float]:
    """The softmax of the scores of all keys."""
    shares = [math.exp(step(QUERY, key).score) for key in KEYS]
    return [share / sum(shares) for share in shares]


def context() -> list[float]:
    """The states of the English words, averaged with the weights."""
    columns = zip(*STATES, strict=True)
    return [sum(w * h for w, h in zip(weights(), column, strict=True)) for column in columns]


def draw_whole(narrow: bool) -> Sheet:
    """From the states that were read, below, to the word that is written, at the upper right."""
    sheet, xs, right, slot = Sheet(NARROW, 436, 13), (38, 120, 202), 296, 64
    small = {"size": 12}
    for x, word, state, key, share in zip(xs, ENGLISH, STATES, KEYS, weights(), strict=True):
        sheet.text(x, 424, word, style="d-italic")
        sheet.item("key", x - slot / 2, 378, slot, 30, vector(state))
        sheet.arrow([(x, 372), (x, 346)], "key")
        sheet.text(x + 14, 359, "U", "key", **small)
        sheet.text(x, 334, vector(key), "key")
        sheet.arrow([(x, 322), (x, 304)], "key")
        sheet.circle(x, 286, 17, "d-state d-box")
        sheet.text(x, 286, "tanh", **small)
        sheet.arrow([(x, 268), (x, 250)])
        sheet.text(x + 14, 259, "v", **small)
        sheet.text(x, 238, f"{step(QUERY, key).score:.2f}", style="d-bold")
        sheet.arrow([(x, 226), (x, 212)])
        sheet.bar(x - 34, 194, 68, 13, share)
        sheet.text(x, 182, f"{share:.2f}", "weight", **small)
        thick = "d-thick" if share > 0.5 else "d-thin"
        sheet.line([(x, 170), (120, 142)], "value", style=thick)
    for left in xs[:-1]:  # the encoder reads in both directions
        sheet.arrow([(left + 34, 386), (left + 52, 386)], "key")
        sheet.arrow([(left + 52, 401), (left + 34, 401)], "key")
    sheet.item("query", right - 36, 378, 72, 30, vector(STATE))
    sheet.text(right, 424, "before “chat”", **small)
    sheet.arrow([(right, 372), (right, 346)], "query")
    sheet.text(right + 15, 359, "W", "query", **small)
    sheet.text(right, 334, vector(QUERY), "query")
    sheet.line([(right, 322), (right, 313), (xs[0] + 34, 313)], "query")
    for x in xs:  # one query for all of them
        sheet.arrow([(x + 34, 313), (x + 34, 286), (x + 20, 286)], "query")
        sheet.text(x - 25, 286, "+")
    sheet.text(right - 36, 238, "score", anchor="middle", **small)
    sheet.text(right - 36, 200, "weight", "weight", anchor="middle", **small)
    sheet.text(xs[0] - 36, 124, "context", "value", anchor="start", **small)
    sheet.item("value", 74, 109, 92, 30, vector(context()))
    sheet.arrow([(170, 124), (right - 42, 124)], "value")
    sheet.text(216, 82, "“le”", style="d-italic")
    sheet.arrow([(232, 88), (right - 36, 112)])
    sheet.arrow([(right + 30, 374), (right + 30, 144)], "query", style="d-dashed")
    sheet.rect(right - 38, 107, 76, 34, "d-state d-box", 6)
    sheet.text(right, 124, "step")
    sheet.arrow([(right, 103), (right, 82)], "state")
    sheet.item("state", right - 44, 48, 88, 30, "new state")
    sheet.arrow([(right, 44), (right, 28)], "state")
    sheet.text(right, 14, "chat", style="d-bold")
    return sheet


def draw_score(narrow: bool) -> Sheet:
    """The query of chat; a row for each key, from the key to its weight; the tanh as a curve."""
    sheet, query = Sheet(NARROW, 404, 13), QUERY
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
        share = weights()[place]
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

WHOLE = Drawing(
    name="additive-whole",
    title="The whole machine: it writes “chat”, and looks at “cat”.",
    description=(
        "Below, the states of the, black and cat, 1, 0 and 0, 1 and 1, 1; arrows lead both ways "
        "between them. U makes 1, −1 and −2, 2 and −1, 1 of them. The decoder's state before chat, "
        "0.5, 0.5, becomes 2, 1 with W, and is added to each. After the tanh and v the scores are "
        "3.98, 3.98 and 6.90; the weights 0.05, 0.05 and 0.90. The context, the states averaged "
        "with these weights, is 0.95, 0.95. Context, old state and the last word, le, go into a "
        "step; out of it come a new state and the word chat."
    ),
    draw=draw_whole,
)
