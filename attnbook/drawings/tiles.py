"""Chapter 12: the table of weights as the text grows, and the one tile of it that is held."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

LENGTHS, BYTES, TILE = (256, 512, 1024, 2048), 4, 128
"""Of one head, in float32; and the tile of the chapter's code."""


def table_mib(length: int) -> float:
    """MiB of one head's table of weights."""
    return length * length * BYTES / 2**20


def size(mib: float) -> str:
    """MiB, or KiB where it is less than one, in words."""
    return f"{mib:.0f} MiB" if mib >= 1 else f"{1024 * mib:.0f} KiB"


def growing(narrow: bool) -> Sheet:
    """A square for each length, to scale, with the tile in its corner; the largest shows the row
    of tiles that comes next."""
    sheet = Sheet(NARROW, 178, 12.5) if narrow else Sheet(WIDE, 250, 15)
    largest = 128.0 if narrow else 192.0
    gap, x, foot = (11, 10.0, 152.0) if narrow else (70, 24.0, 224.0)
    tile = largest * TILE / LENGTHS[-1]
    for length in LENGTHS:
        side = largest * length / LENGTHS[-1]
        slot = max(side, 50 if narrow else 76)
        middle, top = x + slot / 2, foot - side
        corner = middle - side / 2
        sheet.rect(corner, top, side, side, "d-weight d-box", 1)
        if length == LENGTHS[-1]:
            for step in range(1, length // TILE):
                sheet.rect(corner + step * tile, top, tile, tile, "d-weight d-veil")
        sheet.rect(corner, top, tile, tile, "d-weight d-solid")
        sheet.text(middle, top - 13, size(table_mib(length)), "weight", style="d-bold")
        said = f"{length:,}" if length > LENGTHS[0] else f"{length:,} tokens"
        sheet.text(middle, foot + 15, said, size=12 if narrow else 14)
        x += slot + gap
    hand, end = ("", "") if narrow else (" in hand", ", to the end")
    told = f"one tile{hand}: {size(table_mib(TILE))}", f"then the next{end}"
    for line, words in enumerate(told):
        y, small = (top + 21 + 16 * line, 12) if narrow else (top + 28 + 19 * line, 14)
        sheet.text(corner + (4 if narrow else 7), y, words, "weight", anchor="start", size=small)
    return sheet


GROWING = Drawing(
    name="growing-table",
    title="Twice the text, four times the table. The tile stays as it was.",
    description=(
        "Four squares, to scale: one head's table of weights in float32. With 256 tokens it takes "
        "256 KiB, with 512 it takes 1 MiB, with 1,024 it takes 4, and with 2,048 it takes 16 MiB. "
        "In a corner of each, to the same scale, is one dark tile of 64 KiB: 128 by 128 weights. "
        "In the largest square the tile is the first of a row of sixteen."
    ),
    draw=growing,
    two_layouts=True,
)
