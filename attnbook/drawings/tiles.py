"""Chapter 12: the table of scores as the text grows, and the tile that is held of it."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

LENGTHS, HEADS, BYTES, TILE = (256, 512, 1024, 2048), 4, 4, 128
"""The layer that the chapter counts: four heads, float32; and the tile of its code, of one head."""


def table_mib(length: int) -> float:
    """MiB of a layer's table of weights."""
    return HEADS * length * length * BYTES / 2**20


def growing(narrow: bool) -> Sheet:
    """A pile of sheets for each length, to scale and one for each head, with the MiB that they
    hold together, and a tile on the front sheet."""
    sheet = Sheet(NARROW, 222, 12.5) if narrow else Sheet(WIDE, 292, 15)
    largest, apart = (128.0, 3.5) if narrow else (192.0, 5.0)
    gap, x, foot = (14, 0.0, 182.0) if narrow else (66, 24.0, 248.0)
    for length in LENGTHS:
        side = largest * length / LENGTHS[-1]
        slot = max(side, 44 if narrow else 70)
        middle = x + slot / 2
        corner, tile = middle - side / 2, largest * TILE / LENGTHS[-1]
        for head in reversed(range(HEADS)):
            at = apart * head
            sheet.rect(corner + at, foot - side - at, side, side, "d-weight d-box", 1)
        sheet.rect(corner, foot - side, tile, tile, "d-weight d-solid")
        words = f"{table_mib(length):.0f} MiB"
        top = foot - side - apart * (HEADS - 1)
        sheet.text(middle, top - 12, words, "weight", style="d-bold")
        sheet.text(middle, foot + 14, f"{length:,}", size=12 if narrow else 14)
        x += slot + gap
    line = f"the tile: {TILE * TILE * BYTES // 1024} KiB"
    sheet.text(
        corner + tile + 7, foot - side + max(tile / 2 + 2, 12), line, "weight", anchor="start"
    )
    said = "tokens in the text; a sheet for each head"
    sheet.text(0, foot + 33, said, anchor="start", style="d-muted", size=12.5)
    return sheet


GROWING = Drawing(
    name="growing-table",
    title="Twice the text, four times the table of weights, and the tile stays as it was.",
    description=(
        "Four piles of four square sheets, to scale: the weights of one layer in float32, a sheet "
        "for each head. With 256 tokens the table holds 1 MiB, with 512 it holds 4, with 1,024 it "
        "holds 16, and with 2,048 it holds 64 MiB. Each sheet is twice as wide and twice as high "
        "as those before. In a corner of the front sheet of each pile, to the same scale, is one "
        "dark tile of 64 KiB: 128 by 128 weights of one head."
    ),
    draw=growing,
    two_layouts=True,
)
