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
    """The head's query, brought to the latent: by the transposed matrix."""
    return tuple(dot(column, QUERIES[head]) for column in turned(KEY_UP[head]))


def turned(matrix: tuple) -> tuple:
    """The transpose."""
    return tuple(zip(*matrix, strict=True))


def _matrix(sheet: Sheet, x: float, y: float, matrix: tuple) -> None:
    """Two rows in brackets, their middle at y."""
    for row, numbers in enumerate(matrix):
        for column, value in enumerate(numbers):
            sheet.text(x + 10 + 20 * column, y - 8 + 17 * row, number(value), size=sheet.size - 1)
    for side, foot in ((x, x + 4), (x + 42, x + 38)):
        sheet.line([(foot, y - 18), (side, y - 18), (side, y + 18), (foot, y + 18)], style="d-thin")


BESIDE = WIDE - NARROW
"""Where the second half begins, on a page wide enough for both."""


def draw(narrow: bool) -> Sheet:
    """A row for each head, made both ways, with the score that comes out."""
    sheet = Sheet(NARROW, 346, 13.5) if narrow else Sheet(WIDE, 150, 14.5)
    w, h, small = 66, 30, sheet.size - 1
    for below, title in enumerate(("make the keys", "or bring the queries")):
        x, top = (0, 184 * below) if narrow else (BESIDE * below, 0)
        sheet.text(x, top + 10, title, anchor="start", style="d-bold")
        made, matrix, kept = (x + at for at in ((134, 78, 250) if below else (92, 182, 244)))
        for head in (0, 1):
            y = top + 44 + 68 * head
            middle = y + h / 2
            sheet.text(x + w / 2, y - 9, f"query {head}", "query", size=small)
            sheet.item("query", x, y, w, h, vector(QUERIES[head]))
            if below:
                sheet.arrow([(x + w, middle), (x + w + 10, middle)], "query")
                sheet.arrow([(matrix + 44, middle), (made + 6, middle)], "query")
                sheet.item("query", made + 8, y, w, h, vector(absorbed(head)), style="d-new")
                sheet.text(made + 8 + w / 2, y - 9, "brought", "query", size=small)
                sheet.text(made + w + 22, middle, "·")
            else:
                sheet.text((x + w + made) / 2, middle, "·")
                sheet.text(made + w / 2, y - 9, f"key {head}", "key", size=small)
                sheet.item("key", made, y, w, h, vector(key(head)), style="d-new")
                sheet.arrow([(matrix - 4, middle), (made + w + 3, middle)], "key")
                sheet.arrow([(kept - 2, middle), (matrix + 46, middle)], "key")
            _matrix(sheet, matrix, middle, turned(KEY_UP[head]) if below else KEY_UP[head])
            name = f"W{head}ᵀ" if below else f"W{head}"
            sheet.text(matrix + 21, y - 14, name, style="d-muted", size=small)
            found = dot(absorbed(head), LATENT) if below else dot(QUERIES[head], key(head))
            words = f"= {number(found)}"
            sheet.text(x + NARROW, middle, words, "weight", anchor="end", style="d-bold")
        y = top + 44
        sheet.text(kept + 26, y - 9, "latent", size=small)
        sheet.item("state", kept, y, 52, 68 + h, vector(LATENT))
    return sheet


DRAWING = Drawing(
    name="latent-two-ways",
    title="A latent is kept. Each head makes a key of it, or brings its query to it: same scores.",
    description=(
        "The latent of a token is 3, 1. Two heads ask, each with a matrix. First, the matrix of "
        "head 0, rows 1, 0 and 1, 1, makes of the latent the key 3, 4, and its query 2, minus 1 "
        "gives the score 2; that of head 1, rows 0, 1 and 1, minus 1, makes 1, 2, and its query "
        "1, 1 gives 3. Then, no key is made: the queries go through the matrices, transposed, are "
        "1, minus 1 and 1, 0, are compared with the latent itself, and give 2 and 3."
    ),
    draw=draw,
    two_layouts=True,
)


# -- the values ----------------------------------------------------------------------------------

LATENTS, SHARE = ((3, 1), (1, 3)), 0.5
VALUE_UP = ((0, 2), (1, 0))
"""Two tokens, on which the weights fall alike, and what makes a head's value of a latent."""


def value(latent: tuple) -> tuple:
    """What the head makes of a latent."""
    return tuple(dot(row, latent) for row in VALUE_UP)


