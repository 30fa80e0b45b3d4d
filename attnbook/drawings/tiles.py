"""Chapter 12: the table of weights as the text grows, the one tile of it that is held, and what
crosses between a GPU's two memories."""

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
        "In a corner of each, to the same scale, is one filled tile of 64 KiB: 128 by 128 weights. "
        "In the largest square the tile is the first of a row of sixteen."
    ),
    draw=growing,
    two_layouts=True,
)

RUNS = {
    "with the table": {"arithmetic": 66.6, "moved": 40.3, "ms": 41.7},
    "in tiles": {"arithmetic": 75.2, "moved": 4.4, "ms": 7.3},
}
"""GFLOP, GB and milliseconds of GPT-2's attention, from figure 2 of Dao et al. (2022)."""

HBM, CHIP = (40, 1.5), (20, 19)
"""An A100's two memories, from figure 1 of the same paper: GB and MB, with TB a second."""


def panel(sheet: Sheet, x: float, y: float, name: str) -> None:
    """The two memories, what lies in each, and what crosses, as wide as it is much."""
    width, side, table = 340, 46, name == "with the table"
    run, middle = RUNS[name], x + 170
    small = {"size": 12.5}
    sheet.text(middle, y + 8, name, style="d-bold", size=15)
    sheet.rect(x, y + 22, width, 100, "d-state d-box", 6)
    words = f"large and slow (HBM): {HBM[0]} GB, {HBM[1]} TB/s"
    sheet.text(middle, y + 36, words, "state", **small)
    strip, top = side / 16, y + 50
    for place, role in enumerate(("query", "key", "value", "value")):
        sheet.rect(x + 21 + 22 * place, top, strip, side, f"d-{role} d-solid")
    for place, letter in enumerate(("Q", "K", "V", "output")):
        at = x + 22 + 22 * place + (10 if letter == "output" else 0)
        sheet.text(at, top + side + 12, letter, **small)
    for place, words in enumerate(("scores", "weights")):
        left = x + 168 + 82 * place
        look = "d-weight d-solid" if table else "d-ghost"
        sheet.rect(left, top, side, side, look, 1)
        ink = ("weight", "") if table else (None, "d-muted")
        sheet.text(left + side / 2, top + side + 12, words, ink[0], style=ink[1], **small)
    sheet.rect(middle - 120, y + 186, 240, 50, "d-state d-box", 6)
    words = f"small and fast (chip): {CHIP[0]} MB, {CHIP[1]} TB/s"
    sheet.text(middle, y + 200, words, "state", size=12)
    sheet.rect(middle - 60, y + 216, side / 8, side / 8, "d-weight d-solid")
    told = "a piece of it" if table else "made and forgotten"
    sheet.text(middle - 48, y + 219, told, "weight", anchor="start", **small)
    half, head = 1.3 * run["moved"], 14 if table else 8
    wing, up, down = half + (14 if table else 6), y + 125, y + 183
    right = [(0, up), (wing, up + head), (half, up + head)]
    right += [(half, down - head), (wing, down - head), (0, down)]
    left = [(-far, at) for far, at in reversed(right[1:-1])]
    sheet.patch([(middle + far, at) for far, at in right + left], "weight")
    moved = f"{run['moved']} GB"
    if table:
        sheet.text(middle, y + 154, moved, "weight", style="d-bold d-on", size=15)
    else:
        sheet.text(middle + 18, y + 154, moved, "weight", anchor="start", style="d-bold", size=15)
    for at, what, said in (
        (x + 48, "arithmetic", f"{run['arithmetic']} GFLOP"),
        (x + 297, "time", f"{run['ms']} ms"),
    ):
        sheet.text(at, y + 145, what, style="d-muted", **small)
        sheet.text(at, y + 163, said, style="d-bold", size=14)


def traffic(narrow: bool) -> Sheet:
    """One panel with the table and one in tiles, beside or below each other."""
    sheet = Sheet(NARROW, 502) if narrow else Sheet(WIDE, 240)
    for place, name in enumerate(RUNS):
        x, y = (0, 262 * place) if narrow else (380 * place, 0)
        panel(sheet, x, y, name)
    return sheet


TRAFFIC = Drawing(
    name="memory-traffic",
    title="In tiles: more arithmetic, a ninth of the traffic, about a sixth of the time.",
    description=(
        "Two panels. In each an A100's large, slow memory, HBM, 40 GB at 1.5 TB a second, stands "
        "above its small, fast one on the chip, 20 MB at 19 TB a second. The arrow between them "
        "is as wide as what crosses it. With the table, HBM holds the scores and the weights "
        "beside Q, K, V and the output, and the arrow is broad: 40.3 GB, 66.6 GFLOP, 41.7 ms. In "
        "tiles HBM holds no table, and the arrow is thin: 4.4 GB, 75.2 GFLOP, 7.3 ms."
    ),
    draw=traffic,
    two_layouts=True,
)
