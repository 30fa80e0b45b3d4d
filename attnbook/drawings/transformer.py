"""Chapter 09: the Transformer, one stream a word, and where the norm stands."""

from collections.abc import Sequence

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

SOURCE = ("the", "black", "cat")
TOLD = ("start", "le", "chat", "noir")
WRITTEN = ("le", "chat", "noir", "end")


def streams(narrow: bool) -> Sheet:
    """Encoder at the left, decoder at the right; words go in below and come out above."""
    sheet = Sheet(NARROW, 560, 12.5) if narrow else Sheet(WIDE, 572, 15)
    pitch = 40.0 if narrow else 88.0
    lefts = (20.0, 166.0) if narrow else (46.0, 362.0)
    low = sheet.height - 12
    encoder = [lefts[0] + place * pitch for place in range(len(SOURCE))]
    decoder = [lefts[1] + place * pitch for place in range(len(TOLD))]
    side = 18.0 if narrow else 36.0
    sheet.text((encoder[0] + encoder[-1]) / 2, low - 352, "encoder", style="d-bold")
    sheet.text((decoder[0] + decoder[-1]) / 2, 8, "decoder", style="d-bold")

    memory = low - 326.0
    for xs, top in ((encoder, low - 300), (decoder, low - 432)):
        right = xs[-1] + (33 if narrow else 66)
        sheet.rect(xs[0] - side, top, right - xs[0] + side, low - 84 - top, "d-frame", 10)
    for xs, words, told in ((encoder, SOURCE, False), (decoder, TOLD, True)):
        for x, word in zip(xs, words, strict=True):
            sheet.text(x, low, word, style="d-muted" if told else "")
            sheet.line([(x, low - 14), (x, low - 54)], "state")
            sheet.plus(x, low - 58, 8)
    where = (encoder[-1] + decoder[0]) / 2
    for row, line in enumerate(("+ its", "place")):
        sheet.text(where, low - 66 + 16 * row, line, style="d-muted", size=12 if narrow else 13)

    # The streams run through everything: each part adds to them.
    for x in encoder:
        sheet.line([(x, low - 66), (x, memory)], "state", style="d-stream")
    for x in decoder:
        sheet.arrow([(x, low - 66), (x, 62)], "state", style="d-stream")

    _mix(sheet, encoder, low - 108, side, None)
    _label(sheet, encoder, low - 96, "self-attention", narrow)
    _think(sheet, encoder, low - 216, narrow)
    _label(sheet, encoder, low - 198, "feed-forward", narrow)

    _mix(sheet, decoder, low - 108, side, "causal")
    _label(sheet, decoder, low - 96, "causal self-attention", narrow)
    _mix(sheet, decoder, low - 222, side, "source")
    _label(sheet, decoder, low - 210, "attention to the source", narrow)
    _think(sheet, decoder, low - 348, narrow)
    _label(sheet, decoder, low - 330, "feed-forward", narrow)

    turn = decoder[0] - side - (9 if narrow else 34)
    reach = low - 230
    sheet.line(
        [(encoder[0], memory), (turn, memory), (turn, reach), (decoder[0] - side + 6, reach)],
        "value",
        style="d-wide",
    )
    for x, word in zip(decoder, WRITTEN, strict=True):
        sheet.text(x, 46, word, style="d-bold")
    times = "N such layers"
    for xs, y in ((encoder, low - 288), (decoder, low - 419)):
        x = (xs[0] + xs[-1]) / 2
        sheet.text(x, y, times, style="d-muted d-halo", size=12 if narrow else 13)
    return sheet


def _label(sheet: Sheet, xs: Sequence[float], y: float, words: str, narrow: bool) -> None:
    sheet.text((xs[0] + xs[-1]) / 2, y, words, size=12 if narrow else 14, style="d-halo")


def _mix(sheet: Sheet, xs: Sequence[float], bottom: float, side: float, kind: str | None) -> None:
    """Attention: what a stream reads comes in from other streams, and is added to it."""
    high = 42
    left, right = xs[0] - side + 6, xs[-1] + side - 6
    sheet.rect(left, bottom - high, right - left, high, "d-weight d-veil", 6)
    if kind == "source":
        sheet.line([(left, bottom - 8), (right - 6, bottom - 8)], "value", style="d-wide")
    for i, x in enumerate(xs):
        if kind == "source":
            sources = [x + step * min(12.0, side * 0.6) for step in (-1, 0, 1)]
            begin = bottom - 8
        else:
            sources = [y for j, y in enumerate(xs) if j < i or (kind is None and j > i)]
            begin = bottom
        for other in sources:
            sheet.line([(other, begin), (x, bottom - high)], "weight", style="d-thin")
        sheet.plus(x, bottom - high - 16, 8)


def _think(sheet: Sheet, xs: Sequence[float], bottom: float, narrow: bool) -> None:
    """The feed-forward network: the same for each stream, and none sees another."""
    w, high = (18, 22) if narrow else (36, 26)
    for x in xs:
        middle = x + (21 if narrow else 38)
        added = bottom - high - 24
        sheet.line([(x, bottom + 2), (middle, bottom + 2), (middle, bottom - 6)], "state")
        sheet.rect(middle - w / 2, bottom - 6 - high, w, high, "d-state d-box", 5)
        sheet.line([(middle, bottom - 6 - high), (middle, added), (x + 8, added)], "state")
        sheet.plus(x, added, 8)


TRANSFORMER = Drawing(
    name="transformer",
    title="One stream for each word: attention moves between streams, all else stays within one.",
    description=(
        "At the left the encoder: three words, the, black, cat, go in below, each with its place "
        "added, and each has a vertical stream. In a layer, self-attention lets every stream "
        "read every other, and a feed-forward network works on each stream alone; what they find "
        "is added to the stream. At the right the decoder, with the words start, le, chat, noir. "
        "Its self-attention is causal: a stream reads only those to its left. A second attention "
        "reads what the encoder made of the source. Above, each stream gives the next word: le, "
        "chat, noir, end."
    ),
    draw=streams,
    two_layouts=True,
)