def average(vectors: tuple) -> tuple:
    """The mean of two, weighted alike."""
    return tuple(SHARE * sum(numbers) for numbers in zip(*vectors, strict=True))


def values(narrow: bool) -> Sheet:
    """Two latents: made into values and averaged, or averaged and then made into one value."""
    sheet = Sheet(NARROW, 238, 13.5) if narrow else Sheet(WIDE, 112, 14.5)
    w, h, kept, rows, middle = 62, 30, 50, (34, 76), 70
    for below, title in enumerate(("make the values, then average", "or average the latents")):
        x, y = (0, 126 * below) if narrow else (BESIDE * below, 0)
        last = x + NARROW - w
        sheet.text(x, y + 10, title, anchor="start", style="d-bold")
        for row, latent in zip(rows, LATENTS, strict=True):
            at = y + row + h / 2
            sheet.item("state", x, y + row, kept, h, vector(latent))
            if below:
                sheet.text(x + 70, at, "× ½", "weight")
                sheet.arrow([(x + 88, at), (x + 116, y + middle)], "state")
                continue
            sheet.arrow([(x + 52, at), (x + 66, at)], "value")
            _matrix(sheet, x + 70, at, VALUE_UP)
            sheet.arrow([(x + 116, at), (x + 130, at)], "value")
            sheet.item("value", x + 134, y + row, w, h, vector(value(latent)), style="d-new")
            sheet.text(x + 216, at, "× ½", "weight")
            sheet.arrow([(x + 234, at), (last - 4, y + middle)], "value")
        if below:
            mean = vector(average(LATENTS))
            sheet.item("state", x + 120, y + middle - h / 2, kept, h, mean, style="d-new")
            sheet.arrow([(x + 172, y + middle), (x + 188, y + middle)], "value")
            _matrix(sheet, x + 192, y + middle, VALUE_UP)
            sheet.text(x + 213, y + middle - 27, "V", style="d-muted", size=sheet.size - 1)
            sheet.arrow([(x + 238, y + middle), (last - 4, y + middle)], "value")
            read = value(average(LATENTS))
        else:
            sheet.text(x + 91, y + rows[0] - 10, "V", style="d-muted", size=sheet.size - 1)
            read = average(tuple(value(one) for one in LATENTS))
        sheet.item("value", last, y + middle - h / 2, w, h, vector(read))
    return sheet


VALUES = Drawing(
    name="latent-values",
    title="Average the values, or average the latents and make one value: the same.",
    description=(
        "Two tokens have the latents 3, 1 and 1, 3, and a weight of one half each. First, a "
        "head's value matrix, rows 0, 2 and 1, 0, makes the values 2, 3 and 6, 1 of them, whose "
        "average is 4, 2. Then, the latents are averaged first, to 2, 2, and the matrix is "
        "applied once: 4, 2 again."
    ),
    draw=values,
    two_layouts=True,
)


# -- places --------------------------------------------------------------------------------------

OLD = ((3, 1), (1, 3), (2, 1))
"""Latents of a token two places back, of the last one, and of the one that asks."""
QUARTERS = (2, 1, 0)
"""How many quarter turns lie between each and the query: one a place."""
AWAY = ("here", "one back", "two back")


def turned_on(query: tuple, quarters: int) -> tuple:
    """The query, turned on by so many quarters, as it lies ahead of a key."""
    for _ in range(quarters):
        query = (-query[1], query[0])
    return query


def brought_from(quarters: int) -> tuple:
    """Head 0's query, brought to a latent whose key would be turned so far from it."""
    query = turned_on(QUERIES[0], quarters)
    return tuple(dot(column, query) for column in turned(KEY_UP[0]))


