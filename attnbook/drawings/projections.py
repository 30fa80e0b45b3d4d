"""Chapter 05b: three matrices make a query, a key and a value of each word of a sentence."""

from collections.abc import Sequence
from math import exp

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

Rows = Sequence[Sequence[float]]

WORDS = ("black", "cat", "sleeps")
X: Rows = ((0, 1), (1, 0), (0, 1))
"""Does a word name a thing? Does it say something of a thing?"""
W_Q: Rows = ((0, 0), (2, 0))
"""A word that says something of a thing asks for one that names a thing."""
W_K: Rows = ((1, 0), (0, 1))
W_V: Rows = ((5,), (1,))


def product(left: Rows, right: Rows) -> list[list[float]]:
    """The matrix product."""
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in left]


def scores(query: Rows, key: Rows) -> list[list[float]]:
    """The dot product of each query with each key."""
    return product(query, list(zip(*key, strict=True)))


def output(query: Rows, key: Rows, value: Rows) -> list[list[float]]:
    """What each word gets: the softmax of its scores, not divided, as weights of the values."""
    powers = [[exp(score) for score in row] for row in scores(query, key)]
    return product([[power / sum(row) for power in row] for row in powers], value)


def table(sheet: Sheet, x: float, y: float, w: float, h: float, found: Rows) -> None:
    """Scores with the words on both sides; rows look at columns."""
    for j, word in enumerate(WORDS):
        sheet.text(x + (j + 0.5) * w, y - 12, word, size=sheet.size - 1)
    for i, row in enumerate(found):
        sheet.text(x - 8, y + (i + 0.5) * h, WORDS[i], anchor="end", size=sheet.size - 1)
        for j, score in enumerate(row):
            level = 0.5 + score / 5
            sheet.cell(x + j * w, y + i * h, w, h, level, number(score), kind="score")


def matrix(sheet: Sheet, role: str, x: float, y: float, w: float, h: float, of: Rows) -> None:
    """The numbers of a matrix between two brackets."""
    high, tick = len(of) * h, 6
    for side, turn in ((x, tick), (x + w, -tick)):
        sheet.line([(side + turn, y), (side, y), (side, y + high), (side + turn, y + high)], role)
    for i, row in enumerate(of):
        for j, one in enumerate(row):
            sheet.text(x + (j + 0.5) * w / len(row), y + (i + 0.5) * h, number(one), role)


def draw(narrow: bool) -> Sheet:
    """Above, the words go through three matrices; below, scores without the matrices, and with
    them and what each word then gets."""
    if narrow:
        sheet, row, high = Sheet(NARROW, 548, 13), 36, 28
        word, state, made = 0, (50, 54), ((140, 60), (214, 60), (288, 46))
        top, line, wide = 28, 20, 44
        tables, cell = ((60, 296), (60, 446)), (62, 30)
    else:
        sheet, row, high = Sheet(WIDE, 432, 16), 42, 34
        word, state, made = 60, (140, 90), ((320, 96), (456, 96), (592, 72))
        top, line, wide = 32, 24, 56
        tables, cell = ((80, 318), (410, 318)), (58, 34)
    bottom = top + 2 * line
    first, named = bottom + 46, bottom + 32
    middle = state[0] + state[1] / 2
    sheet.text(middle, named, "word" if narrow else "word x", "state", style="d-bold", size=13)
    query, key, value = (product(X, weight) for weight in (W_Q, W_K, W_V))
    for role, weight, (x, w), letter in zip(
        ("query", "key", "value"), (W_Q, W_K, W_V), made, "qkv", strict=True
    ):
        at, width = x + w / 2, wide if len(weight[0]) > 1 else wide / 2
        sheet.arrow([(middle, named - 12), (middle, 10), (at, 10), (at, top - 4)])
        matrix(sheet, role, at - width / 2, top, width, line, weight)
        sheet.text(
            at - width / 2 - 6, (top + bottom) / 2, f"W{letter}", role, anchor="end", size=13
        )
        sheet.arrow([(at, bottom + 4), (at, named - 10)], role)
        made_by = role if narrow else f"{role} = x W{letter}"
        sheet.text(at, named, made_by, role, style="d-bold", size=13)
    for i, name in enumerate(WORDS):
        y = first + i * row
        sheet.text(word, y + high / 2, name, anchor="start")
        sheet.item("state", state[0], y, state[1], high, vector(X[i]))
        for role, rows, (x, w) in zip(
            ("query", "key", "value"), (query, key, value), made, strict=True
        ):
            sheet.item(role, x, y, w, high, vector(rows[i]))
    mutual, asked = scores(X, X), scores(query, key)
    says = ("word · word: the same both ways", "query · key: one-sided")
    for (x, y), found, text in zip(tables, (mutual, asked), says, strict=True):
        left = x - 52
        sheet.text(left, y - 36, text, anchor="start", style="d-bold")
        table(sheet, x, y, *cell, found)
    (x, y), (w, h) = tables[1], cell
    sheet.text(x + 3 * w + 38, y - 12, "gets", style="d-bold", size=sheet.size - 1)
    for i, (got,) in enumerate(output(query, key, value)):
        sheet.item("value", x + 3 * w + 12, y + i * h + 2, 52, h - 4, f"{got:.2f}")
    return sheet


DRAWING = Drawing(
    name="word-projections",
    title="Words look at each other: each makes a query, a key and a value from itself.",
    description=(
        "Three words of two features: black 0, 1; cat 1, 0; sleeps 0, 1. All three go through "
        "three matrices. Wq, with rows 0, 0 and 2, 0, makes their queries (2, 0; 0, 0; 2, 0); Wk, "
        "with rows 1, 0 and 0, 1, their keys (0, 1; 1, 0; 0, 1); Wv, with rows 5 and 1, their "
        "values (1; 5; 1). Below are two tables of scores, in which rows look at columns. With "
        "word times word, black and sleeps score 1 with themselves and each other, cat 1 with "
        "itself, and the table is the same when rows and columns change places. With query times "
        "key, black and sleeps score 2 with cat and 0 elsewhere, and cat scores 0 everywhere: "
        "sleeps looks at cat, and cat does not look back. So black and sleeps get 4.15 of the "
        "values, most of it from cat, and cat 2.33, their plain average."
    ),
    draw=draw,
    two_layouts=True,
)
