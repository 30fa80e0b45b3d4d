"""Chapter 07: two orders with the same words, for a model that cannot see places."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

ORDERS = ("hang them not let them go", "let them go not hang them")
BAG = sorted(ORDERS[0].split())

ANSWERS = {"hang them": 0.43, "let them go": 0.57}
"""What the model without positions of `results/orders.json`, seed 0, makes of either order."""

PITCH, TILE, HEIGHT = 55.0, 50.0, 28.0
LEFT = (NARROW - 5 * PITCH - TILE) / 2


def _tiles(sheet: Sheet, y: float, words: list[str]) -> None:
    for place, word in enumerate(words):
        role = "query" if word == "not" else "key"
        sheet.item(role, LEFT + place * PITCH, y, TILE, HEIGHT, word, size=13)


def _slots(words: list[str]) -> list[int]:
    """For each word its place in the bag; equal words take theirs from left to right."""
    free = list(BAG)
    slots = []
    for word in words:
        slots.append(free.index(word))
        free[slots[-1]] = ""
    return slots


def _pour(sheet: Sheet, words: list[str], start: float, end: float) -> None:
    """An arrow from each word of an order to its place in the bag."""
    middle = LEFT + TILE / 2
    for place, slot in enumerate(_slots(words)):
        role = "query" if words[place] == "not" else "key"
        sheet.arrow(
            [(middle + place * PITCH, start), (middle + slot * PITCH, end)], role, style="d-thin"
        )


def draw(narrow: bool) -> Sheet:
    """One order above the bag, one below it, and the answer that both get."""
    sheet = Sheet(NARROW, 326, 13.5)
    above, below = (order.split() for order in ORDERS)
    sheet.text(LEFT, 10, "one order", anchor="start", style="d-muted", size=12.5)
    _tiles(sheet, 24, above)
    sheet.shape("state", 2, 106, NARROW - 4, HEIGHT + 12)
    _tiles(sheet, 112, BAG)
    _tiles(sheet, 194, below)
    sheet.text(LEFT, 236, "the other order", anchor="start", style="d-muted", size=12.5)
    _pour(sheet, above, 24 + HEIGHT, 105)
    _pour(sheet, below, 194, 107 + HEIGHT + 12)
    sheet.text(LEFT, 268, "one answer to both", anchor="start", style="d-bold")
    for y, (deed, share) in zip((292, 314), ANSWERS.items(), strict=True):
        sheet.text(LEFT, y, deed, anchor="start")
        sheet.bar(108, y - 5, 180, 10, share)
        sheet.text(NARROW - 6, y, number(share), anchor="end", size=12.5)
    return sheet


DRAWING = Drawing(
    name="two-orders",
    title="A model without positions reads two orders as one bag of words, and answers both alike.",
    description=(
        "Two rows of six words: hang them not let them go, and let them go not hang them. Arrows "
        "lead from the words of both to one row between them, in alphabetical order: go, hang, "
        "let, not, them, them. Below, one answer to both: hang them 0.43, let them go 0.57."
    ),
    draw=draw,
)
