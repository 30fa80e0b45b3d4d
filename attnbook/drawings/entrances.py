"""Chapter 07: the three places where positions can come in."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

KINDS = (
    ("on the embeddings", "sinusoidal, learned", "+ a vector for each position"),
    ("on queries and keys", "rotary", "a turn for each position"),
    ("on the scores", "ALiBi, relative bias", "+ a number for each distance"),
)


def draw(narrow: bool) -> Sheet:
    """The way of a word, from the embedding to its weights, and what enters beside it."""
    sheet = Sheet(NARROW, 326, 13.5)
    sheet.item("state", 20, 8, 84, 30, "embedding")
    for x, role, word in ((2, "query", "query"), (66, "key", "key")):
        sheet.arrow([(62, 38), (x + 28, 106)], "state")
        sheet.item(role, x, 108, 56, 30, word)
        sheet.arrow([(x + 28, 138), (62, 206)], role)
    sheet.item("state", 20, 208, 84, 30, "scores")
    sheet.arrow([(62, 238), (62, 288)], "state")
    sheet.item("weight", 20, 290, 84, 30, "weights")
    for (place, names, how), y in zip(KINDS, (64, 170, 262), strict=True):
        sheet.text(130, y - 20, place, anchor="start", style="d-muted", size=12.5)
        sheet.text(130, y, names, anchor="start", style="d-bold")
        sheet.text(130, y + 20, how, anchor="start", size=12.5)
        sheet.arrow([(126, y), (80, y)], "state")
    return sheet


DRAWING = Drawing(
    name="position-entrances",
    title="Positions come in at one of three places: embeddings, queries and keys, or scores.",
    description=(
        "A word's way from its embedding to a query and a key, to scores and to weights. Beside "
        "the embedding: sinusoidal and learned positions add a vector for each position. Beside "
        "query and key: rotary positions turn both by an angle for each position. Beside the "
        "scores: ALiBi and a relative bias add a number for each distance."
    ),
    draw=draw,
)
