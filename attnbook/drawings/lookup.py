"""Chapters 02 and 05: what one query does, from keys to scores to weights to an output."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

Vector = Sequence[float]


@dataclass(frozen=True)
class Lookup:
    """One query, its keys with their values, and the scale of the scores."""

    query: Vector
    keys: Sequence[Vector]
    values: Sequence[Vector]
    scale: float = 1.0
    names: Sequence[str] = ()

    @property
    def products(self) -> list[float]:
        """The dot product of the query with each key."""
        return [sum(q * k for q, k in zip(self.query, key, strict=True)) for key in self.keys]

    @property
    def weights(self) -> list[float]:
        """The softmax of the scaled products."""
        shares = [math.exp(self.scale * product) for product in self.products]
        return [share / sum(shares) for share in shares]

    @property
    def output(self) -> list[float]:
        """The average of the values with those weights."""
        columns = zip(*self.values, strict=True)
        return [sum(w * v for w, v in zip(self.weights, c, strict=True)) for c in columns]


PHONE_BOOK = Lookup(
    query=(math.log(4), math.log(2)),
    keys=((1, 0), (0, 1), (-1, 0)),
    values=((10,), (20,), (50,)),
    names=("Ada", "Ben", "Cleo"),
)
"""Chapter 02's example."""

FIRST_QUERY = Lookup(
    query=(2, 0, 1, 1),
    keys=((1, 0, 1, 1), (0, 1, 0, 2), (-1, 1, 2, 0)),
    values=((1, 0), (0, 1), (1, 1)),
    scale=0.5,
)
"""Chapter 05's example."""


@dataclass(frozen=True)
class _Columns:
    """Where the columns of a layout stand."""

    name: float
    key: tuple[float, float]  # left, width
    scores: tuple[float, ...]
    bar: tuple[float, float]
    value: tuple[float, float]


def draw(found: Lookup, narrow: bool) -> Sheet:
    """A row for each key, read from left to right; the output stands below the values."""
    scaled, named = found.scale != 1, bool(found.names)
    if narrow:
        columns = _Columns(
            name=0,
            key=(44, 66) if named else (0, 96),
            scores=(112, 156) if scaled else (140,),
            bar=(178, 70),
            value=(300, 40),
        )
        sheet, row, high, small = Sheet(NARROW, 318, 13.5), 46, 32, 12.5
    else:
        columns = _Columns(
            name=30,
            key=(92, 104) if named else (40, 150),
            scores=(264, 326) if scaled else (280,),
            bar=(380, 160) if scaled else (354, 186),
            value=(630, 70),
        )
        sheet, row, high, small = Sheet(WIDE, 324, 16), 50, 36, 15
    top = 108
    key, bar, value = columns.key, columns.bar, columns.value

    wide, level = max(key[1], 96), 6 + high / 2
    sheet.item("query", key[0], 6, wide, high, vector(found.query))
    sheet.text(key[0] + wide + 10, level, "query", "query", anchor="start", style="d-bold")
    if not narrow:
        x = columns.scores[0]
        sheet.bend((key[0] + wide + 70, level), (x, level), (x, top - 36), "query")
    heads = [("key", key[0] + key[1] / 2, "key"), ("weight", bar[0] + bar[1] / 2, "weight")]
    heads += [("value", value[0] + value[1] / 2, "value")]
    for role, x, words in heads:
        sheet.text(x, top - 22, words, role, style="d-bold")
    for x, words in zip(columns.scores, ("q · k", "score") if scaled else ("q · k",), strict=True):
        sheet.text(x, top - 22, words, style="d-bold")
    if scaled:  # what makes a column of the one before it
        root = number(1 / found.scale**2)
        for x, words in ((columns.scores[1], f"÷ √{root}"), (bar[0] + bar[1] / 2, "softmax")):
            sheet.text(x, top - 44, words, size=small)

    rows = zip(found.keys, found.products, found.weights, found.values, strict=True)
    for place, (one, product, weight, held) in enumerate(rows):
        y = top + place * row
        middle = y + high / 2
        if named:
            sheet.text(columns.name, middle, found.names[place], anchor="start")
        sheet.item("key", key[0], y, key[1], high, vector(one))
        sheet.text(columns.scores[0], middle, number(product))
        if scaled:
            sheet.text(columns.scores[1], middle, number(product * found.scale))
        sheet.bar(bar[0], middle - 8, bar[1], 16, weight)
        sheet.text(bar[0] + bar[1] + 8, middle, f"{weight:.2f}", "weight", anchor="start")
        sheet.item("value", value[0], y, value[1], high, vector(held))
        if not narrow:
            sheet.arrow([(key[0] + key[1] + 10, middle), (columns.scores[0] - 34, middle)])
            sheet.arrow(
                [(columns.scores[-1] + (20 if scaled else 34), middle), (bar[0] - 10, middle)]
            )
            sheet.text(value[0] - 24, middle, "×")

    bottom = top + 3 * row + 12
    sheet.line([(value[0] - 4, bottom), (value[0] + value[1], bottom)], "value")
    wide = max(value[1], (84 if narrow else 104) if len(found.output) > 1 else 52)
    left = value[0] + value[1] - wide
    sheet.item("value", left, bottom + 14, wide, high, vector(found.output), style="d-new")
    label = "the average, by weight" if narrow else "output: the values, averaged by weight"
    sheet.text(left - 12, bottom + 14 + high / 2, label, "value", anchor="end", size=small)
    return sheet


QUERY_KEY_VALUE = Drawing(
    name="query-key-value",
    title="A soft lookup takes a share of every value, the larger the better its key fits.",
    description=(
        "A table of three people. Each has a key, a vector, and a value, a number: Ada 1, 0 and "
        "10; Ben 0, 1 and 20; Cleo −1, 0 and 50. The query is 1.39, 0.69. Its dot products with "
        "the keys are 1.39, 0.69 and −1.39. The softmax makes weights 0.64, 0.32 and 0.04 of "
        "them, drawn as bars. The output, the average of the values with these weights, is 14.8."
    ),
    draw=partial(draw, PHONE_BOOK),
    two_layouts=True,
)

ONE_QUERY = Drawing(
    name="one-query",
    title="What one query does: compare with each key, weigh, and average the values.",
    description=(
        "One query, 2, 0, 1, 1, and three keys with a value each. The dot products are 4, 2 and "
        "0. Divided by the root of 4, the number of features, they are the scores 2, 1 and 0. The "
        "softmax makes weights 0.67, 0.24 and 0.09 of them, drawn as bars. The values 1, 0 and "
        "0, 1 and 1, 1, averaged with the weights, give the output 0.76, 0.33."
    ),
    draw=partial(draw, FIRST_QUERY),
    two_layouts=True,
)
