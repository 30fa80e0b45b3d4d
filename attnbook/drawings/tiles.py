"""Chapter 12: the table of scores as the text grows, and a tile that moves over it."""

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

BLOCKS = 4
STOPS = ((0, 0), (0, 1), (0, 3), (1, 0), (3, 3))


def frame(step: int) -> Sheet:
    """Queries at the left, keys and values above, one tile of scores at work."""
    sheet = Sheet(NARROW, 344, 13.5)
    row, column = STOPS[step]
    size, left, top = 46, 78, 92
    sheet.text(left + 2 * size, 8, "keys and values, in blocks", "key", size=12.5)
    for j in range(BLOCKS):
        style = "d-new" if j == column else "d-box"
        sheet.item("key", left + j * size + 3, 22, size - 6, 26, "K", style=style, size=12.5)
        sheet.item("value", left + j * size + 3, 54, size - 6, 26, "V", style=style, size=12.5)
    for i in range(BLOCKS):
        y = top + i * size
        style = "d-new" if i == row else "d-box"
        sheet.item("query", 20, y + 9, 48, size - 18, "Q", style=style, size=12.5)
        done = i < row or (i == row and column == BLOCKS - 1)
        x = left + BLOCKS * size + 12
        if i > row:  # nothing yet
            sheet.rect(x, y + 9, 56, size - 18, "d-frame", 2)
        else:
            words, said = ("done", "d-solid") if done else ("so far", "d-new")
            sheet.item("value", x, y + 9, 56, size - 18, words, style=said, size=12.5)
        for j in range(BLOCKS):
            x = left + j * size
            if (i, j) == (row, column):
                sheet.rect(x, y, size, size, "d-weight d-solid")
                sheet.text(x + size / 2, y + size / 2, "tile", style="d-on", size=12.5)
            elif (i, j) < (row, column):
                sheet.rect(x, y, size, size, "d-weight d-ghost")
            else:
                sheet.rect(x, y, size, size, "d-frame")
    foot = top + BLOCKS * size
    sheet.text(44, foot + 14, "queries", "query", size=12.5)
    sheet.text(left + BLOCKS * size + 40, foot + 14, "output", "value", size=12.5)
    where = "dashed: computed, used, thrown away"
    sheet.text(0, foot + 40, where, anchor="start", style="d-muted", size=12.5)
    sheet.text(
        0,
        foot + 58,
        "At any time one tile of scores exists, not the table.",
        anchor="start",
        style="d-muted",
        size=12.5,
    )
    return sheet


TILES = Drawing(
    name="tiles",
    title="A tile moves over the scores; the table as a whole never exists.",
    description=(
        "Five frames. A table of 4 by 4 blocks of scores, queries in blocks at its left, keys and "
        "values in blocks above, the output at its right. One tile is at work at a time. It moves "
        "along a row of blocks, and the output of that row grows from what is known so far to "
        "done. Then it begins the next row. Tiles it has left are thrown away."
    ),
    draw=lambda narrow: [frame(step) for step in range(len(STOPS))],
    says=(
        "The first tile: one block of queries against the first block of keys.",
        "Its scores are used up and thrown away. What is carried: the largest score, the sum and "
        "the output so far. Should a larger score come, one factor puts both right: see below.",
        "At the end of the row, divide once: these queries have their output.",
        "The next block of queries reads all keys and values again: from the cache if they fit, "
        "from slow memory if not. That is the price of tiles.",
        "The last tile. Every score was computed, and only one tile of them was ever kept.",
    ),
)

# Bytes of one step, as the two forms move them between slow memory and the processor.
KINDS = ("scores", "weights")


def traffic(length: int, features: int = 64) -> tuple[float, float]:
    """MiB moved for one head in float32: by hand, and in tiles.

    By hand Q, K, V and the output pass once, and the table four times: scores written and read,
    weights written and read. Fused, only Q, K, V and the output pass, once if K and V stay in the
    cache (see `read_again`).
    """
    given = 4 * length * features * BYTES / 2**20
    table = 4 * length * length * BYTES / 2**20
    return given + table, given


ROWS = 128
"""Queries in a tile, as in the chapter's `forward_tiles`."""


def read_again(length: int, features: int = 64) -> float:
    """MiB moved in tiles if each block of `ROWS` queries reads K and V from slow memory."""
    once = length * features * BYTES / 2**20  # one of Q, K, V and the output
    return 2 * once + 2 * once * length / ROWS


PASS = (("query", "Q"), ("key", "K"), ("value", "V"), ("value", "O"))


def moved(narrow: bool) -> Sheet:
    """Two columns: slow memory above, the processor below, and what passes between them."""
    sheet = Sheet(NARROW, 362, 13.5)
    by_hand, fused = traffic(2048)
    for place, (name, mib) in enumerate((("by hand", by_hand), ("fused, in tiles", fused))):
        x = place * 176
        sheet.text(x, 10, name, anchor="start", style="d-bold")
        sheet.rect(x, 24, 164, 84, "d-frame", 6)
        sheet.text(x + 82, 38, "memory: large, slow", style="d-muted", size=12.5)
        sheet.rect(x, 210, 164, 64, "d-frame", 6)
        sheet.text(x + 82, 262, "cache: small, fast", style="d-muted", size=12.5)
        for j, (role, word) in enumerate(PASS):
            middle = x + 16 + j * 26
            sheet.item(role, middle - 12, 50, 24, 24, word, size=12)
            ends = [(middle, 112), (middle, 206)]
            sheet.arrow(ends[::-1] if word == "O" else ends, role)
        if place == 0:
            sheet.rect(x + 110, 50, 48, 48, "d-weight d-box", 1)
            sheet.text(x + 134, 74, "L × L", "weight", size=12.5)
            for j, up in enumerate((True, False, True, False)):
                tip = [(x + 115 + j * 13, 206), (x + 115 + j * 13, 112)]
                sheet.arrow(tip if up else tip[::-1], "weight", style="d-stream")
        else:
            sheet.rect(x + 118, 218, 26, 26, "d-weight d-solid", 1)
            sheet.text(x + 108, 231, "tile", "weight", anchor="end", size=12.5)
        sheet.text(x + 82, 294, f"{mib:.0f} MiB pass", "weight", style="d-bold")
        sheet.text(x + 82, 313, "for 2,048 tokens, one head", style="d-muted", size=12)
    sheet.text(258, 332, "if K and V stay in the cache", style="d-muted", size=12)
    sheet.text(258, 350, f"({read_again(2048):.0f} MiB if none does)", style="d-muted", size=12)
    return sheet


MOVED = Drawing(
    name="memory-traffic",
    title="By hand the table crosses to slow memory and back, twice. A tile stays in the cache.",
    description=(
        "Two columns, each with slow memory above and a small fast cache below. By hand, queries, "
        "keys and values go down once, and the L by L table goes up and down four times: scores "
        "written and read, weights written and read. For 2,048 tokens and one head that is 66 MiB. "
        "In tiles only queries, keys, values and the output pass, and the tile stays below: 2 MiB "
        "if all keys and values stay in the cache, and 17 MiB if each block of 128 queries reads "
        "them again."
    ),
    draw=moved,
)
