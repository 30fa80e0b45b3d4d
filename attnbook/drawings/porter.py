"""Chapter 14: two guests in one state of two numbers, written by three rules."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number, vector

GUESTS = {"Ann": ((1.0, 0.0), 5.0), "Ben": ((0.6, 0.8), 10.0)}
"""The key of each, of length 1, and the room."""

ALPHA = 0.5
RULES = {"sum": "add", "delta": "correct", "gated": "fade by half, correct"}

Row = tuple[float, float]


def dot(a: Row, b: Row) -> float:
    """The product of two keys, or of a state and a key."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def written(rule: str) -> tuple[Row, float, float, Row]:
    """The state before Ben, what it then says for him, what is added for him, and the state."""
    (first, room), (key, other) = GUESTS.values()
    state = tuple(room * x for x in first)
    if rule == "gated":
        state = tuple(ALPHA * x for x in state)
    says = dot(state, key)
    added = other if rule == "sum" else other - says
    return state, says, added, tuple(x + added * y for x, y in zip(state, key, strict=True))


def draw(narrow: bool) -> Sheet:
    """A row a rule: the state, what is added, the state after, and what it says (and should)."""
    sheet = Sheet(NARROW, 318, 13.5)
    for place, (name, (key, room)) in enumerate(GUESTS.items()):
        y = 4 + place * 32
        sheet.text(0, y + 13, f"{name}", anchor="start", style="d-bold")
        sheet.item("key", 44, y, 96, 26, vector(key), size=13)
        sheet.item("value", 150, y, 44, 26, number(room), size=13)
        told = "told first" if place == 0 else "told second"
        sheet.text(204, y + 13, told, anchor="start", style="d-muted", size=12.5)
    sheet.text(92, 74, "key", "key", size=12.5)
    sheet.text(172, 74, "room", "value", size=12.5)
    for place, (rule, words) in enumerate(RULES.items()):
        y = 92 + place * 76
        before, says, added, after = written(rule)
        sheet.text(0, y + 6, words, anchor="start", style="d-bold", size=13)
        if rule != "sum":
            told = f"Ben? {number(says)}, so write {number(added)}"
            sheet.text(NARROW, y + 6, told, anchor="end", style="d-muted", size=12.5)
        sheet.item("state", 0, y + 20, 66, 30, vector(before), size=13)
        sheet.text(109, y + 35, f"+ {number(added)} × key", size=13)
        sheet.arrow([(153, y + 35), (170, y + 35)])
        sheet.item("state", 173, y + 20, 74, 30, vector(after), style="d-new", size=13)
        for row, (name, (key, right)) in enumerate(GUESTS.items()):
            found = dot(after, key)
            exact = abs(found - right) < 1e-9
            sheet.text(
                NARROW, y + 27 + 17 * row,
                f"{name}? {number(found)}" + ("" if exact else f" ({number(right)})"), "value",
                anchor="end", style="d-bold" if exact else "", size=13,
            )  # fmt: skip
    return sheet


DRAWING = Drawing(
    name="porter-state",
    title="Two guests in one state of two numbers: add, or write what it does not yet say.",
    description=(
        "Ann has the key 1, 0 and room 5, Ben the key 0.6, 0.8 and room 10. Added, they leave the "
        "state 11, 8, which says 11 for Ann and 13 for Ben. By the delta rule the state 5, 0 is "
        "asked for Ben first and says 3, so 7 times his key is added: 9.2, 5.6, which says 9.2 "
        "for Ann and 10 for Ben. With a gate of one half the state is 2.5, 0 before Ben, says 1.5 "
        "for him, gets 8.5 times his key and is 7.6, 6.8: 7.6 for Ann and 10 for Ben."
    ),
    draw=draw,
)
