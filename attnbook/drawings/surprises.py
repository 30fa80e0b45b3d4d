"""The cover: three results as pairs of bars."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet


class Surprise(NamedTuple):
    """Two quantities of a chapter to compare; `ids` are those of their claims."""

    title: str
    names: tuple[str, str]
    numbers: tuple[float, float]
    unit: str
    ids: tuple[str, str]
    chapter: str


SURPRISES = (
    Surprise(
        "Hide a place: still right",
        ("the place with most weight hidden", "the right place hidden"),
        (100, 44),
        "%",
        ("03b-hide-largest", "03b-hide-right"),
        "chapter 03b",
    ),
    Surprise(
        "Eight letters through one vector",
        ("first letter right", "last letter right"),
        (64, 14),
        "%",
        ("01-place-copy-first", "01-place-copy-last"),
        "chapter 01",
    ),
    Surprise(
        "Writing with a cache",
        ("times less arithmetic", "times less time"),
        (598, 25.6),
        "",
        ("13-counted-ratio", "13-measured-ratio"),
        "chapter 13",
    ),
)
HIGH, GAP = 118, 24


def draw(narrow: bool) -> Sheet:
    """The three beside each other, or below each other on a telephone."""
    width = NARROW if narrow else (WIDE - 2 * GAP) / 3
    sheet = Sheet(
        NARROW if narrow else WIDE, 3 * HIGH + 2 * GAP if narrow else HIGH, 13.5 if narrow else 13
    )
    for place, surprise in enumerate(SURPRISES):
        x = 0 if narrow else place * (width + GAP)
        _bars(sheet, surprise, x, place * (HIGH + GAP) if narrow else 0, width)
    return sheet


def _bars(sheet: Sheet, surprise: Surprise, x: float, y: float, width: float) -> None:
    sheet.text(x, y + 10, surprise.title, anchor="start", style="d-bold")
    room = width - 52
    whole = 100 if surprise.unit else max(surprise.numbers)
    for row, (name, value) in enumerate(zip(surprise.names, surprise.numbers, strict=True)):
        top = y + 26 + 46 * row
        sheet.text(x, top + 9, name, anchor="start", style="d-muted")
        sheet.bar(x, top + 22, room, 16, value / whole)
        shown = f"{value:g}{surprise.unit}"
        sheet.text(x + width, top + 30, shown, "weight", anchor="end", style="d-bold")


DRAWING = Drawing(
    name="three-surprises",
    title="Three results of this book, each as a pair of bars.",
    description=(
        "With the place of most weight hidden, {:g}% of the answers stay right; with the right "
        "place hidden, {:g}%. Of eight letters through one vector, the first is still there in "
        "{:g}% of the answers, the last in {:g}%. Writing with a cache takes {:g} times less "
        "arithmetic and {:g} times less time."
    ).format(*(value for surprise in SURPRISES for value in surprise.numbers)),
    draw=draw,
    two_layouts=True,
)
