"""Chapter 03: the whole machine; and how a sum, a tanh and a vector make a score."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

ENGLISH = ("the", "black", "cat")
STATE, STATES = (0.5, 0.5), ((1, 0), (0, 1), (1, 1))
"""The decoder's state before "chat", and those of the English words."""
W, U, V = ((1, -1), (0, 2)), ((2, 0), (-1, 1)), (4, 4)


def _times(matrix: Sequence[Sequence[float]], x: Sequence[float]) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix)


QUERY, KEYS = _times(W, STATE), tuple(_times(U, state) for state in STATES)
"""The same, projected."""
LOOKS = ((QUERY, "chat"), ((2, 0), "noir"))
"""Two projected queries, of this look and of the next, with the words that they are made for."""


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


class Plan(NamedTuple):
    """Where things stand, from left to right; and downwards the words, the query and the step."""

    keys: tuple[float, float]  # the left edge and the width of a state
    projected: float
    query: float  # the one that is added to all of them
    tanh: float | None  # where there is room for it
    score: float
    bars: tuple[float, float]
    context: tuple[float, float, float]  # the left edge, the middle, the point where lines meet
    rows: tuple[float, float, float]
    asks: float
    step: tuple[float, float]
    new_state: float
    chat: float


def plan(narrow: bool) -> Plan:
    if narrow:
        return Plan((0, 56), 101, 151, None, 227, (252, 58), (238, 234, 326), (62, 116, 170), 222,
                    (140, 308), 236, 312)  # fmt: skip
    return Plan((50, 62), 172, 234, 342, 440, (470, 66), (618, 98, 614), (54, 98, 142), 202,
                (470, 248), 574, 668)  # fmt: skip


def draw_whole(narrow: bool) -> Sheet:
    """A row for each word, from its state to its weight; below, the query, and what is written."""
    at, size = plan(narrow), 13
    sheet = Sheet(NARROW if narrow else WIDE, 336 if narrow else 280, 13 if narrow else 15)
    (left, wide), (bar, length), small = at.keys, at.bars, {"size": size}
    key_end, low = left + wide, at.rows[-1]
    sheet.rect(at.query - 20, at.rows[0] - 17, 40, low - at.rows[0] + 34, "d-query d-box", 17)
    top = at.rows[0] - (46 if narrow else 34)
    sheet.text(left + wide / 2, top, "key", "key", style="d-bold")
    sheet.text(at.score, top, "score", style="d-bold")
    sheet.text(bar + length / 2, top, "weight", "weight", style="d-bold")
    for y, word, state, key, share in zip(at.rows, ENGLISH, STATES, KEYS, weights(), strict=True):
        made, wins = step(QUERY, key), share > 0.5
        if narrow:
            sheet.text(left + 4, y - 24, word, anchor="start", style="d-italic")
        else:
            sheet.text(0, y, word, anchor="start", style="d-italic")
        sheet.item("key", left, y - 14, wide, 28, vector(state))
        sheet.arrow([(key_end + 4, y), (at.projected - 23, y)], "key")
        sheet.text((key_end + at.projected - 19) / 2, y - 12, "U", "key", **small)
        sheet.text(at.projected, y, vector(key), "key")
        sheet.text(at.projected + (25 if narrow else 32), y, "+")
        sheet.text(at.query, y, vector(QUERY), "query")
        end = (at.score - 22) if at.tanh is None else at.tanh - 48
        sheet.arrow([(at.query + 23, y), (end, y)])
        sheet.text((at.query + 23 + end) / 2 - 2, y - 11, "tanh", **small)
        if at.tanh is None:
            sheet.text((at.query + 23 + end) / 2 - 2, y + 11, "v", **small)
        else:
            sheet.text(at.tanh, y, vector(made.tanh, 3), size=14)
            sheet.arrow([(at.tanh + 47, y), (at.score - 22, y)])
            sheet.text((at.tanh + 47 + at.score - 24) / 2, y - 11, "v", **small)
        sheet.text(at.score, y, f"{made.score:.2f}", style="d-bold" if wins else "")
        sheet.bar(bar, y - 7, length, 14, share)
        begin = (bar + length + 4, y)
        if narrow:
            sheet.text(bar + length / 2, y + 17, f"{share:.2f}", "weight", **small)
        else:
            sheet.text(bar + length + 20, y, f"{share:.2f}", "weight")
            begin = (bar + length + 40, y)
        joined = (at.context[2], at.context[1] - (17 if narrow else 0))
        sheet.line([begin, joined], "value", style="d-thick" if wins else "d-thin")
    _query(sheet, at, narrow)
    _written(sheet, at, narrow)
    return sheet


