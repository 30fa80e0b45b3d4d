"""Chapter 09: one encoder layer of the Transformer of 2017, with its sizes and counts."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

WORDS = ("the", "black", "cat")
WIDTH, HEADS, HIDDEN = 512, 8, 2048
"""Of the base model (Vaswani et al. 2017, table 3)."""
ATTENTION = 4 * (WIDTH * WIDTH + WIDTH)
FORWARD = 2 * WIDTH * HIDDEN + HIDDEN + WIDTH
NORM = 2 * WIDTH
"""Learned numbers, with biases, as PyTorch has them."""

STREAMS, ASIDE, LABELS = (22.0, 94.0, 166.0), 32.0, 228.0


def draw(narrow: bool) -> Sheet:
    """From the words, above, to what the next layer gets, below."""
    sheet = Sheet(NARROW, 480, 13)
    for x, word in zip(STREAMS, WORDS, strict=True):
        sheet.text(x, 8, word, style="d-italic")
        _vector(sheet, x, 24)
        sheet.arrow([(x, 44), (x, 436)], "state", style="d-stream")
        _vector(sheet, x, 440)
    _label(sheet, 33, f"{WIDTH} numbers", "for each word")

    left, right = STREAMS[0] + 10, STREAMS[-1] + ASIDE + 16
    sheet.rect(left, 96, right - left, 44, "d-weight d-veil", 6)
    asides = [x + ASIDE for x in STREAMS]
    for x, aside in zip(STREAMS, asides, strict=True):
        sheet.line([(x, 68), (aside, 68), (aside, 96)], "state")
        for begin in asides:
            sheet.line([(begin, 96), (aside, 140)], "weight", style="d-thin")
        _sum(sheet, x, aside, 140, 162)
        _norm(sheet, x, 196)
    _label(sheet, 118, "attention", f"{HEADS} heads of {WIDTH // HEADS}", f"{ATTENTION:,}")
    _label(sheet, 196, "norm", "", f"{NORM:,}")

    for x, aside in zip(STREAMS, asides, strict=True):
        sheet.line([(x, 238), (aside, 238), (aside, 262)], "state")
        sheet.rect(aside - 21, 262, 42, 60, "d-state d-box", 5)
        for row, words in enumerate((f"{WIDTH}", f"{HIDDEN:,}", f"{WIDTH}")):
            sheet.text(aside, 274 + 18 * row, words, size=12)
        _sum(sheet, x, aside, 322, 344)
        _norm(sheet, x, 380)
    _label(sheet, 292, "feed-forward", "each word alone", f"{FORWARD:,}")
    _label(sheet, 380, "norm", "", f"{NORM:,}")
    _label(sheet, 451, f"{WIDTH} numbers,", "for the next layer")
    total = ATTENTION + FORWARD + 2 * NORM
    sheet.text(LABELS, 406, f"{total:,}", anchor="start", style="d-bold")
    sheet.text(LABELS, 421, "in all, learned", anchor="start", size=12)
    return sheet


def _vector(sheet: Sheet, x: float, y: float) -> None:
    sheet.rect(x - 20, y, 40, 18, "d-state d-box", 5)
    sheet.text(x, y + 9, str(WIDTH), size=12)


def _sum(sheet: Sheet, x: float, aside: float, low: float, y: float) -> None:
    sheet.line([(aside, low), (aside, y), (x + 9, y)], "state")
    sheet.plus(x, y)


def _norm(sheet: Sheet, x: float, y: float) -> None:
    sheet.rect(x - 21, y - 10, 42, 20, "d-state d-solid", 10)
    sheet.text(x, y, "norm", style="d-on", size=12)


def _label(sheet: Sheet, y: float, name: str, more: str, count: str = "") -> None:
    lines = [
        (name, "d-bold"),
        *([(more, "")] if more else []),
        *([(count, "d-muted")] * bool(count)),
    ]
    for row, (words, style) in enumerate(lines):
        at = y + 16 * (row - (len(lines) - 1) / 2)
        sheet.text(LABELS, at, words, anchor="start", style=style, size=12)


DRAWING = Drawing(
    name="layer-2017",
    title="One layer of 2017: attention carries between words, all else stays with its word.",
    description=(
        "Three words, the, black, cat, each with a vector of 512 numbers on a line that runs down "
        "through the layer. First attention, 8 heads of 64 with 1,050,624 learned numbers, in "
        "which every word has a line to every word; its result is added to the line of the word, "
        "and the sum passes a norm with 1,024 numbers. Then a feed-forward network for each word "
        "alone, from 512 to 2,048 and back to 512, with 2,099,712 numbers; its result is added, "
        "and the sum passes a second norm. 3,152,384 learned numbers in all. Out come three "
        "vectors of 512 numbers, for the next layer."
    ),
    draw=draw,
)
