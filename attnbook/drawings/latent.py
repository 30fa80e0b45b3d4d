"""Chapter 13b: a latent read by two heads, by making its keys and by bringing the queries to it."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number, vector

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


def draw(narrow: bool) -> Sheet:
    """A row for each head, made both ways, with the score that comes out."""
    sheet = Sheet(NARROW, 330, 13.5)
    w, h, left, right, score = 74, 30, 0, 128, 284
    for top, title in ((0, "make the keys"), (174, "or bring the queries")):
        sheet.text(0, top + 10, title, anchor="start", style="d-bold")
        for head in (0, 1):
            y = top + 34 + 62 * head
            sheet.text(left + w / 2, y - 8, f"query {head}", "query", size=12.5)
            sheet.item("query", left, y, w, h, vector(QUERIES[head]))
            if top:
                sheet.arrow([(left + w, y + h / 2), (right - 3, y + h / 2)], "query")
                sheet.item("query", right, y, w, h, vector(absorbed(head)), style="d-new")
                sheet.text(right + w / 2, y - 8, "brought", "query", size=12.5)
                sheet.text(right + w + 12, y + h / 2, "·")
            else:
                sheet.text(right - 18, y + h / 2, "·")
                sheet.text(right + w / 2, y - 8, f"key {head}", "key", size=12.5)
                sheet.item("key", right, y, w, h, vector(key(head)), style="d-new")
                sheet.arrow([(right + w + 40, y + h / 2), (right + w + 3, y + h / 2)], "key")
            found = dot(absorbed(head), LATENT) if top else dot(QUERIES[head], key(head))
            sheet.text(score + 38, y + h / 2, f"= {number(found)}", "weight", style="d-bold")
        y = top + 34 + 31
        x = right + w + 24 if top else right + w + 42
        sheet.text(x + 26, y - 8, "latent", size=12.5)
        sheet.item("state", x, y, 52, h, vector(LATENT))
    return sheet


DRAWING = Drawing(
    name="latent-two-ways",
    title="A latent is kept. Each head makes a key of it, or brings its query to it: same scores.",
    description=(
        "The latent of a token is 3, 1. Two heads ask. Above, head 0 makes of it the key 3, 4, and "
        "its query 2, minus 1 gives the score 2; head 1 makes 1, 2, and its query 1, 1 gives 3. "
        "Below, no key is made: the queries become 1, minus 1 and 1, 0, are compared with the "
        "latent itself, and give 2 and 3."
    ),
    draw=draw,
)
