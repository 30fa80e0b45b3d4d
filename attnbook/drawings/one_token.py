"""Chapter 17: one token of SmolLM2 on its way through thirty layers."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet


class Row(NamedTuple):
    """What happens to the token in one layer."""

    first: float  # weight on the first token, mean of the heads
    head: int  # the one that gives most to a token that is neither the first nor this one
    token: str
    weight: float
    says: str  # what the model would say if it ended here
    chance: float


TOKENS = ("The", "capital", "of", "France", "is")
WAY = (
    Row(0.30, 6, "of", 0.42, "a", 0.45),
    Row(0.16, 8, "of", 0.67, ".", 0.82),
    Row(0.56, 1, "France", 0.58, ".", 0.79),
    Row(0.83, 8, "of", 0.34, ".", 0.50),
    Row(0.77, 8, "of", 0.41, ".", 0.26),
    Row(0.78, 4, "of", 0.16, "␣", 0.37),
    Row(0.87, 3, "capital", 0.06, "␣", 0.53),
    Row(0.91, 8, "of", 0.07, "␣", 0.43),
    Row(0.85, 5, "of", 0.22, ".", 0.82),
    Row(0.64, 7, "capital", 0.39, ".", 0.80),
    Row(0.47, 6, "of", 0.29, "␣", 0.48),
    Row(0.21, 1, "France", 0.59, ".", 0.61),
    Row(0.46, 0, "of", 0.79, "␣", 0.36),
    Row(0.56, 8, "capital", 0.89, "␣", 0.64),
    Row(0.70, 8, "France", 0.43, "␣", 0.79),
    Row(0.78, 5, "of", 0.23, "␣", 0.82),
    Row(0.38, 0, "France", 0.78, "␣", 0.76),
    Row(0.78, 8, "France", 0.32, "␣", 0.86),
    Row(0.87, 1, "France", 0.12, "␣", 0.78),
    Row(0.69, 1, "France", 0.39, "␣", 0.98),
    Row(0.94, 1, "France", 0.09, "␣", 0.92),
    Row(0.71, 7, "capital", 0.49, "␣", 0.92),
    Row(0.50, 5, "France", 0.36, "␣", 0.42),
    Row(0.73, 4, "France", 0.90, ".", 0.46),
    Row(0.90, 4, "France", 0.33, "the", 0.40),
    Row(0.90, 2, "capital", 0.12, "␣", 0.49),
    Row(0.79, 0, "of", 0.14, "the", 0.60),
    Row(0.66, 4, "France", 0.26, "the", 0.67),
    Row(0.84, 7, "of", 0.21, "capital", 0.20),
    Row(0.63, 3, "France", 0.20, "Paris", 0.77),
)
"""The token "is" of results/one_token.json; a space alone is written ␣."""

UNSAID = (1, 23)  # from and to these layers it would say a full stop or a space
TELL = 0.75  # the least weight that is written beside its dot
LAYERS = (0, 5, 10, 16, 20, 23, 29)
PITCH, TOP, SIZE = 13, 60, 12.5
COLUMNS = {"The": 62, "capital": 131, "of": 180, "France": 226, "is": 272}
BAR, LONG, SAYS = 30, 64, 282
HEADINGS = {
    False: (
        ("It rests", "share of its weight on “The”,", "mean of nine heads"),
        ("It fetches", "a dot for each layer: the head that", "looks hardest at another word"),
        ("It speaks", "the next word,", "if it ended here"),
    ),
    True: (
        ("It rests", "weight on", "“The”"),
        ("It fetches", "one head looks", "most at"),
        ("It speaks", "would say,", "ending here"),
    ),
}
"""What each column is, on a page and on a telephone."""


def way(narrow: bool) -> Sheet:
    """A row a layer, the first at the bottom as a state rises: rests, looks, would say."""
    width = NARROW if narrow else WIDE
    stretch = width / NARROW
    foot = TOP + PITCH * len(WAY)
    sheet = Sheet(width, foot + 38, SIZE)
    # On a telephone the last column ends at the sheet's edge: its words are longer than the rest.
    last, at = (width - 2, "end") if narrow else (SAYS * stretch, "start")
    for (x, anchor), lines in zip(
        ((BAR * stretch, "start"), (COLUMNS["of"] * stretch, "middle"), (last, at)),
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
    sheet.arrow([(COLUMNS["is"] * stretch, foot + 8), (COLUMNS["is"] * stretch, TOP - 8)], "state")
    for layer, row in enumerate(WAY):
        y, x = level(layer), COLUMNS[row.token] * stretch
        sheet.bar(BAR * stretch, y - 4, LONG * stretch, 8, row.first)
        sheet.circle(x, y, 6 * row.weight**0.5, "d-key d-solid")
        if row.weight >= TELL:
            sheet.text(x + 10, y, f"{row.weight:.2f}", "key", anchor="start", style="d-bold")
        if not UNSAID[0] <= layer <= UNSAID[1]:
            style = {"Paris": "d-bold", "␣": "d-muted"}.get(row.says, "")
            words = "a space" if row.says == "␣" else row.says
            sheet.text(SAYS * stretch, y, words, anchor="start", style=style)
    # Where its word is the same for many layers in a row, one bracket spans them.
    low, high = UNSAID
    if not narrow:
        ends = [(last + 6, level(low)), (last, level(low)), (last, level(high)),
                (last + 6, level(high))]  # fmt: skip
        sheet.line(ends, style="d-muted d-thin")
    begins = f"{low} to {high}:" if narrow else f"layers {low} to {high}:"
    for line, words in enumerate((begins, "a full stop", "or a space")):
        y = level((low + high) / 2 + 1.2 * (1 - line))
        sheet.text(last + (0 if narrow else 14), y, words, size=11.5, anchor=at, style="d-muted")
    for token, middle in COLUMNS.items():
        wide, now = 12 + 7 * len(token), token == "is"
        x = middle * stretch
        sheet.shape("state", x - wide / 2, foot + 11, wide, 22, style="d-new" if now else "d-box")
        sheet.text(x, foot + 22, token, "state", style="d-bold" if now else "")
    return sheet


DRAWING = Drawing(
    name="one-token",
    title="The token “is” on its way up: it rests on “The”, fetches “France”, and says “Paris”.",
    description=(
        "The last token of The capital of France is, in each of thirty layers, the first at the "
        "bottom. Bars: the mean weight of its nine heads on the first token, from 0.16 in layer 1 "
        "to 0.94 in layer 20, mostly above 0.6. Beside them a dot for the token that one head "
        "looks at most, the first and itself apart, larger with its weight: of and capital up to "
        "layer 13, with weights up to 0.89, then mostly France, 0.78 in layer 16 and 0.90 in "
        "layer 23. At the right, the word that the model would say if it ended there: a after "
        "layer 0, the after layers 24, 26 and 27, capital after layer 28, and Paris only after the "
        "last; a full stop or a space everywhere else."
    ),
    draw=way,
    two_layouts=True,
)
