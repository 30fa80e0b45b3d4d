"""Chapter 09: the Transformer, one stream a word, and where the norm stands."""

from collections.abc import Sequence
from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

SOURCE = ("the", "black", "cat")
TOLD = ("start", "le", "chat", "noir")
WRITTEN = ("le", "chat", "noir", "end")
CHANCES = (0.995, 0.995, 0.969, 0.999)
"""Of the chapter's trained Transformer: what the softmax gives each of these words."""


class Place(NamedTuple):
    """Where a stack stands: its streams, its foot, and how much room a branch has."""

    xs: Sequence[float]
    foot: float
    aside: float
    labels: float


PILL, HIGH = (38.0, 17.0), 40.0


def streams(narrow: bool) -> Sheet:
    """Encoder and decoder, beside each other or one above the other; words go in below."""
    sheet = Sheet(NARROW, 948, 12) if narrow else Sheet(WIDE, 552, 13.5)
    low = sheet.height - 10
    if narrow:
        xs = [100 + 54.0 * place for place in range(4)]
        encoder = Place(xs[:3], low, 25, 0)
        decoder = Place(xs, low - 396, 25, 0)
    else:
        encoder = Place([130 + 64.0 * place for place in range(3)], low, 29, 0)
        decoder = Place([366 + 64.0 * place for place in range(4)], low, 29, 622)
    _foot(sheet, encoder, SOURCE, told=False)
    _foot(sheet, decoder, TOLD, told=True)
    memory = encoder.foot - 338
    sides = [(encoder, 292), (decoder, 402)]
    for stack, high in sides:
        left, right = stack.xs[0] - 17, stack.xs[-1] + stack.aside + PILL[0] / 2 + 7
        sheet.rect(left, stack.foot - high, right - left, high - 80, "d-frame", 10)
        _says(sheet, stack, stack.foot - high + 14, "N such layers", style="d-muted")
    for x in encoder.xs:
        sheet.line([(x, encoder.foot - 70), (x, memory)], "state", style="d-stream")
    for x in decoder.xs:
        sheet.arrow([(x, decoder.foot - 70), (x, decoder.foot - 474)], "state", style="d-stream")

    _mix(sheet, encoder, 92, None, "self-attention")
    _think(sheet, encoder, 200)
    _mix(sheet, decoder, 92, "causal", "causal self-attention")
    _mix(sheet, decoder, 202, "source", "attention to the source")
    _think(sheet, decoder, 310)

    # What the encoder made of the source, to every layer of the decoder.
    band = decoder.foot - 202 - 46
    right = decoder.xs[-1] + decoder.aside
    turn = right + PILL[0] / 2 + 16 if narrow else decoder.xs[0] - 34
    into = decoder.xs[0] + 4 if narrow else right + 8
    sheet.line(
        [(encoder.xs[0], memory), (turn, memory), (turn, band), (into, band)],
        "value",
        style="d-wide",
    )
    for stack, high in sides:
        for x in stack.xs:
            _norm(sheet, x, stack.foot - high - 20)
    for x, word, chance in zip(decoder.xs, WRITTEN, CHANCES, strict=True):
        sheet.rect(x - 17, decoder.foot - 456, 34, 18, "d-state d-paper", 4)
        sheet.text(x, decoder.foot - 489, word, style="d-bold")
        sheet.text(x, decoder.foot - 507, f"{chance:.3f}", "weight", size=12)
    _says(sheet, decoder, decoder.foot - 447, "linear layer")
    _says(sheet, decoder, decoder.foot - 500, "softmax: which word comes next?")
    for stack, name, y in (
        (encoder, "encoder", memory - 14),
        (decoder, "decoder", decoder.foot - 526),
    ):
        sheet.text((stack.xs[0] + stack.xs[-1]) / 2, y, name, style="d-bold")
    return sheet


