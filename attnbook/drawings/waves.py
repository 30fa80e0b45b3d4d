"""Chapter 07: why positions are sines and cosines: a step is the same turn of a hand everywhere."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.entrances import FEATURES
from attnbook.drawings.sheet import NARROW, Sheet

STEP, STARTS, PAIRS = 2, (0, 10, 500), (0, 1)
LABEL, RADIUS, ROW = 106.0, 22.0, 52.0


def angle(place: int, pair: int) -> float:
    """How far the hand of a pair of features has turned at a position."""
    return place / 10000 ** (2 * pair / FEATURES)


def _at(x: float, y: float, turned: float, length: float) -> tuple[float, float]:
    return x + length * math.cos(turned), y - length * math.sin(turned)


def _clock(sheet: Sheet, x: float, y: float, first: float, last: float) -> None:
    """Two hands of one clock, and the turn from the first to the last."""
    arc = [_at(x, y, first + (last - first) * part / 12, RADIUS) for part in range(13)]
    corners = "L".join(f"{a:.1f} {b:.1f}" for a, b in [(x, y), *arc])
    sheet.parts.append(f'<path d="M{corners}Z" class="d-weight d-band"/>')
    sheet.circle(x, y, RADIUS, "d-frame")
    sheet.line([(x, y), _at(x, y, first, RADIUS - 2)], style="d-muted d-hand")
    sheet.arrow([(x, y), _at(x, y, last, RADIUS - 2)], "state", style="d-hand")


def draw(narrow: bool) -> Sheet:
    """Three steps of two places, at the beginning of a text and far on: a fast hand, a slower."""
    sheet = Sheet(NARROW, 124, 13.5)
    pitch = (NARROW - LABEL) / len(STARTS)
    sheet.text(0, 10, "two places on", anchor="start", style="d-bold", size=12.5)
    for row, pair in enumerate(PAIRS):
        y = 46 + row * ROW
        name, pace = f"features {2 * pair}, {2 * pair + 1}", f"{angle(1, pair):.2g} radian a place"
        sheet.text(0, y - 8, name, anchor="start", style="d-bold", size=12.5)
        sheet.text(0, y + 8, pace, anchor="start", style="d-muted", size=11.5)
        for column, start in enumerate(STARTS):
            x = LABEL + (column + 0.5) * pitch
            if not row:
                sheet.text(x, 10, f"{start} \u2192 {start + STEP}", size=12.5)
            _clock(sheet, x, y, angle(start, pair), angle(start + STEP, pair))
    return sheet


DRAWING = Drawing(
    name="same-turn",
    title="Two places on, each hand has made the same turn, wherever it began.",
    description=(
        "Two rows of three clocks, each with a pale hand at one position and a dark one two "
        "positions on: from 0 to 2, from 10 to 12 and from 500 to 502. In the upper row, features "
        "0 and 1, the hand turns by 1 radian a place, so by 2 radians in all three clocks. In the "
        "lower row, features 2 and 3, it turns by 0.32 radian a place: a smaller turn, but again "
        "the same in all three."
    ),
    draw=draw,
)
