"""Chapter 13b: what a token leaves in a layer, to scale; and a latent read by two heads, by making
its keys and by bringing the queries to it."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

LATENT = (3, 1)
KEY_UP = (((1, 0), (1, 1)), ((0, 1), (1, -1)))
QUERIES = ((2, -1), (1, 1))
"""Of each head what makes its key of the latent, and the query of a later token."""


def dot(a: tuple, b: tuple) -> int:
    """The sum of products."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def key(head: int) -> tuple:
    """What the head makes of the latent."""
    return tuple(dot(row, LATENT) for row in KEY_UP[head])


def absorbed(head: int) -> tuple:
    """The head's query, brought to the latent: by the matrix turned over."""
    return tuple(dot(column, QUERIES[head]) for column in zip(*KEY_UP[head], strict=True))


def _matrix(sheet: Sheet, x: float, y: float, head: int) -> None:
    """What makes a key of the latent, two rows in brackets, its middle at y."""
    for row, numbers in enumerate(KEY_UP[head]):
        for column, value in enumerate(numbers):
            sheet.text(x + 10 + 20 * column, y - 8 + 17 * row, number(value), size=12.5)
    for side, foot in ((x, x + 4), (x + 42, x + 38)):
        sheet.line([(foot, y - 18), (side, y - 18), (side, y + 18), (foot, y + 18)], style="d-thin")


def draw(narrow: bool) -> Sheet:
    """A row for each head, made both ways, with the score that comes out."""
    sheet = Sheet(NARROW, 346, 13.5)
    w, h = 66, 30
    for top, title in ((0, "make the keys"), (184, "or bring the queries")):
        sheet.text(0, top + 10, title, anchor="start", style="d-bold")
        made, matrix, kept = (134, 78, 250) if top else (92, 182, 244)
        for head in (0, 1):
            y = top + 44 + 68 * head
            middle = y + h / 2
            sheet.text(w / 2, y - 9, f"query {head}", "query", size=12.5)
            sheet.item("query", 0, y, w, h, vector(QUERIES[head]))
            if top:
                sheet.arrow([(w, middle), (w + 10, middle)], "query")
                sheet.arrow([(matrix + 44, middle), (made + 6, middle)], "query")
                sheet.item("query", made + 8, y, w, h, vector(absorbed(head)), style="d-new")
                sheet.text(made + 8 + w / 2, y - 9, "brought", "query", size=12.5)
                sheet.text(made + w + 22, middle, "·")
            else:
                sheet.text((w + made) / 2, middle, "·")
                sheet.text(made + w / 2, y - 9, f"key {head}", "key", size=12.5)
                sheet.item("key", made, y, w, h, vector(key(head)), style="d-new")
                sheet.arrow([(matrix - 4, middle), (made + w + 3, middle)], "key")
                sheet.arrow([(kept - 2, middle), (matrix + 46, middle)], "key")
            _matrix(sheet, matrix, middle, head)
            sheet.text(matrix + 21, y - 14, f"W{head}", style="d-muted", size=12.5)
            found = dot(absorbed(head), LATENT) if top else dot(QUERIES[head], key(head))
            sheet.text(NARROW, middle, f"= {number(found)}", "weight", anchor="end", style="d-bold")
        y = top + 44
        sheet.text(kept + 26, y - 9, "latent", size=12.5)
        sheet.item("state", kept, y, 52, 68 + h, vector(LATENT))
    return sheet


DRAWING = Drawing(
    name="latent-two-ways",
    title="A latent is kept. Each head makes a key of it, or brings its query to it: same scores.",
    description=(
        "The latent of a token is 3, 1. Two heads ask, each with a matrix. Above, the matrix of "
        "head 0, rows 1, 0 and 1, 1, makes of the latent the key 3, 4, and its query 2, minus 1 "
        "gives the score 2; that of head 1, rows 0, 1 and 1, minus 1, makes 1, 2, and its query "
        "1, 1 gives 3. Below, no key is made: the queries go through the same matrices, become "
        "1, minus 1 and 1, 0, are compared with the latent itself, and give 2 and 3."
    ),
    draw=draw,
)


# -- what is kept --------------------------------------------------------------------------------

HEAD, WHOLE_BITS = 128, 16
"""Features of a head of Llama 3.1 8B and of DeepSeek-V3, and the bits of a number."""
ROUNDED = 4 + 32 / 64
"""Bits of a number in four bits: each 64 share two more of 16."""


class Kept(NamedTuple):
    """One way: its name, who keeps that, heads of keys and as many of values, or a latent."""

    name: str
    whose: str
    heads: float
    bits: float = WHOLE_BITS
    latent: bool = False

    @property
    def kib(self) -> float:
        """KiB that a token leaves in one layer."""
        return (1 if self.latent else 2) * self.heads * HEAD * self.bits / 8 / 1024


WAYS = (
    Kept("every head its own", "LLaMA 7B, 32 heads", 32),
    Kept("share", "Llama 3.1 8B, 8 groups", 8),
    Kept("share, and round to 4 bits", "the same", 8, ROUNDED),
    Kept("squeeze into a latent", "DeepSeek-V3, of 128 heads", 4.5, latent=True),
)


def kept(narrow: bool) -> Sheet:
    """A tile for each 128 numbers, as high as their bits: keys above values, or the latent."""
    wide, step, deep = (10.0, 104.0, 20.0) if narrow else (18.0, 86.0, 22.0)
    sheet = Sheet(NARROW, 402, 13) if narrow else Sheet(WIDE, 340, 14.5)
    left = 4.0 if narrow else 72.0
    for place, way in enumerate(WAYS):
        y = 8 + place * step
        sheet.text(left, y, way.name, anchor="start", style="d-bold")
        if narrow:
            sheet.text(left, y + 19, way.whose, anchor="start", style="d-muted", size=12.5)
        else:
            sheet.text(left + 230, y, way.whose, anchor="start", style="d-muted", size=14)
        words = f"{way.kib:.1f}".removesuffix(".0") + " KiB"
        sheet.text(left + 32 * wide, y, words, anchor="end", style="d-bold")
        top, high = y + (32 if narrow else 14), deep * way.bits / WHOLE_BITS
        for row, role in enumerate(("state",) if way.latent else ("key", "value")):
            at = left
            while at < left + way.heads * wide:
                end = min(at + wide, left + way.heads * wide)
                sheet.rect(at, top + row * (high + 3), end - at - 2, high, f"d-{role} d-box")
                at = end
    return sheet


KEPT = Drawing(
    name="kept-per-token",
    title="What one token leaves in one layer, to scale: a tile is 128 numbers.",
    description=(
        "Four rows of tiles, each tile 128 numbers, as high as their bits. Every head its own, as "
        "in LLaMA 7B: 32 tiles of keys above 32 of values, 16 KiB. Shared by groups, as in Llama "
        "3.1 8B: 8 and 8, 4 KiB. The same in 4 bits: a quarter as high, 1.1 KiB. A latent, as in "
        "DeepSeek-V3: one row of four and a half tiles for all 128 heads, 1.1 KiB."
    ),
    draw=kept,
    two_layouts=True,
)