def _query(sheet: Sheet, at: Plan, narrow: bool) -> None:
    """The state that asks, below the words, and the way of its projection up to all of them."""
    (left, wide), y = at.keys, at.asks
    if narrow:
        sheet.text(left, y - 24, "query", "query", anchor="start", style="d-bold")
    else:
        sheet.text(0, y, "query", "query", anchor="start", style="d-bold")
        left += 4
    wide += 6
    sheet.item("query", left, y - 14, wide, 28, vector(STATE))
    sheet.arrow([(left + wide + 4, y), (at.projected - 19, y)], "query")
    sheet.text((left + wide + at.projected - 17) / 2, y - 12, "W", "query", size=13)
    sheet.text(at.projected, y, vector(QUERY), "query")
    up = at.rows[-1] + 20
    sheet.arrow([(at.projected + 19, y), (at.query, y), (at.query, up)], "query")
    said = (
        ("the decoder’s state", "before “chat”")
        if narrow
        else ("the decoder’s state before “chat”",)
    )
    for line, words in enumerate(said):
        sheet.text(left + 26, y + 26 + 17 * line, words, anchor="start", size=13)


def _written(sheet: Sheet, at: Plan, narrow: bool) -> None:
    """The context, and the step that it goes into, with the old state and the last word."""
    left, y, _ = at.context
    x, low = at.step
    sheet.text(left + (28 if narrow else 46), y - 26, "context", "value", style="d-bold")
    sheet.item("value", left, y - 14, 92, 28, vector(context()))
    turn = low - (34 if narrow else 40)
    sheet.arrow([(left + 46, y + 17), (left + 46, turn), (x, turn), (x, low - 20)], "value")
    side = at.keys[0] + 16
    sheet.arrow([(side, at.asks + 16), (side, low), (x - 36, low)], "query", style="d-dashed")
    last = "“le”" if narrow else "the last word, “le”"
    sheet.text(x - 58, low + 21, last, anchor="end")
    sheet.arrow([(x - 54, low + 20), (x - 36, low + 11)])
    sheet.rect(x - 33, low - 17, 66, 34, "d-state d-box", 6)
    sheet.text(x, low, "step")
    half = 36 if narrow else 42
    sheet.arrow([(x + 36, low), (at.new_state - half - 3, low)], "state")
    sheet.item("state", at.new_state - half, low - 15, 2 * half, 30, "new state")
    sheet.arrow([(at.new_state + half + 3, low), (at.chat - 22, low)], "state")
    sheet.text(at.chat, low, "chat", style="d-bold")


def draw_score(narrow: bool) -> Sheet:
    """The sums of two looks as bars, without the tanh and with it; between them its curve."""
    sheet = Sheet(NARROW if narrow else WIDE, 632 if narrow else 262, 13 if narrow else 14)
    plain, squashed = "without the tanh: add", "squash each feature, then add"
    if narrow:
        _sums(sheet, 0, 10, plain, 148)
        _sums(sheet, 0, 270, squashed, 148, 3)
        _curve(sheet, 110, 540, 150, 68)
    else:
        _sums(sheet, 0, 10, plain, 90)
        _curve(sheet, 292, 86, 134, 92)
        _sums(sheet, 466, 10, squashed, 150, 3)
    return sheet


