"""Chapter 07b: positions as clock hands."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

PLACES = 3


def weights() -> list[list[float]]:
    """Of the chapter's example: three equal words, their scores the cosine of the distance."""
    shares = [[math.exp(math.cos(i - j)) for j in range(PLACES)] for i in range(PLACES)]
    return [[share / sum(row) for share in row] for row in shares]


def clocks(narrow: bool) -> Sheet:
    """Three hands, turned by their place, and the weights that follow from the angles."""
    sheet = Sheet(NARROW, 330, 13.5)
    left, slot, radius = 66, 92, 34
    for place in range(PLACES):
        x = left + place * slot + slot / 2
        sheet.circle(x, 42, radius, "d-frame")
        sheet.line([(x, 42), (x + radius - 6, 42)], style="d-muted d-dashed")
        tip = (x + radius * math.cos(place), 42 - radius * math.sin(place))
        sheet.arrow([(x, 42), tip], "query", style="d-hand")
        sheet.text(x, 94, f"position {place}")
        turn = f"{place} rad = {round(math.degrees(place))}°" if place else "not turned"
        sheet.text(x, 113, turn, style="d-muted", size=12)
    size = 52
    top = 158
    x0 = left + (PLACES * slot - PLACES * size * 1.4) / 2
    sheet.text(x0 + PLACES * size * 0.7, top - 15, "weight on key 0, 1, 2", "weight", size=12.5)
    for i, row in enumerate(weights()):
        y = top + i * size
        sheet.text(x0 - 12, y + size / 2, f"query {i}", "query", anchor="end")
        for j, weight in enumerate(row):
            sheet.cell(x0 + j * size * 1.4, y, size * 1.4, size, weight, f"{weight:.2f}")
    return sheet


CLOCKS = Drawing(
    name="clock-hands",
    title="Each position turns its hand further; the angle between two hands is the distance, in "
    "radians.",
    description=(
        "Three clocks for positions 0, 1 and 2. The hand, the same at the start, is turned by 0, 1 "
        "and 2 radians. Below, the weights that follow: query 0 puts 0.53, 0.34 and 0.13 on keys "
        "0, 1 and 2, query 1 puts 0.28, 0.44 and 0.28, query 2 puts 0.13, 0.34 and 0.53. A word "
        "looks most at itself and less at what is further away."
    ),
    draw=clocks,
)
