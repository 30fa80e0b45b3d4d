"""Chapter 07b: positions as clock hands."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

QUERY, KEYS, SHIFT = 2, (0, 1, 2), 100
"""Positions in the upper row of clocks; in the lower row all are later by SHIFT."""


def scores() -> list[float]:
    """Of the query and each key, all of them the same hand before it is turned."""
    return [math.cos(QUERY - key) for key in KEYS]


def weights() -> list[float]:
    """What the softmax makes of these scores."""
    shares = [math.exp(score) for score in scores()]
    return [share / sum(shares) for share in shares]


def clock(sheet: Sheet, x: float, y: float, query: int, key: int) -> None:
    """A query's hand, with a round tip, a key's, with a square one, and the angle between them."""
    radius = 36
    sheet.circle(x, y, radius, "d-frame")
    bow = [key + (query - key) * n / 24 for n in range(25)]
    if query != key:
        sheet.line([(x + 12 * math.cos(a), y - 12 * math.sin(a)) for a in bow], style="d-thin")
    for place, role, far in ((query, "query", radius - 4), (key, "key", radius - 17)):
        tip = (x + far * math.cos(place), y - far * math.sin(place))
        sheet.line([(x, y), tip], role, style="d-hand")
        if role == "query":
            sheet.circle(*tip, 5, f"d-{role} d-solid")
        else:
            sheet.rect(tip[0] - 4, tip[1] - 4, 8, 8, f"d-{role} d-solid")


def clocks(narrow: bool) -> Sheet:
    """The same three distances at two places of a text, and the scores and weights they give."""
    sheet = Sheet(NARROW, 366, 13.5)
    left, slot, margin = 88, 83, 80
    middles = [left + slot * (n + 0.5) for n in range(len(KEYS))]
    for top, shift in ((0, 0), (136, SHIFT)):
        y = top + 64
        sheet.text(margin, y - 9, "query at", "query", anchor="end")
        sheet.text(margin, y + 9, str(QUERY + shift), "query", anchor="end")
        for x, key in zip(middles, KEYS, strict=True):
            sheet.text(x, top + 14, f"key at {key + shift}", "key")
            clock(sheet, x, y, QUERY + shift, key + shift)
        if not shift:
            sheet.text(NARROW / 2, 120, f"{SHIFT} later: other hands, same angles", style="d-bold")
    rows = (
        ("angle", [f"{QUERY - key} rad" for key in KEYS], 258),
        ("score", [number(score) for score in scores()], 288),
    )
    for name, cells, y in rows:
        sheet.text(margin, y, name, anchor="end")
        for x, words in zip(middles, cells, strict=True):
            sheet.text(x, y, words)
    sheet.text(margin, 305, "= cosine", anchor="end", style="d-muted", size=12)
    sheet.text(margin, 342, "weight", "weight", anchor="end")
    for x, weight in zip(middles, weights(), strict=True):
        sheet.cell(x - slot / 2, 324, slot, 36, weight, f"{weight:.2f}")
    return sheet


CLOCKS = Drawing(
    name="clock-hands",
    title="Round tip: the query's hand; square tip: the key's. Only the angle between them counts, "
    "and so only their distance.",
    description=(
        "Six clocks, each with a hand for a query and one for a key. Every position turns a hand "
        "by one radian. Above, the query is at 2 and the keys at 0, 1 and 2, so the angles "
        "between the hands are 2, 1 and 0 radians. Below, all of them come 100 positions later: "
        "the hands point elsewhere, and the angles are the same. The scores are the cosines of the "
        "angles, \u22120.42, 0.54 and 1, and the weights are 0.13, 0.34 and 0.53."
    ),
    draw=clocks,
)