def _sums(sheet: Sheet, left: float, top: float, title: str, bars: float, digits: int = 0) -> None:
    """For two queries a row for each key: its features, as numbers and as bars, and its score."""
    sheet.text(left, top, title, anchor="start", style="d-bold")
    for query, asks in LOOKS:
        rows = [step(query, key)[1 if digits else 0] for key in KEYS]
        scores = [sum(v * one for v, one in zip(V, features, strict=True)) for features in rows]
        said = f"query {vector(query)}, before “{asks}”"
        sheet.text(left, top + 28, said, "query", anchor="start", size=13)
        at = left + bars + (144 if not digits else 84)
        sheet.text(at, top + 28, "score", size=13)
        for word, features, score in zip(ENGLISH, rows, scores, strict=True):
            top += 28
            _sum(sheet, left, top + 26, word, features, bars, digits)
            wins = "d-bold" if score == max(scores) else ""
            sheet.text(at, top + 26, f"{score:.{2 if digits else 0}f}", style=wins)
        top += 30


def _sum(
    sheet: Sheet,
    left: float,
    y: float,
    word: str,
    features: Sequence[float],
    bars: float,
    digits: int,
) -> None:
    """One key's two features: as numbers, and as bars end to end, a negative one going back."""
    unit, (first, second), x = 28, features, left + bars
    sheet.text(left, y, word, anchor="start", style="d-italic")
    sign = "−" if second < 0 else "+"
    said = f"{number(first, digits)} {sign} {number(abs(second), digits)}"
    sheet.text(x - 8, y, said, anchor="end", size=12.5)
    back = second < 0
    if first:
        sheet.rect(x, y - 9, unit * first, 9 if back else 18, "d-state d-solid")
    if second:
        end = unit * (first + min(second, 0))
        sheet.rect(x + end, y - (0 if back else 9), unit * abs(second), 9 if back else 18,
                   "d-state d-box")  # fmt: skip


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
        sheet.text(at(x)[0] + (18, 2, 6)[x - 1], at(x)[1] + 18, below, size=12)
    sheet.text(left + 4, top - 16, "tanh", anchor="start", style="d-italic", size=12.5)


SCORE = Drawing(
    name="additive-score",
    title="Added up, cat always wins, by 4. Squashed first, each query has its own winner.",
    description=(
        "Two queries with the same three keys. Left, without the tanh: the sums of the query 0, 1 "
        "and the keys are 2 + 0 for the, 0 + 2 for black and 2 + 1 for cat, with the scores 8, 8 "
        "and 12; those of the query 2, 0 are 4 − 1, 2 + 1 and 4 + 0, with the scores 12, 12 and "
        "16: cat wins both. In the middle the curve of the tanh, 0.762 at 1, 0.964 at 2, 0.995 at "
        "3. Right, with the tanh: for the first query 0.964 + 0, 0 + 0.964 and 0.964 + 0.762, with "
        "the scores 3.86, 3.86 and 6.90, so that cat wins; for the second 0.999 − 0.762, 0.964 + "
        "0.762 and 0.999 + 0, with the scores 0.95, 6.90 and 4.00, so that black wins."
    ),
    draw=draw_score,
    two_layouts=True,
)

WHOLE = Drawing(
    name="additive-whole",
    title="One look: about to write “chat”, the decoder scores every word, and “cat” wins.",
    description=(
        "A row for each of the words the, black and cat. Each begins with a key, the word's state: "
        "1, 0 and 0, 1 and 1, 1. U makes 2, −1 and 0, 1 and 2, 0 of them. Below stands the "
        "query, the decoder's state before chat: 0.5, 0.5. W makes 0, 1 of it, which is added in "
        "every row. The tanh and v make the scores 3.86, 3.86 and 6.90, and these the weights "
        "0.04, 0.04 and 0.91. The context, the keys averaged with these weights, is 0.96, 0.96. "
        "Context, old state and the last word, le, go into a step; out of it come a new state and "
        "the word chat."
    ),
    draw=draw_whole,
    two_layouts=True,
)
