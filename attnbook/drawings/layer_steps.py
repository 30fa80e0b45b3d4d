"""Chapter 09: one pre-norm layer on two words of two features, step by step."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number, vector

WORDS = ((1.0, 3.0), (3.0, 1.0))
OWN = 0.75
"""The chapter's example: each word gives itself three quarters of its attention."""

Row = tuple[float, ...]


class Steps(NamedTuple):
    """What one word holds at each point of the layer."""

    normed: Row
    attended: Row
    summed: Row
    normed_again: Row
    fed: Row
    out: Row


def norm(x: Row) -> Row:
    """Mean 0 and variance 1 over the features of one word."""
    mean = sum(x) / len(x)
    size = (sum((value - mean) ** 2 for value in x) / len(x)) ** 0.5
    return tuple((value - mean) / size for value in x)


def plus(x: Row, new: Row) -> Row:
    """The residual connection."""
    return tuple(a + b for a, b in zip(x, new, strict=True))


def steps() -> tuple[Steps, ...]:
    """The layer, a word at a time."""
    normed = [norm(x) for x in WORDS]
    found = []
    for place, x in enumerate(WORDS):
        mixed = zip(normed[place], normed[1 - place], strict=True)
        attended = tuple(OWN * own + (1 - OWN) * other for own, other in mixed)
        summed = plus(x, attended)
        again = norm(summed)
        fed = tuple(2 * max(0.0, value) for value in again)
        found.append(Steps(normed[place], attended, summed, again, fed, plus(summed, fed)))
    return tuple(found)


# From the word up: what stands beside the stream, how far up, and the step that it comes with.
FOOT, HIGH = 476, 32
BESIDE = (
    ("norm", "normed", 48, 1),
    ("attention", "attended", 124, 2),
    ("norm", "normed_again", 262, 4),
    ("feed-forward", "fed", 320, 5),
)
ADDED = (("summed", 124, 174, 3), ("out", 320, 370, 6))
WIDE, STREAMS = 88, (34.0, 206.0)


def frame(step: int) -> Sheet:
    """Everything up to this step; what is still to come is left open."""
    sheet = Sheet(NARROW, 514, 13.5)
    low = FOOT - HIGH / 2
    for word, (x, here) in enumerate(zip(STREAMS, steps(), strict=True)):
        sheet.text(x, FOOT + 24, f"word {word + 1}", style="d-muted", size=12.5)
        sheet.arrow([(x, FOOT - HIGH), (x, 30)], "state", style="d-stream")
        _box(sheet, "state", x, low, WIDE - 12, WORDS[word], step == 0)
        box = x + 44 + WIDE / 2
        for name, field, up, now in BESIDE:
            level = low - up
            above = -24 if name in ("attention", "feed-forward") else 24
            if step < now:
                _path(sheet, x, box, level, name)
                sheet.rect(box - WIDE / 2, level - HIGH / 2, WIDE, HIGH, "d-ghost", 6)
                sheet.text(box, level, name, style="d-off", size=12.5)
                continue
            if name == "norm":
                sheet.arrow([(x, level + 32), (box, level + 32), (box, level + 16)], "state")
            else:
                below = 60 if name == "attention" else 42
                sheet.arrow([(box, level + below), (box, level + 16)], "state")
            side, end = (6, "start") if name == "norm" else (-6, "end")
            sheet.text(box + side, level + above, name, anchor=end, style="d-muted", size=12)
            role = "value" if name == "attention" else "state"
            _box(sheet, role, box, level, WIDE, getattr(here, field), step == now)
        for field, start, up, now in ADDED:
            if step < now:
                points = [(box, low - start - 16), (box, low - up), (x + 9, low - up)]
                sheet.line(points, style="d-muted d-thin")
                continue
            level = low - up
            sheet.line([(box, low - start - 16), (box, level), (x + 9, level)], "state")
            sheet.plus(x, level)
            _box(sheet, "state", x, level - 30, WIDE - 12, getattr(here, field), step == now)
    if step >= 2:
        _links(sheet, step)
    return sheet


def _path(sheet: Sheet, x: float, box: float, level: float, name: str) -> None:
    """The way into a part that is still to come."""
    if name == "norm":
        points = [(x, level + 32), (box, level + 32), (box, level + 16)]
    else:
        below = 60 if name == "attention" else 42
        points = [(box, level + below), (box, level + 16)]
    sheet.line(points, style="d-muted d-thin")


def _box(sheet: Sheet, role: str, x: float, y: float, w: float, row: Row, new: bool) -> None:
    sheet.rect(x - w / 2, y - HIGH / 2, w, HIGH, "d-state d-paper", 6)
    style = "d-new" if new else "d-box"
    sheet.item(role, x - w / 2, y - HIGH / 2, w, HIGH, vector(row, 1), style=style, size=13)


def _links(sheet: Sheet, step: int) -> None:
    """The only lines from one word to the other: what attention carries across."""
    low = FOOT - HIGH / 2 - 48 - HIGH / 2
    high = low - 44
    left, right = (x + 44 + WIDE / 2 for x in STREAMS)
    sheet.line([(left + 20, low), (right - 20, high)], "weight", style="d-thin")
    sheet.line([(right - 20, low), (left + 20, high)], "weight", style="d-thin")
    if step == 2:
        for x in (left - 20, right + 20):
            sheet.text(x, low - 20, number(OWN), "weight", size=12.5, style="d-halo")
        for x in (left + 52, right - 52):
            sheet.text(x, high + 13, number(1 - OWN), "weight", size=12.5, style="d-halo")


DRAWING = Drawing(
    name="layer-steps",
    title="One layer: a word reads itself through a norm, and adds what it finds, twice.",
    description=(
        "Seven frames. Two words, 1, 3 and 3, 1, each with a stream from below. A norm makes them "
        "−1, 1 and 1, −1. Attention, one quarter to the other, makes −0.5, 0.5 and 0.5, −0.5. "
        "The sums are 0.5, 3.5 and 3.5, 0.5. A second norm makes −1, 1 and 1, −1 again, the "
        "feed-forward network 0, 2 and 2, 0. The layer gives 0.5, 5.5 and 5.5, 0.5."
    ),
    draw=lambda narrow: [frame(step) for step in range(7)],
    says=(
        "Two words of two features enter the layer, each on its own stream.",
        "A norm copies the stream and brings the copy to mean 0 and variance 1.",
        "Attention: each word takes three quarters from itself and one quarter from the other.",
        "What attention found is added. The stream keeps what it had.",
        "A second norm, for what comes next: again mean 0 and variance 1.",
        "The feed-forward network works on each word alone: here, twice what is positive.",
        "That is added too, and the layer is done. The next layer begins where this one ends.",
    ),
)
