"""Chapter 14: two guests in one state of two numbers, written by two rules."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

GUESTS = {"Ann": ((1.0, 0.0), 5.0), "Ben": ((0.6, 0.8), 10.0)}
"""The key of each, of length 1, and the room."""

RULES = {"sum": "Add", "delta": "Correct"}

Row = tuple[float, float]


def dot(a: Row, b: Row) -> float:
    """The product of two keys, or of a state and a key."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def product(a: Row, b: Row) -> str:
    """How that product is worked out, and what it is."""
    terms = (f"{number(x)} × {number(y)}" for x, y in zip(a, b, strict=True))
    return f"{' + '.join(terms)} = {number(dot(a, b))}"


def written(rule: str) -> tuple[Row, float, Row]:
    """The state before Ben, what is added for him, and the state after."""
    (first, room), (key, other) = GUESTS.values()
    state = tuple(room * x for x in first)
    added = other if rule == "sum" else other - dot(state, key)
    return state, added, tuple(x + added * y for x, y in zip(state, key, strict=True))


def said(name: str, state: Row) -> str:
    """A question, and what the state answers to it."""
    return f"{name}? {product(state, GUESTS[name][0])}"


def draw(narrow: bool) -> Sheet:
    """The guests; then, rule by rule, the state, what is added, the state after, two answers."""
    sheet = Sheet(NARROW, 393, 13) if narrow else Sheet(WIDE, 216, 13)
    for place, (name, (key, room)) in enumerate(GUESTS.items()):
        x, y = (0, 2 + place * 32) if narrow else (place * (WIDE - NARROW), 2)
        sheet.text(x, y + 13, name, anchor="start", style="d-bold", size=14)
        sheet.item("key", x + 40, y, 90, 26, vector(key))
        sheet.item("value", x + 140, y, 44, 26, number(room))
        told = "told first" if place == 0 else "told second"
        sheet.text(x + 196, y + 13, told, anchor="start", style="d-muted")
        if place or not narrow:
            sheet.text(x + 87, y + 38, "key", "key")
            sheet.text(x + 162, y + 38, "room", "value")
        if place:
            (one, _), (other, _) = GUESTS.values()
            overlap = f"Ann’s key · Ben’s = {number(dot(one, other))}"
            sheet.text(x + NARROW, y + 38, overlap, anchor="end", size=12)
    _rule(sheet, "sum", 0, 84 if narrow else 64)
    _rule(sheet, "delta", *((0, 241) if narrow else (WIDE - NARROW, 64)))
    return sheet


def _rule(sheet: Sheet, rule: str, x: float, y: float) -> None:
    """What a rule does with Ben, from (x, y) down."""
    before, added, after = written(rule)
    sheet.line([(x, y), (x + NARROW, y)], style="d-muted d-thin")
    sheet.text(x, y + 18, RULES[rule], anchor="start", style="d-bold", size=14)
    first = "All 10 are written, without asking"
    if rule == "delta":
        first = f"{said('Ben', before)}, so {number(added)} are missing"
    sheet.text(x, y + 41, first, anchor="start")
    y += 30
    sheet.text(x + 49, y + 36, "state after Ann", "state", size=12)
    sheet.text(x + 291, y + 36, "state after Ben", "state", size=12)
    sheet.item("state", x + 1, y + 46, 66, 28, vector(before))
    sheet.text(x + 78, y + 60, f"+ {number(added)} × Ben’s key", anchor="start")
    sheet.arrow([(x + 204, y + 60), (x + 258, y + 60)])
    sheet.item("state", x + 267, y + 46, 71, 28, vector(after), style="d-new")
    for row, (name, (key, room)) in enumerate(GUESTS.items()):
        right = abs(dot(after, key) - room) < 1e-9
        line = y + 92 + 20 * row
        sheet.text(x, line, said(name, after), anchor="start")
        verdict = "✓" if right else f"✗ should be {number(room)}"
        sheet.text(
            x + NARROW, line, verdict, "value" if right else None, anchor="end", style="d-bold"
        )


DRAWING = Drawing(
    name="porter-state",
    title="Two guests in one state of two numbers: add, or write only what is missing.",
    description=(
        "Ann has the key 1, 0 and room 5, Ben the key 0.6, 0.8 and room 10; the keys overlap by "
        "0.6. After Ann the state is "
        "5, 0. Added, they leave the state 11, 8, which says 11 for Ann and 13 for Ben. By the "
        "delta rule the state 5, 0 is asked for Ben first and says 3, so 7 times his key is added: "
        "9.2, 5.6, which says 9.2 for Ann and 10 for Ben."
    ),
    draw=draw,
    two_layouts=True,
)
