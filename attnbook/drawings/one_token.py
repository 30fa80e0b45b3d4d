"""Chapter 17: one token of SmolLM2 on its way through thirty layers."""

import math
from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet


class Row(NamedTuple):
    """What happens to the token in one layer."""

    first: float  # weight on the first token, mean of the heads
    head: int  # the one that gives most to a token that is neither the first nor this one
    token: str
    weight: float
    rank: int  # the place of "Paris" among all pieces, by their chance, if the model ended here


TOKENS = ("The", "capital", "of", "France", "is")
WAY = (
    Row(0.30, 6, "of", 0.42, 2678),
    Row(0.16, 8, "of", 0.67, 3068),
    Row(0.56, 1, "France", 0.58, 3640),
    Row(0.83, 8, "of", 0.34, 3396),
    Row(0.77, 8, "of", 0.41, 3636),
    Row(0.78, 4, "of", 0.16, 4699),
    Row(0.87, 3, "capital", 0.06, 5012),
    Row(0.91, 8, "of", 0.07, 4367),
    Row(0.85, 5, "of", 0.22, 3242),
    Row(0.64, 7, "capital", 0.39, 3384),
    Row(0.47, 6, "of", 0.29, 3083),
    Row(0.21, 1, "France", 0.59, 3071),
    Row(0.46, 0, "of", 0.79, 2870),
    Row(0.56, 8, "capital", 0.89, 2747),
    Row(0.70, 8, "France", 0.43, 3157),
    Row(0.78, 5, "of", 0.23, 2452),
    Row(0.38, 0, "France", 0.78, 2519),
    Row(0.78, 8, "France", 0.32, 2465),
    Row(0.87, 1, "France", 0.12, 2005),
    Row(0.69, 1, "France", 0.39, 2636),
    Row(0.94, 1, "France", 0.09, 3241),
    Row(0.71, 7, "capital", 0.49, 2818),
    Row(0.50, 5, "France", 0.36, 2079),
    Row(0.73, 4, "France", 0.90, 396),
    Row(0.90, 4, "France", 0.33, 92),
    Row(0.90, 2, "capital", 0.12, 113),
    Row(0.79, 0, "of", 0.14, 34),
    Row(0.66, 4, "France", 0.26, 7),
    Row(0.84, 7, "of", 0.21, 3),
    Row(0.63, 3, "France", 0.20, 1),
)
"""The token "is" of results/one_token.json."""

PLACES = {22: "2,079th", 23: "396th", 28: "3rd", 29: "1st"}  # written beside their dots
LAST = 10_000  # the place at the axis's left end; the first is at its right
TELL = 0.75  # the least weight that is written beside its dot
LAYERS = (0, 5, 10, 16, 20, 23, 29)
PITCH, TOP, SIZE = 13, 60, 12.5
COLUMNS = {"The": 62, "capital": 131, "of": 180, "France": 226, "is": 272}
BAR, LONG = 30, 64
AXIS = {False: (590, 706), True: (295, 327)}  # from the place LAST to the first
HEADINGS = {
    False: (
        ("It rests", "share of its weight on “The”,", "mean of nine heads"),
        ("It fetches", "a dot for each layer: the head that", "looks hardest at another word"),
        ("It speaks", "the place of “Paris”,", "if the model ended here"),
    ),
    True: (
        ("It rests", "weight on", "“The”"),
        ("It fetches", "one head looks", "most at"),
        ("It speaks", "place of", "“Paris”"),
    ),
}
"""What each column is, on a page and on a telephone."""


def way(narrow: bool) -> Sheet:
    """A row a layer, the first at the bottom as a state rises: rests, looks, nears “Paris”."""
    width = NARROW if narrow else WIDE
    stretch = width / NARROW
    foot = TOP + PITCH * len(WAY)
    sheet = Sheet(width, foot + 38, SIZE)
    left, right = AXIS[narrow]
    # On a telephone the last column's words end at the sheet's edge.
    last, at = (width - 2, "end") if narrow else (left - 70, "start")
    centres = {token: x * stretch for token, x in COLUMNS.items()}
    if not narrow:
        centres["is"] -= 33  # nearer to the others than to the last column
    for (x, anchor), lines in zip(
        ((BAR * stretch, "start"), (centres["of"], "middle"), (last, at)),
        HEADINGS[narrow],
        strict=True,
    ):
        for line, words in enumerate(lines):
            style, size = ("d-muted", 11.5) if line else ("d-bold", SIZE)
            sheet.text(x, 8 + 15 * line, words, anchor=anchor, size=size, style=style)

    def level(layer: float) -> float:
        return foot - PITCH * (layer + 0.5)

    for layer in LAYERS:
        sheet.text(20, level(layer), str(layer), anchor="end", style="d-muted")
    sheet.text(0, foot + 22, "layer", anchor="start", size=11.5, style="d-muted")
    sheet.arrow([(centres["is"], foot + 8), (centres["is"], TOP - 8)], "state")
    for layer, row in enumerate(WAY):
        y, x = level(layer), centres[row.token]
        sheet.bar(BAR * stretch, y - 4, LONG * stretch, 8, row.first)
        sheet.circle(x, y, 6 * row.weight**0.5, "d-key d-solid")
        if row.weight >= TELL:
            sheet.text(x + 10, y, f"{row.weight:.2f}", "key", anchor="start", style="d-bold")
        x = right - (right - left) * math.log(row.rank, LAST)
        sheet.circle(x, y, 4, "d-state d-solid")
        if layer in PLACES and not narrow:
            style = "d-bold d-halo" if row.rank == 1 else "d-halo"
            side, anchor = (9, "start") if layer < LAYERS[-2] + 1 else (-9, "end")
            sheet.text(x + side, y, PLACES[layer], anchor=anchor, style=style)
    for place, words in ((1, "1st"), (LAST, "10,000th")):
        x = right - (right - left) * math.log(place, LAST)
        sheet.line([(x, TOP - 4), (x, foot + 6)], style="d-muted d-thin")
        if place == 1 or not narrow:
            sheet.text(x, foot + 22, words, size=11.5, style="d-muted")
    for token, x in centres.items():
        wide, now = 12 + 7 * len(token), token == "is"
        sheet.shape("state", x - wide / 2, foot + 11, wide, 22, style="d-new" if now else "d-box")
        sheet.text(x, foot + 22, token, "state", style="d-bold" if now else "")
    return sheet


DRAWING = Drawing(
    name="one-token",
    title=(
        "The token “is” on its way up: it rests on “The”, fetches “France”, and “Paris” rises from "
        "the 2,079th place to the first."
    ),
    description=(
        "The last token of The capital of France is, in each of thirty layers, the first at the "
        "bottom. Bars: the mean weight of its nine heads on the first token, from 0.16 in layer 1 "
        "to 0.94 in layer 20, mostly above 0.6. Beside them a dot for the token that one head "
        "looks at most, the first and itself apart, larger with its weight: of and capital up to "
        "layer 13, with weights up to 0.89, then mostly France, 0.78 in layer 16 and 0.90 in "
        "layer 23. At the right, the place of Paris among all 49,152 pieces if the model ended "
        "there: between 2,000 and 5,100 up to layer 22, 396 after layer 23, 92 after 24, then "
        "113, 34, 7 and 3, and the first only after the last layer."
    ),
    draw=way,
    two_layouts=True,
)
