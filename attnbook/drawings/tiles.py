"""Chapter 12: the table of scores as the text grows, and the tile that is held of it."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

LENGTHS, HEADS, BYTES, TILE = (256, 512, 1024, 2048), 4, 4, 128
"""The layer that the chapter counts: four heads, float32; and the tile of its code, of one head."""


def table_mib(length: int) -> float:
    """MiB of a layer's table of weights."""
    return HEADS * length * length * BYTES / 2**20


def growing(narrow: bool) -> Sheet:
    """Four squares to scale, feet on one line, with the MiB that each holds, and a tile in each."""
    sheet = Sheet(NARROW, 234, 12.5) if narrow else Sheet(WIDE, 332, 15)
    largest = 140.0 if narrow else 240.0
    gap, x, foot = (14, 0.0, 194.0) if narrow else (52, 24.0, 288.0)
    for length in LENGTHS:
        side = largest * length / LENGTHS[-1]
        slot = max(side, 44 if narrow else 70)
        middle = x + slot / 2
        sheet.rect(middle - side / 2, foot - side, side, side, "d-weight d-box", 1)
        tile, corner = largest * TILE / LENGTHS[-1], middle - side / 2
        sheet.rect(corner, foot - side, tile, tile, "d-weight d-solid")
        words = f"{table_mib(length):.0f} MiB"
        sheet.text(middle, foot - side - 12, words, "weight", style="d-bold")
        sheet.text(middle, foot + 14, f"{length:,}", size=12 if narrow else 14)
        x += slot + gap
    line = f"the tile: {TILE * TILE * BYTES // 1024} KiB"
    sheet.text(
        corner + tile + 7, foot - side + max(tile / 2 + 2, 12), line, "weight", anchor="start"
    )
    sheet.text(0, foot + 33, "tokens in the text", anchor="start", style="d-muted", size=12.5)
    return sheet


GROWING = Drawing(
    name="growing-table",
    title="Twice the text, four times the table of weights, and the tile stays as it was.",
    description=(
        "Four squares to scale, the weights of one layer with four heads in float32. With 256 "
        "tokens the table holds 1 MiB, with 512 it holds 4, with 1,024 it holds 16, and with "
        "2,048 it holds 64 MiB. Each is twice as wide and twice as high as the one before. "
        "In a corner of each, to the same scale, is one dark tile of 64 KiB: 128 by 128 weights "
        "of one head."
    ),
    draw=growing,
    two_layouts=True,
)
