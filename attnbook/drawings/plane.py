"""Chapter 02: the query and the keys as arrows."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.lookup import PHONE_BOOK
from attnbook.drawings.sheet import NARROW, Sheet


def draw(narrow: bool) -> Sheet:
    """Keys of length 1 on a circle; the query points between two of them."""
    sheet = Sheet(NARROW, 216, 13.5)
    x, y, unit = 150.0, 168.0, 96.0
    arc = [
        (x + unit * math.cos(step * math.pi / 40), y - unit * math.sin(step * math.pi / 40))
        for step in range(41)
    ]
    sheet.line(arc, style="d-muted d-dashed")
    names = zip(PHONE_BOOK.names, PHONE_BOOK.keys, PHONE_BOOK.weights, strict=True)
    for name, (a, b), weight in names:
        tip = (x + unit * a, y - unit * b)
        sheet.arrow([(x, y), tip], "key", style="d-hand")
        at = (tip[0], tip[1] + 18) if b == 0 else (tip[0], tip[1] - 30)
        sheet.text(at[0], at[1], name, "key", style="d-bold")
        sheet.text(at[0], at[1] + 17, f"{weight:.2f}", "weight")
    a, b = PHONE_BOOK.query
    tip = (x + unit * a, y - unit * b)
    sheet.arrow([(x, y), tip], "query", style="d-hand")
    sheet.text(tip[0] + 6, tip[1] - 14, "query", "query", style="d-bold")
    return sheet


DRAWING = Drawing(
    name="query-plane",
    title="The query points between Ada and Ben, nearer to Ada, and away from Cleo.",
    description=(
        "Four arrows from one point. The keys of Ada, Ben and Cleo, each of length 1, point to "
        "the right, up and to the left. The query, 1.39, 0.69, points to the right and half as "
        "far up. Weights: Ada 0.64, Ben 0.32, Cleo 0.04."
    ),
    draw=draw,
)
