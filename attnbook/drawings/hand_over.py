"""Chapter 10: three translators at the step that writes one word, and what each then reads."""

import itertools

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

SOURCE = ("where", "is", "my", "black", "cat", "?")
WRITTEN = {
    "One vector": ("où", "est", "mon", "père"),
    "Bahdanau": ("où", "est", "mon", "chat"),
    "Transformer": ("où", "est", "mon", "chat"),
}
"""What the shipped translators write up to the noun: a father, and twice a cat."""
ENGLISH = {"père": "father", "chat": "cat"}
WEIGHTS = {
    "Bahdanau": (0.00, 0.00, 0.02, 0.41, 0.56, 0.01),
    "Transformer": (0.00, 0.01, 0.00, 0.04, 0.93, 0.01),
}
"""What they look at as they write the noun; of the Transformer the mean of all its looks."""
SAYS = {
    "One vector": ("reads the English once,", "then writes from memory"),
    "Bahdanau": ("looks at the English again", "before each French word"),
    "Transformer": ("looks twelve times before each", "word, four in each of 3 layers"),
}

PANEL, HIGH = 224, 332
READ, WRITE = (20, 56, 90, 129, 167, 203), (17, 54, 95, 166)
"""Where the words stand in a panel, the English and the French."""
BOX, TALL = 30, 24
DECODER, MEAN, LABELS, ENCODER = 118, 176, 240, 254


def _panel(sheet: Sheet, x: float, y: float, name: str) -> None:
    """One translator: English below, French above, and between them what is handed over."""
    sheet.text(x + 2, y + 10, name, anchor="start", style="d-bold", size=15)
    for row, line in enumerate(SAYS[name]):
        sheet.text(x + 2, y + 30 + 16 * row, line, anchor="start", style="d-muted", size=12.5)
    *so_far, word = WRITTEN[name]
    for place, said in zip(WRITE, so_far, strict=False):
        sheet.text(x + place, y + 94, said, size=13)
    last = x + WRITE[-1]
    sheet.item("query", last - 36, y + 81, 72, 26, word, size=13)
    sheet.text(last, y + 70, ENGLISH[word], style="d-muted", size=12.5)
    for place, source in zip(READ, SOURCE, strict=True):
        sheet.text(x + place, y + HIGH - 10, source, size=13)
    layered = name == "Transformer"
    _states(sheet, x, y + DECODER, WRITE, layered, masked=True)
    _states(sheet, x, y + ENCODER, READ, layered)
    top = y + DECODER + (44 if layered else TALL)
    if name == "One vector":
        first, turn = x + WRITE[0], y + 200
        for place in (READ[0], READ[-1]):
            ends = [(x + place, y + ENCODER - 3), (x + place, turn), (first, turn)]
            sheet.line(ends, "state", style="d-thick")
        sheet.arrow([(first, turn), (first, top + 4)], "state", style="d-thick")
        sheet.text(first + 14, turn - 16, "256 numbers, once", anchor="start", size=12.5)
        for place, anchor, way in (
            (READ[0] + 8, "start", "← backwards"),
            (READ[-1] - 8, "end", "forwards →"),
        ):
            sheet.text(x + place, y + ENCODER - 18, way, anchor=anchor, style="d-muted", size=12)
        return
    means, half = ("4 means a layer", 48) if layered else ("one mean", 36)
    sheet.item("value", last - half, y + MEAN, 2 * half, 22, means, size=11.5)
    if layered:  # four means for the state of each layer
        side = last + 28
        for layer in (0, 18, 36):
            level = y + DECODER + layer + 4
            sheet.arrow([(side, y + MEAN - 1), (side, level), (last + 14, level)], "value")
        for row, line in enumerate(("thin lines: words", "read one another")):
            sheet.text(
                x + 2, y + MEAN + 3 + 15 * row, line, anchor="start", style="d-muted", size=11.5
            )
    else:
        sheet.arrow([(last, y + MEAN - 1), (last, top + 2)], "value")
    _looks(sheet, x, y, last, WEIGHTS[name])


def _looks(sheet: Sheet, x: float, y: float, last: float, weights: tuple[float, ...]) -> None:
    """A beam from each state, as wide as its weight, with the weight at its foot."""
    top = y + MEAN + 24
    for place, weight in zip(READ, weights, strict=True):
        half, foot = max(0.4, 9 * weight), x + place
        end = last + (foot - x - PANEL / 2) * 0.28
        low = y + LABELS - 9
        corners = [(foot - half, low), (foot + half, low), (end + half, top), (end - half, top)]
        sheet.patch(corners, "weight")
        style = "d-bold" if weight == max(weights) else ""
        sheet.text(foot, y + LABELS, f"{weight:.2f}", "weight", size=12, style=style)


def _states(
    sheet: Sheet, x: float, y: float, places: tuple[int, ...], layered: bool, masked: bool = False
) -> None:
    """A state for each word in a chain, or three layers of them in which words read words: what
    is drawn is what one word reads, the last that is written or the one most looked at."""
    rows = (y, y + 18, y + 36) if layered else (y,)
    wide, tall = (24 if masked else BOX), (8 if layered else TALL)
    one = places[-1] if masked else places[4]
    for upper in rows[:-1]:
        for there in places:
            sheet.line([(x + one, upper + tall), (x + there, upper + 18)], "state", style="d-thin")
    for row in rows:
        for left, right in () if layered else itertools.pairwise(places):
            start, end = (x + left + wide / 2, row + tall / 2), (x + right - wide / 2 - 1, row + 12)
            sheet.line([start, end], "state")
        for place in places:
            new = masked and place == places[-1]
            style = "d-new" if new else "d-box"
            sheet.rect(x + place - wide / 2, row, wide, tall, f"d-state {style}", 3)
    if masked:
        sheet.line([(x + places[-1], y - 2), (x + places[-1], y - 10)], "state")
        return
    foot = rows[-1] + tall
    for place in places:
        sheet.line([(x + place, foot + 2), (x + place, foot + 10 + 12 * (not layered))])


def draw(narrow: bool) -> Sheet:
    """Side by side on a wide page, below one another on a narrow one."""
    wide = len(WRITTEN) * PANEL + 2 * 24
    sheet = Sheet(NARROW, 3 * HIGH + 2 * 22, 13) if narrow else Sheet(WIDE, HIGH, 13)
    for place, name in enumerate(WRITTEN):
        x = (NARROW - PANEL) / 2 if narrow else (WIDE - wide) / 2 + place * (PANEL + 24)
        _panel(sheet, x, place * (HIGH + 22) if narrow else 0, name)
    return sheet


DRAWING = Drawing(
    name="hand-over",
    title="English below, French above: three translators, about to write the noun.",
    description=(
        "Three translators have read “where is my black cat ?” and have written “où est mon”; the "
        "noun is due. The first reads both ways and has a state after each word; its two last "
        "states become 256 numbers, the decoder's first state, once, and it writes “père”, a "
        "father. Bahdanau's makes one mean of all six states at each step, now with weights of "
        "0.00, 0.00, 0.02, 0.41, 0.56 and 0.01, the largest on cat, and writes “chat”, a cat. In "
        "the Transformer every word reads every word in three layers, drawn for one word; into "
        "each of three decoder layers go four such means, whose weights are 0.00, 0.01, 0.00, "
        "0.04, 0.93 and 0.01 on average, and it writes “chat”, too."
    ),
    draw=draw,
    two_layouts=True,
)
