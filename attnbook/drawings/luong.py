"""Chapter 04: Monday asks for tomorrow, and why seven days cannot."""

import math
from collections.abc import Sequence

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Point, Sheet, number, vector
from attnbook.machines.canteen import DAYS, RING, Canteen

MARKS = ("itself", "wanted")
"""Beside the weights of Monday and Tuesday."""

SIGNS = ("< ?",)
"""At Monday, where the largest product would have to be smaller than the smallest."""


def asks(narrow: bool) -> Sheet:
    """Monday asks: its vector times each day's, the seven scores, and their softmax."""
    sheet = Sheet(NARROW, 254, 13.5)
    shown = [[round(x, 2) for x in day] for day in RING]  # what is printed is what is multiplied
    found = Canteen(days=shown).compute()
    keys, scores, weights = found["keys"], found["scores"][0], found["weights"][0]
    sheet.text(0, 16, "Mon asks. Its query:", anchor="start", style="d-bold")
    sheet.item("query", 170, 3, 80, 26, vector(keys[0]))
    for x, words, anchor in (
        (0, "the seven keys", "start"),
        (178, "score", "end"),
        (192, "weight", "start"),
    ):
        sheet.text(x, 48, words, anchor=anchor, style="d-muted", size=12.5)
    for place, (name, key) in enumerate(zip(DAYS, keys, strict=True)):
        y = 71 + 24.0 * place
        sheet.text(0, y, name, "key", anchor="start", style="d-bold")
        sheet.item("key", 37, y - 10, 98, 20, vector(key), size=11.5)
        sheet.text(178, y, f"{scores[place]:.2f}".replace("-", "−"), anchor="end", size=13)
        sheet.bar(192, y - 8, 54, 16, weights[place])
        best = weights[place] == max(weights)
        style = "d-bold" if best else ""
        sheet.text(252, y, f"{weights[place]:.2f}", "weight", anchor="start", style=style, size=13)
        if place < len(MARKS):
            sheet.text(NARROW, y, MARKS[place], "query", anchor="end", style=style, size=12.5)
    a, b = keys[0], keys[1]
    sheet.text(0, 242, f"Mon · Tue = {_sum(a, b)} = {scores[1]:.2f}", anchor="start", size=13)
    return sheet


ASKS = Drawing(
    name="monday-asks",
    title="Monday asks for tomorrow’s dish, and the largest weight falls on Monday itself.",
    description=(
        "The vector of Monday, (0, 1.27), is the query. Seven rows, one for each day: its vector "
        "as a key, the dot product of the query with it as the score, and the softmax of the "
        "seven scores as a bar. Monday itself scores 1.61 and gets 0.41 of the weight; Tuesday, "
        "the day that is wanted, scores 1.00 and gets 0.22, as does Sunday."
    ),
    draw=asks,
)


def week(narrow: bool) -> Sheet:
    """The days in a ring; on each edge the product of two neighbours, which must keep growing."""
    sheet = Sheet(NARROW, 268, 13.5)
    x, y, radius = NARROW / 2, 138.0, 118.0
    points = []
    for place in range(len(DAYS)):
        angle = math.pi / 2 - 2 * math.pi * place / len(DAYS)
        points.append((x + radius * 1.12 * math.cos(angle), y - radius * math.sin(angle)))
    for place, here in enumerate(points):
        there = points[(place + 1) % len(points)]
        sheet.patch(_edge(here, there, 2.0 + 2.2 * place), "key")
    for name, (a, b) in zip(DAYS, points, strict=True):
        sheet.item("key", a - 26, b - 14, 52, 28, name)
    sheet.text(x, y - radius * 0.72, SIGNS[0], "query", style="d-bold")
    for place, (a, b) in enumerate(points):
        c, d = points[(place + 1) % len(points)]
        middle = (x + ((a + c) / 2 - x) * 0.71, y + ((b + d) / 2 - y) * 0.74)
        both = f"{DAYS[place]}·{DAYS[(place + 1) % len(DAYS)]}"
        sheet.text(*middle, both, "key", size=12)
    sheet.text(x, y - 6, "each larger than", size=12.5)
    sheet.text(x, y + 11, "the one before", size=12.5)
    return sheet


WEEK = Drawing(
    name="week-ring",
    title="To look at tomorrow, each day’s product must exceed the last, all round the week.",
    description=(
        "The seven days in a ring, each joined to the next by a line that stands for the dot "
        "product of the two. Each line is thicker than the one before: a day's product with the "
        "day before must be smaller than the one with the day after. At Monday the thickest line "
        "meets the thinnest, which would have to be thicker still: round the whole week, the "
        "product of Monday and Tuesday would have to be smaller than itself."
    ),
    draw=week,
)


def _edge(here: Point, there: Point, wide: float) -> list[Point]:
    """The corners of a line from one day to the next, `wide` units across."""
    (a, b), (c, d) = here, there
    length = math.hypot(c - a, d - b)
    u, v = (d - b) / length * wide / 2, (a - c) / length * wide / 2
    return [(a + u, b + v), (c + u, d + v), (c - u, d - v), (a - u, b - v)]


def _sum(a: Sequence[float], b: Sequence[float]) -> str:
    """A dot product, written out."""
    return " + ".join(f"{number(x)} · {number(y)}" for x, y in zip(a, b, strict=True))
