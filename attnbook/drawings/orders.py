"""Chapter 07: where *not* looks in two orders of the same words, without positions and with."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

ORDERS = ("hang them not let them go", "let them go not hang them")

LOOKS = {
    "none": (
        "without positions",
        [
            ([0.48, 0.01, 0.02, 0.46, 0.01, 0.03], "let them go", 0.57),
            ([0.46, 0.01, 0.03, 0.02, 0.48, 0.01], "let them go", 0.57),
        ],
    ),
    "sinusoidal": (
        "with positions",
        [
            ([1.00, 0.00, 0.00, 0.00, 0.00, 0.00], "hang them", 1.00),
            ([0.99, 0.01, 0.00, 0.00, 0.00, 0.00], "let them go", 1.00),
        ],
    ),
}
"""By kind of position, for either order: the weights at *not*, what is done, and how surely. From
the models of `results/orders.json`, seed 0."""

PITCH, TILE, HEIGHT, CELL = 42.0, 39.0, 24.0, 17.0
ROW, BLOCK = 52.0, 134.0
ANSWER = 6 * PITCH + 6


def _row(sheet: Sheet, y: float, words: list[str], look: tuple) -> None:
    """One order, the weight of each of its words, and what the model then does."""
    weights, deed, share = look
    for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
        role = "query" if word == "not" else "state"
        sheet.item(role, 1 + place * PITCH, y, TILE, HEIGHT, word, size=12)
        at = 1 + place * PITCH, y + HEIGHT + 2
        sheet.cell(*at, TILE, CELL, weight, f"{weight:.2f}", size=11.5)
    right = " ".join(words).startswith(deed)
    sheet.text(ANSWER, y + HEIGHT / 2, deed, anchor="start", style="d-bold", size=12.5)
    verdict = f"{share:.2f}: {'obeyed' if right else 'wrong'}"
    sheet.text(ANSWER, y + HEIGHT + 2 + CELL / 2, verdict, anchor="start", size=12.5)


def draw(narrow: bool) -> Sheet:
    """Two orders without positions, and both again with them."""
    sheet = Sheet(NARROW, 260, 13.5)
    for block, (name, looks) in enumerate(LOOKS.values()):
        top = block * BLOCK
        sheet.text(1, top + 8, name, anchor="start", style="d-bold", size=12.5)
        sheet.text(5 * PITCH + 40, top + 8, "weights at not", "weight", anchor="end", size=12)
        sheet.text(ANSWER, top + 8, "its decision", anchor="start", style="d-muted", size=12)
        for at, (order, look) in enumerate(zip(ORDERS, looks, strict=True)):
            _row(sheet, top + 22 + at * ROW, order.split(), look)
    return sheet


DRAWING = Drawing(
    name="two-orders",
    title="Without positions the weights travel with their words, and both orders get one answer.",
    description=(
        "Two blocks of two rows of six words: hang them not let them go, and let them go not hang "
        "them. Below each word the weight that the word not gives it. Without positions: hang 0.48 "
        "and let 0.46 in either order, and either is answered let them go, 0.57: wrong for the "
        "first. With positions: the first word has a weight of 1.00, or 0.99, and both are obeyed, "
        "1.00."
    ),
    draw=draw,
)
