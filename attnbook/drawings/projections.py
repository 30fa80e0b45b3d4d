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


def draw(narrow: bool) -> Sheet:
    """Above, what becomes of each word; below, scores without the matrices, and with them and
    what each word then gets."""
    if narrow:
        sheet, row, high = Sheet(NARROW, 470, 13), 42, 30
        word, state, made = 0, (50, 54), ((146, 60), (216, 60), (288, 46))
        tables, cell = ((60, 218), (60, 368)), (62, 30)
    else:
        sheet, row, high = Sheet(WIDE, 376, 16), 48, 36
        word, state, made = 60, (140, 90), ((320, 96), (446, 96), (572, 72))
        tables, cell = ((80, 262), (410, 262)), (58, 34)
    heads = zip(("query", "key", "value"), made, strict=True)
    sheet.text(
        state[0] + state[1] / 2,
        12,
        "word" if narrow else "word x",
        "state",
        style="d-bold",
        size=13,
    )
    for (role, (x, w)), matrix in zip(heads, "QKV", strict=True):
        made_by = role if narrow else f"{role} = x W{matrix.lower()}"
        sheet.text(x + w / 2, 12, made_by, role, style="d-bold", size=13)
    for i, name in enumerate(WORDS):
        y = 32 + i * row
        sheet.text(word, y + high / 2, name, anchor="start")
        sheet.item("state", state[0], y, state[1], high, vector(X[i]))
        sheet.arrow([(state[0] + state[1] + 6, y + high / 2), (made[0][0] - 8, y + high / 2)])
        for role, weight, (x, w) in zip(
            ("query", "key", "value"), (W_Q, W_K, W_V), made, strict=True
        ):
            sheet.item(role, x, y, w, high, vector(product([X[i]], weight)[0]))
    query, key, value = (product(X, matrix) for matrix in (W_Q, W_K, W_V))
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
        "Three words of two features: black 0, 1; cat 1, 0; sleeps 0, 1. Three matrices make of "
        "each a query (2, 0; 0, 0; 2, 0), a key (0, 1; 1, 0; 0, 1) and a value (1; 5; 1). Below "
        "are two tables of scores, in which rows look at columns. With word times word, black "
        "and sleeps score 1 with themselves and each other, cat 1 with itself, and the table is "
        "the same when rows and columns change places. With query times key, black and sleeps "
        "score 2 with cat and 0 elsewhere, and cat scores 0 everywhere: sleeps looks at cat, and "
        "cat does not look back. So black and sleeps get 4.15 of the values, most of it from cat, "
        "and cat 2.33, their plain average."
    ),
    draw=draw,
    two_layouts=True,
)
