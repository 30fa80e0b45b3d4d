"""Chapter 04: why a dot product cannot ask for tomorrow, and when the two decoders look."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Point, Sheet

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
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


_STEPS = {
    "Bahdanau": (
        ("state", "old state"),
        ("query", "look, asking with it"),
        ("value", "context"),
        ("state", "new state, from", "last word and context"),
        (None, "word, from all three"),
    ),
    "Luong": (
        ("state", "old state"),
        ("state", "new state, from", "the last word"),
        ("query", "look, asking with it"),
        ("value", "context, joined", "with the new state"),
        (None, "word, from the two"),
    ),
}


def decoders(narrow: bool) -> Sheet:
    """Two columns read downwards."""
    sheet = Sheet(NARROW, 352, 13)
    w, h, pitch = 152, 42, 65
    for column, (name, steps) in enumerate(_STEPS.items()):
        x = column * (w + 14)
        sheet.text(x + w / 2, 10, name, style="d-bold", size=15)
        for place, (role, *lines) in enumerate(steps):
            y = 28 + pitch * place
            if role is None:
                sheet.rect(x, y, w, h, "d-frame", 4)
            else:
                sheet.shape(role, x, y, w, h)
            for row, words in enumerate(lines):
                middle = y + h / 2 + 16 * (row - (len(lines) - 1) / 2)
                sheet.text(x + w / 2, middle, words, role)
            if place:
                sheet.arrow([(x + w / 2, y - pitch + h + 3), (x + w / 2, y - 3)])
    right, context = NARROW - 22, 28 + 3 * pitch + h / 2
    up = 28 + pitch + h / 2
    sheet.line([(right, context), (NARROW - 6, context)], "value", style="d-dashed")
    sheet.line([(NARROW - 6, context), (NARROW - 6, up)], "value", style="d-dashed")
    sheet.arrow([(NARROW - 6, up), (right + 1, up)], "value", style="d-dashed")
    return sheet


DECODERS = Drawing(
    name="two-decoders",
    title="Bahdanau looks before the state moves on, Luong after.",
    description=(
        "Two columns of steps, read downwards. Bahdanau: the old state; a look, with the old "
        "state as the query; the context; the new state, from the last word and the context; the "
        "word. Luong: the old state; the new state, from the last word; a look, with the new "
        "state as the query; the context, joined with the new state; the word. A dashed arrow "
        "on Luong's side leads from there back up to the new state: input feeding hands it to "
        "the next step."
    ),
    draw=decoders,
)
