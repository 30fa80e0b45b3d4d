"""Chapter 09: one layer of the encoder, and what a word's stream says before and after each sum."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number

WORDS, READ = ("the", "old", "door"), 1
"""A sentence of the chapter's machine, and the place of the word that is read out."""
FORMS = ("vieux", "vieille")
SHARES = ((0.45, 0.23), (0.00, 0.70), (0.00, 0.91))
"""How likely the machine's model finds either form of *old*: before the layer, after each sum."""


class Plan(NamedTuple):
    """Where things stand: the streams across, how far a part stands aside, the labels, the
    readings; the units of a row downwards."""

    streams: tuple[float, ...]
    aside: float
    labels: float
    readings: float
    unit: float


def plan(narrow: bool) -> Plan:
    if narrow:
        return Plan((22, 88, 154), 30, 222, 217, 1.22)
    return Plan((30, 124, 218), 40, 306, 512, 1.0)


def draw(narrow: bool) -> Sheet:
    """From the words, above, to what the next layer gets, below."""
    at = plan(narrow)
    down = [at.unit * y for y in (36, 166, 302)]  # the start, and the two sums
    reads = [down[0], *(y + 17 for y in down[1:])]
    sheet = Sheet(NARROW if narrow else WIDE, 356 * at.unit, 13 if narrow else 14)
    read = at.streams[READ]
    told, size = ("read out here:", 12.5) if narrow else (f"“{WORDS[READ]}”, read out here:", 14)
    sheet.text(at.readings, 8, told, anchor="start", style="d-muted", size=size)
    for row, y in enumerate(reads):
        if not narrow:
            sheet.line([(read, y), (at.readings - 10, y)], style="d-thin d-dashed d-muted")
        _reading(sheet, at, row, y, narrow)
    attention, forward = ((56, 74, 100, 140), (200, 217, 240, 278))
    tops = [at.unit * y for y in attention]
    left, right = at.streams[0] + 12, at.streams[-1] + at.aside + 18
    sheet.rect(left, tops[2], right - left, tops[3] - tops[2], "d-weight d-veil", 6)
    for x, word in zip(at.streams, WORDS, strict=True):
        style = "d-bold d-italic" if word == WORDS[READ] else "d-italic"
        sheet.text(x, 8, word, style=style, size=15)
        sheet.arrow([(x, down[0] + 8), (x, 350 * at.unit)], "state", style="d-stream")
        if x == read:
            for y in reads[1:]:
                sheet.circle(x, y, 4, "d-state d-solid")
        sheet.rect(x - 22, down[0] - 9, 44, 18, "d-state d-box", 5)
        for part in range(1, 4):
            sheet.line([(x - 22 + 11 * part, down[0] - 9), (x - 22 + 11 * part, down[0] + 9)],
                       "state", style="d-thin")  # fmt: skip
    asides = [x + at.aside for x in at.streams]
    for x, aside in zip(at.streams, asides, strict=True):
        _norm(sheet, x, aside, *tops[:3])
        for other, begin in zip(at.streams, asides, strict=True):
            thick = (other, x) == (at.streams[-1], read)  # door tells old
            style = "d-wide" if thick else "d-thin"
            sheet.line([(begin, tops[2]), (aside, tops[3])], "weight", style=style)
        _sum(sheet, x, aside, tops[3], down[1])
    lows = [at.unit * y for y in forward]
    for x, aside in zip(at.streams, asides, strict=True):
        _norm(sheet, x, aside, *lows[:3])
        wide, slim = (20, 12) if narrow else (24, 14)
        top, middle, low = lows[2], (lows[2] + lows[3]) / 2, lows[3]
        for y, y2, w, w2 in ((top, middle, slim, wide), (middle, low, wide, slim)):
            corners = [(aside - w, y), (aside + w, y), (aside + w2, y2), (aside - w2, y2)]
            sheet.line([*corners, corners[0]], "state")
        sheet.line([(aside - wide, middle), (aside + wide, middle)], "state", style="d-thin")
        _sum(sheet, x, aside, low, down[2])
    _label(sheet, at, tops[1], "norm", narrow=narrow)
    _label(sheet, at, (tops[2] + tops[3]) / 2, "attention", "between words", narrow=narrow)
    _label(sheet, at, lows[1], "norm", narrow=narrow)
    _label(sheet, at, (lows[2] + lows[3]) / 2, "feed-forward", "each word alone", narrow=narrow)
    _label(sheet, at, 346 * at.unit, "", "to the next layer", narrow=narrow)
    return sheet


def _norm(sheet: Sheet, x: float, aside: float, begin: float, y: float, end: float) -> None:
    sheet.line([(x, begin), (aside, begin), (aside, end)], "state")
    sheet.rect(aside - 9, y - 6, 18, 12, "d-state d-solid", 6)


def _sum(sheet: Sheet, x: float, aside: float, low: float, y: float) -> None:
    sheet.line([(aside, low), (aside, y), (x + 9, y)], "state")
    sheet.plus(x, y)


def _label(
    sheet: Sheet, at: Plan, y: float, name: str, more: str = "", *, narrow: bool = False
) -> None:
    lines = [line for line in ((name, "d-bold"), (more, "")) if line[0]]
    for row, (words, style) in enumerate(lines):
        shift = 17 * (row - (len(lines) - 1) / 2)
        sheet.text(at.labels, y + shift, words, anchor="start", style=style,
                   size=12.5 if narrow else 14)  # fmt: skip


def _reading(sheet: Sheet, at: Plan, row: int, y: float, narrow: bool) -> None:
    best = max(SHARES[row])
    for line, (form, share) in enumerate(zip(FORMS, SHARES[row], strict=True)):
        bold, up = "d-bold" if share == best else "", y + 18 * (line - 0.5)
        said, size = number(share) if share else "0", 13 if narrow else 14
        sheet.text(at.readings, up, form, anchor="start", style=bold, size=size)
        start, length = (at.readings + 48, 36) if narrow else (at.readings + 58, 104)
        sheet.bar(start, up - 6, length, 12, share)
        sheet.text(start + length + 6, up, said, anchor="start", style=bold, size=size)


DRAWING = Drawing(
    name="one-layer",
    title="One layer of the encoder. On the thick line, “door” tells “old” that it is feminine.",
    description=(
        "Three words, the, old, door, each with a line that runs down through the layer. Twice a "
        "branch leaves each line, passes a norm and a part, and is added to the line again. The "
        "first part is attention, in which every word has a line to every word, that from door to "
        "old the widest. The second is a feed-forward network, one for each word alone. Beside the "
        "line of old stands what it "
        "would be in French if it were read out there: before the layer vieux 0.45, vieille 0.23; "
        "after the attention vieux 0, vieille 0.7; after the feed-forward network vieux 0, "
        "vieille 0.91."
    ),
    draw=draw,
    two_layouts=True,
)