def places(narrow: bool) -> Sheet:
    """One query brought once for all latents, or brought afresh for each; and what is done."""
    sheet = Sheet(NARROW, 408, 13.5) if narrow else Sheet(WIDE, 190, 14.5)
    w, h, step, small = 62, 24, 42, sheet.size - 1
    for turns, title in enumerate(("no places: brought once", "90° a place: brought afresh")):
        x, y = (0, 168 * turns) if narrow else (BESIDE * turns, 0)
        sheet.text(x, y + 10, title, anchor="start", style="d-bold")
        middle = y + 28 + step + h / 2
        sheet.item("query", x, middle - h / 2, w, h, vector(QUERIES[0]))
        if not turns:
            sheet.arrow([(x + w, middle), (x + 92, middle)], "query")
            sheet.text(x + 76, middle - 13, "W0ᵀ", style="d-muted", size=small)
            sheet.item(
                "query", x + 95, middle - h / 2, w, h, vector(brought_from(0)), style="d-new"
            )
        for row, (latent, quarters) in enumerate(zip(OLD, QUARTERS, strict=True)):
            top = y + 28 + step * row
            at = top + h / 2
            sheet.item("state", x + 240, top, 50, h, vector(latent))
            sheet.text(x + 265, top - 9, AWAY[quarters], style="d-muted", size=small)
            if turns:
                sheet.text(x + 132, at - 12, "W0ᵀ", style="d-muted", size=small - 1)
                made = brought_from(quarters)
                sheet.arrow([(x + w, middle), (x + 84, at)], "query")
                sheet.text(x + 104, at, f"{90 * quarters}°", "key", size=small)
                sheet.arrow([(x + 123, at), (x + 141, at)], "query")
                sheet.item("query", x + 144, top, w, h, vector(made), style="d-new")
                sheet.arrow([(x + 144 + w, at), (x + 237, at)], "query")
            else:
                made = brought_from(0)
                sheet.arrow([(x + 95 + w, middle), (x + 237, at)], "query")
            words = f"= {number(dot(made, latent))}"
            sheet.text(x + NARROW, at, words, "weight", anchor="end", style="d-bold")
    y = 344 if narrow else 157
    kept = "so a token keeps"
    sheet.text(0, y + 15, kept, anchor="start", style="d-bold")
    x, w = (140, 82) if narrow else (168, 92)
    sheet.item("state", x, y, w, 30, "latent")
    sheet.item("key", x + w + 4, y, 110, 30, "turned key")
    words, at = "the short key is turned once, for all heads", (0, 46) if narrow else (390, 15)
    sheet.text(at[0], y + at[1], words, anchor="start", style="d-muted")
    return sheet


PLACES = Drawing(
    name="latent-places",
    title="One brought query serves all latents, until keys are turned by their places.",
    description=(
        "Three tokens, two back, one back and here, have the latents 3, 1 and 1, 3 and 2, 1. "
        "Without places the query 2, minus "
        "1 goes through the transposed matrix of head 0 once, is 1, minus 1, and gives the scores "
        "2, minus 2 and 1. With keys that are turned by a quarter for each place, the query is "
        "turned by 180, 90 and 0 degrees first: once brought it is minus 1, 1, then 3, 2, then 1, "
        "minus 1, another for each token, and the scores are minus 2, 9 and 1. "
        "So each token keeps its latent, without a place, and one short turned key for all heads."
    ),
    draw=places,
    two_layouts=True,
)


# -- what is kept --------------------------------------------------------------------------------

HEAD, WHOLE_BITS = 128, 16
"""Features of a head in all of these models, and the bits of a number."""
ROUNDED = 4 + 32 / 64
"""Bits of a number in four bits: each 64 share two more of 16."""


