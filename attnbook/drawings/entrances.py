"""Chapter 07: the three places where positions can come in, on one sentence."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

WORDS = ["hang", "them", "not", "let", "them", "go"]
PITCH, TILE = NARROW / 6, 48.0
FEATURES, SLOPE = 16, 0.5


def wave(place: int) -> list[float]:
    """Features 0 and 1 of the sinusoidal vector of a position, as in the chapter's model."""
    return [math.sin(place), math.cos(place)]


def taken(place: int) -> float:
    """What ALiBi adds to the score of a position for the query *not*."""
    return -SLOPE * abs(place - WORDS.index("not"))


def _heading(sheet: Sheet, y: float, what: str, kinds: str) -> None:
    sheet.text(4, y, what, anchor="start", style="d-bold", size=12.5)
    sheet.text(NARROW - 4, y, kinds, anchor="end", style="d-muted", size=12.5)


def draw(narrow: bool) -> Sheet:
    """A sentence, and below each word what its position brings: a vector, a turn, a number."""
    sheet = Sheet(NARROW, 262, 13.5)
    _heading(sheet, 66, "add to the embedding", "sinusoidal, learned")
    _heading(sheet, 142, "turn the query and the key", "rotary")
    _heading(sheet, 216, "subtract half the distance to not", "ALiBi")
    said = f"features 0 and 1 of {FEATURES}: its sine and its cosine"
    sheet.text(4, 118, said, anchor="start", style="d-muted", size=11.5)
    for place, word in enumerate(WORDS):
        x = place * PITCH + PITCH / 2
        left = x - TILE / 2
        sheet.item("query" if word == "not" else "state", left, 2, TILE, 26, word, size=13)
        sheet.text(x, 40, str(place) if place else "position 0", style="d-muted", size=11.5)
        for row, value in enumerate(wave(place)):
            at = left, 78 + 15 * row, TILE, 15, (1 + value) / 2
            sheet.cell(*at, f"{value:.2f}".replace("-", "\u2212"), kind="score", size=11.5)
        sheet.circle(x, 174, 19, "d-frame")
        tip = (x + 16 * math.cos(place), 174 - 16 * math.sin(place))
        sheet.arrow([(x, 174), tip], "query", style="d-hand")
        sheet.rect(left, 230, TILE, 24, "d-frame", 2)
        sheet.text(x, 242, number(taken(place), 1), size=13)
    return sheet


DRAWING = Drawing(
    name="position-entrances",
    title="What a word's position can bring along: a vector, a turn, or a number for the distance.",
    description=(
        "The sentence hang them not let them go, its words at positions 0 to 5, and below each "
        "word three things. A vector to add to its embedding, of which features 0 and 1 are shown, "
        "the sine and the cosine of the position: 0.00 and 1.00, then 0.84 and 0.54, and so on. A "
        "hand, turned by one more radian at each position, for its query and key. A number for its "
        "distance from not, to be added to the score: −1, −0.5, 0, −0.5, −1, −1.5."
    ),
    draw=draw,
)
