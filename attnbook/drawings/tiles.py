"""Chapter 12: the table of scores as the text grows."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

LENGTHS, HEADS, BYTES = (256, 512, 1024, 2048), 4, 4
"""The layer that the chapter counts: four heads, float32."""


def table_mib(length: int) -> float:
    """MiB of a layer's table of weights."""
    return HEADS * length * length * BYTES / 2**20


def growing(narrow: bool) -> Sheet:
    """Four squares to scale, feet on one line, with the MiB that each holds."""
    sheet = Sheet(NARROW, 234, 12.5) if narrow else Sheet(WIDE, 332, 15)
    largest = 140.0 if narrow else 240.0
    gap, x, foot = (14, 0.0, 194.0) if narrow else (52, 24.0, 288.0)
    for length in LENGTHS:
        side = largest * length / LENGTHS[-1]
        slot = max(side, 44 if narrow else 70)
        middle = x + slot / 2
        sheet.rect(middle - side / 2, foot - side, side, side, "d-weight d-box", 1)
        words = f"{table_mib(length):.0f} MiB"
        sheet.text(middle, foot - side - 12, words, "weight", style="d-bold")
        sheet.text(middle, foot + 14, f"{length:,}", size=12 if narrow else 14)
        x += slot + gap
    sheet.text(0, foot + 33, "tokens in the text", anchor="start", style="d-muted", size=12.5)
    return sheet


GROWING = Drawing(
    name="growing-table",
    title="Twice the text, four times the table of weights.",
    description=(
        "Four squares to scale, the weights of one layer with four heads in float32. With 256 "
        "tokens the table holds 1 MiB, with 512 it holds 4, with 1,024 it holds 16, and with "
        "2,048 it holds 64 MiB. Each is twice as wide and twice as high as the one before."
    ),
    draw=growing,
    two_layouts=True,
)