class Kept(NamedTuple):
    """One way: its name and what it does, who keeps that, their layers and queries, how the queries
    of a tile are stacked (columns of dots), heads of keys and as many of values, or a latent."""

    name: str
    does: str
    whose: str
    layers: int
    queries: int
    columns: int
    heads: float
    bits: float = WHOLE_BITS
    latent: bool = False

    @property
    def kib(self) -> float:
        """KiB that a token leaves in one layer."""
        return (1 if self.latent else 2) * self.heads * HEAD * self.bits / 8 / 1024

    @property
    def tiles(self) -> int:
        """What the queries are shared out to: heads, or the whole latent."""
        return 1 if self.latent else int(self.heads)

    @property
    def deep(self) -> int:
        """Rows of dots above a tile, or above the latent."""
        return -(-self.queries // self.tiles // self.columns)


WAYS = (
    Kept("multi-head", "", "Llama 2 7B", 32, 32, 1, 32),
    Kept("grouped-query", "four queries share", "Llama 3.1 8B", 32, 32, 2, 8),
    Kept("multi-query", "all 48 queries share", "StarCoder", 40, 48, 12, 1),
    Kept("latent", "all 128 share one vector", "DeepSeek-V3", 61, 128, 16, 4.5, latent=True),
    Kept("grouped-query, rounded", "4 bits a number, 4.5 with scales", "Llama 3.1 8B", 32, 32, 2, 8,
         ROUNDED),
)  # fmt: skip


def _short(kib: float) -> str:
    """A size as the sums have it: one decimal below 10, and none where it is 0."""
    return (f"{kib:.1f}" if kib < 10 else f"{kib:.0f}").removesuffix(".0")


def kept(narrow: bool) -> Sheet:
    """A tile for each 128 numbers, as high as their bits: keys above values, or the latent; above
    them a dot for each query that reads there."""
    wide, deep, dot, left = (10.0, 14.0, 4.2, 4.0) if narrow else (18.0, 16.0, 5.0, 72.0)
    sheet = Sheet(NARROW, 478, 13) if narrow else Sheet(WIDE, 408, 14.5)
    y, right = 8.0, left + 32 * wide
    for way in WAYS:
        sheet.text(left, y, way.name, anchor="start", style="d-bold")
        words, total = (
            f"{way.whose}: {_short(way.kib)} KiB × {way.layers} layers",
            way.kib * way.layers,
        )
        if narrow:
            sheet.text(left, y + 18, f"{words} =", anchor="start", style="d-muted", size=12.5)
        else:
            sheet.text(right - 68, y, f"{words} =", anchor="end", style="d-muted", size=14)
        sheet.text(right, y + 18 * narrow, f"{_short(total)} KiB", anchor="end", style="d-bold")
        dots = y + (34 if narrow else 17)
        _dots(sheet, way, left, dots, wide, dot)
        top, high = dots + dot * way.deep + 3, deep * way.bits / WHOLE_BITS
        names = [("query", "queries", dots + dot * (way.deep - 1) / 2 - 2)]
        for row, role in enumerate(("state",) if way.latent else ("key", "value")):
            at, upper = left, top + row * (high + 3)
            names.append((role, "latent" if way.latent else f"{role}s", upper + high / 2))
            while at < left + way.heads * wide:
                end = min(at + wide, left + way.heads * wide)
                sheet.rect(at, upper, end - at - 2, high, f"d-{role} d-box")
                at = end
        sheet.text(at + 10, top + high / 2, way.does, anchor="start", style="d-muted", size=13)
        for role, word, height in names if not narrow and way.bits == WHOLE_BITS else ():
            sheet.text(left - 8, height, word, role, anchor="end", size=13)
        y = upper + high + (17 if narrow else 19)
    if narrow:
        for x, role, word in (
            (4, "query", "● queries"), (92, "key", "keys"), (148, "value", "values"),
            (214, "state", "latent"),
        ):  # fmt: skip
            sheet.text(x, y + 2, word, role, anchor="start")
    return sheet


def _dots(sheet: Sheet, way: Kept, left: float, top: float, wide: float, dot: float) -> None:
    """A dot for each query, above the tile that it reads."""
    across = wide * (way.heads if way.latent else 1) - 2
    for tile in range(way.tiles):
        middle = left + max(tile * wide + across / 2, dot * way.columns / 2)
        for place in range(way.queries // way.tiles):
            x = middle + dot * (place % way.columns - (way.columns - 1) / 2)
            sheet.circle(x, top + dot * (place // way.columns), 1.3, "d-query d-solid")


KEPT = Drawing(
    name="kept-per-token",
    title="What one token leaves in one layer: a tile is 128 numbers, a dot the query of a head.",
    description=(
        "Five rows of tiles, each tile 128 numbers, as high as their bits, with a dot above for "
        "each query that reads there. Multi-head, Llama 2 7B: 32 tiles of keys above 32 of values, "
        "a dot for each; 16 KiB in each of 32 layers, 512 KiB. Grouped-query, Llama 3.1 8B: 8 and "
        "8 tiles, four dots for each; 4 KiB, 128 KiB in 32 layers. Multi-query, StarCoder: one "
        "and one, with all 48 dots above; 0.5 KiB, 20 KiB in 40 layers. Latent, DeepSeek-V3: one "
        "row of four and a half tiles with 128 dots above; 1.1 KiB, 69 KiB in 61 layers. Grouped-"
        "query, rounded to 4 bits, 4.5 with scales: the second row, about a quarter as high; "
        "1.1 KiB, 36 KiB."
    ),
    draw=kept,
    two_layouts=True,
)