def _says(sheet: Sheet, stack: Place, y: float, words: str, *, style: str = "") -> None:
    """A label in the margin beside a part, in as many lines as it needs."""
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + len(word) > 12:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    for row, line in enumerate(lines):
        at = y + 15 * (row - (len(lines) - 1) / 2)
        sheet.text(stack.labels, at, line, anchor="start", style=style, size=12)


def _foot(sheet: Sheet, stack: Place, words: Sequence[str], *, told: bool) -> None:
    """Words, their embeddings, and their places, which are added."""
    for x, word in zip(stack.xs, words, strict=True):
        sheet.text(x, stack.foot, word, style="d-muted" if told else "")
        sheet.line([(x, stack.foot - 11), (x, stack.foot - 54)], "state")
        sheet.rect(x - 17, stack.foot - 38, 34, 18, "d-state d-paper", 4)
        sheet.plus(x, stack.foot - 62, 8)
    _says(sheet, stack, stack.foot - 29, "embedding")
    _says(sheet, stack, stack.foot - 62, "+ its place")


def _norm(sheet: Sheet, x: float, y: float) -> None:
    sheet.rect(x - PILL[0] / 2, y - PILL[1] / 2, *PILL, "d-state d-solid", 8.5)
    sheet.text(x, y, "norm", style="d-on", size=12)


def _branch(sheet: Sheet, stack: Place, up: float, high: float) -> None:
    """Off the stream, through a norm, through a part that is `high`, and back as a sum."""
    level = stack.foot - up
    for x in stack.xs:
        aside = x + stack.aside
        top = level - 34 - high
        sheet.line([(x, level), (aside, level), (aside, level - 34)], "state")
        _norm(sheet, aside, level - 19)
        sheet.line([(aside, top), (aside, top - 14), (x + 8, top - 14)], "state")
        sheet.plus(x, top - 14, 8)


def _mix(sheet: Sheet, stack: Place, up: float, kind: str | None, words: str) -> None:
    """Attention: what a stream reads comes in from other streams."""
    high, low = stack.foot - up - 34 - HIGH, stack.foot - up - 34
    asides = [x + stack.aside for x in stack.xs]
    left, right = stack.xs[0] + 7, asides[-1] + 14
    sheet.rect(left, high, right - left, HIGH, "d-weight d-veil", 6)
    _branch(sheet, stack, up, HIGH)
    for i, x in enumerate(asides):
        if kind == "source":
            begins = [(x + step * 10, low - 12) for step in (-1, 0, 1)]
        else:
            begins = [(y, low) for j, y in enumerate(asides) if j <= i or kind is None]
        for begin in begins:
            sheet.line([begin, (x, high)], "weight", style="d-thin")
    _says(sheet, stack, (high + low) / 2, words)


def _think(sheet: Sheet, stack: Place, up: float) -> None:
    """The feed-forward network: the same for each stream, and none sees another."""
    level = stack.foot - up - 34
    _branch(sheet, stack, up, 24)
    for x in stack.xs:
        sheet.rect(x + stack.aside - 15, level - 24, 30, 24, "d-state d-box", 5)
    _says(sheet, stack, level - 12, "feed-forward network")


TRANSFORMER = Drawing(
    name="transformer",
    title="One stream for each word: attention moves between streams, all else stays within one.",
    description=(
        "The encoder reads three words, the, black, cat. Each goes through an embedding, gets its "
        "place added, and has a vertical stream. In each of N layers a copy of the stream passes "
        "a norm and then self-attention, which lets every stream read every stream, and what it "
        "finds is added; a second copy passes a norm and a feed-forward network that works on "
        "each stream alone, and that is added too. After the last layer comes one more norm. The "
        "decoder reads start, le, chat, noir. Its self-attention is causal: a stream reads itself "
        "and those to its left. A second attention reads what the encoder made of the source, a "
        "green line. Above, a norm, a linear layer and a softmax give the next word: le, chat, "
        "noir, end."
    ),
    draw=streams,
    two_layouts=True,
)
