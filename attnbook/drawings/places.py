"""Chapter 07: positions as clock hands, and the map of the sinusoids."""

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
        sheet.text(x, 94, f"place {place}")
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
    title="Each place turns its hand further; the angle between two hands is the distance.",
    description=(
        "Three clocks for places 0, 1 and 2. The hand, the same at the start, is turned by 0, 1 "
        "and 2 radians. Below, the weights that follow: query 0 puts 0.53, 0.34 and 0.13 on keys "
        "0, 1 and 2, query 1 puts 0.28, 0.44 and 0.28, query 2 puts 0.13, 0.34 and 0.53. A word "
        "looks most at itself and less at what is further away."
    ),
    draw=clocks,
)

PAIRS = ((2, 1), (3, 2), (12, 11))
"""Places of a query and a key: as in the example, both moved by one place, both by ten."""


def shift(step: int) -> Sheet:
    """One clock with both hands; the angle between them is marked."""
    sheet = Sheet(NARROW, 262, 14)
    x, y, radius = NARROW / 2, 104, 70
    sheet.circle(x, y, radius, "d-frame")

    def at(angle: float, far: float) -> tuple[float, float]:
        return x + far * math.cos(angle), y - far * math.sin(angle)

    for place in PAIRS[0] if step else ():
        sheet.line([(x, y), at(place, radius)], style="d-muted d-dashed")
    query, key = PAIRS[step]
    sheet.line([at(key + (query - key) * k / 16, 30) for k in range(17)], "weight")
    middle = at((query + key) / 2, 48)
    sheet.text(*middle, "1 rad", "weight", size=12.5, style="d-halo")
    for role, place in (("query", query), ("key", key)):
        sheet.arrow([(x, y), at(place, radius)], role, style="d-hand")
        side = math.cos(place)
        anchor = "start" if side > 0.3 else "end" if side < -0.3 else "middle"
        sheet.text(*at(place, radius + 16), f"{role} at {place}", role, anchor=anchor)
    angle = math.cos(query - key)
    sheet.text(x, 226, f"score: cos({query} − {key}) = {angle:.2f}", style="d-bold")
    moved = query - PAIRS[0][0]
    says = f"both moved by {moved}" if moved else "as in the example"
    sheet.text(x, 248, says, style="d-muted", size=12.5)
    return sheet


SHIFT = Drawing(
    name="rotary-shift",
    title="Move both words: both hands turn, and the angle between them stays.",
    description=(
        "Three frames, each a clock with two hands. A query at place 2 and a key at place 1 are 1 "
        "radian apart, and their score is 0.54. Moved to places 3 and 2, then to 12 and 11, both "
        "hands point elsewhere, still 1 radian apart, and the score is 0.54 each time."
    ),
    draw=lambda narrow: [shift(step) for step in range(len(PAIRS))],
    says=(
        "A query at place 2, a key at place 1. Their hands are 1 radian apart.",
        "Move both words by one place: both hands turn, the angle between them does not.",
        "Move both by ten. The hands point elsewhere, and the score is still the same.",
    ),
)

LENGTH, FEATURES = 24, 12


def sinusoid(place: int, feature: int) -> float:
    """Vaswani et al. (2017), section 3.5: sines at even features, cosines at odd ones."""
    angle = place / 10000 ** ((feature - feature % 2) / FEATURES)
    return math.cos(angle) if feature % 2 else math.sin(angle)


def waves(narrow: bool) -> Sheet:
    """A column for each place, a row for each feature."""
    sheet = Sheet(NARROW, 236, 13)
    size, left, top = 12.2, 46, 30
    for place in range(LENGTH):
        for feature in range(FEATURES):
            level = (sinusoid(place, feature) + 1) / 2
            x, y = left + place * size, top + feature * size
            sheet.cell(x, y, size, size, level, kind="score")
    for place in (0, 8, 16, 23):
        x = left + place * size + size / 2
        sheet.text(x, top - 12, str(place), size=12)
    sheet.text(left - 8, top + size, "fast", anchor="end", size=12)
    sheet.text(left - 8, top + (FEATURES - 1) * size, "slow", anchor="end", size=12)
    bottom = top + FEATURES * size
    sheet.text(left, bottom + 18, "−1", anchor="start", size=12)
    for step in range(8):
        sheet.cell(left + 24 + step * 14, bottom + 12, 14, 12, step / 7, kind="score")
    sheet.text(left + 142, bottom + 18, "1", anchor="start", size=12)
    sheet.text(left - 8, top - 12, "place", anchor="end", size=12)
    sheet.text(
        0,
        bottom + 42,
        "a column is what is added to the word at that place",
        anchor="start",
        size=12,
        style="d-muted",
    )
    return sheet


WAVES = Drawing(
    name="sinusoid-map",
    title="Sinusoidal positions: features that turn fast tell neighbours apart, slow ones regions.",
    description=(
        "A map of 24 places by 12 features, coloured from minus one to one. The first rows "
        "alternate quickly from place to place, each further pair of rows more slowly, and the "
        "last ones hardly change over the 24 places. No two columns are alike."
    ),
    draw=waves,
)
