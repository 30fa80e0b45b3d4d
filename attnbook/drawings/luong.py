"""Chapter 04: why a dot product cannot ask for tomorrow."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Point, Sheet
from attnbook.machines.canteen import DAYS

SIGNS = ("< ?",)
"""At Monday, where the largest product would have to be smaller than the smallest."""


def week(narrow: bool) -> Sheet:
    """The days in a ring; on each edge the product of two neighbours, which must keep growing."""
    sheet = Sheet(NARROW, 372, 13.5)
    x, y, radius = NARROW / 2, 172.0, 140.0
    points = []
    for place in range(len(DAYS)):
        angle = math.pi / 2 - 2 * math.pi * place / len(DAYS)
        points.append((x + radius * math.cos(angle), y - radius * math.sin(angle)))
    for place, here in enumerate(points):
        there = points[(place + 1) % len(points)]
        sheet.patch(_edge(here, there, 2.0 + 2.2 * place), "key")
    for name, (a, b) in zip(DAYS, points, strict=True):
        sheet.item("key", a - 28, b - 15, 56, 30, name)
    sheet.text(x, y - radius * 0.72, SIGNS[0], "query", style="d-bold")
    for place, (a, b) in enumerate(points):
        c, d = points[(place + 1) % len(points)]
        middle = (x + ((a + c) / 2 - x) * 0.71, y + ((b + d) / 2 - y) * 0.74)
        both = f"{DAYS[place]}·{DAYS[(place + 1) % len(DAYS)]}"
        sheet.text(*middle, both, "key", size=12)
    sheet.text(x, y - 18, "each larger than", size=13)
    sheet.text(x, y, "the one before,", size=13)
    sheet.text(x, y + 18, "round the week", size=13)
    sheet.text(x, 340, "Tue looks at Wed: Mon·Tue < Tue·Wed.", size=13)
    sheet.text(x, 360, "After seven days: Mon·Tue < Mon·Tue ?", "query")
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
