"""Chapter 04b: one step of two trained decoders, told one word and then another in its place."""

from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

SOURCE, READ = ("the", "small", "black", "cat"), ("petit", "chat")
"""What both translate; what both are told after *le*, the right word and one in its place."""


class Step(NamedTuple):
    """The weights of the look after *le* and the word that is read, and what is then written."""

    weights: tuple[tuple[float, ...], ...]
    writes: tuple[str, ...]


STEPS = {
    "toy_french_additive": Step(((0.0, 0.02, 0.04, 0.93),) * 2, ("chat", "chat")),
    "toy_french_dot": Step(((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0)), ("chat", "noir")),
}
"""Of the recorded models of toy French: Bahdanau's, and Luong's with dot, without input feeding."""

LEFT, PITCH, HIGH = 84.0, 64.0, 28.0
TABLE, LOOK, STATE, WORD = 66.0, 166.0, 232.0, 298.0
TALL = 366.0


def _panel(sheet: Sheet, x: float, top: float, name: str, first: bool) -> None:
    """One decoder: the source and its weights above, the step below; what can change is thick."""
    step = STEPS[name]
    title = "Bahdanau: the old state asks" if first else "Luong: the new state asks"
    sheet.text(x, top + 10, title, anchor="start", style="d-bold", size=14)
    sheet.text(x, top + 43, "source", anchor="start", style="d-muted", size=12.5)
    for j, word in enumerate(SOURCE):
        sheet.item("key", x + LEFT + j * PITCH + 2, top + 30, PITCH - 4, 26, word, size=13)
    for i, (word, row) in enumerate(zip(READ, step.weights, strict=True)):
        y = top + TABLE + i * HIGH
        sheet.text(x, y + HIGH / 2, f"told {word}", anchor="start", size=12.5)
        for j, weight in enumerate(row):
            at = x + LEFT + j * PITCH
            sheet.cell(at, y, PITCH, HIGH, weight, f"{weight:.2f}", size=13)
    old, new, wide, h = x + 56, x + 166, 80, 34
    asks = old if first else new
    look, state, word = top + LOOK, top + STATE, top + WORD
    foot = top + TABLE + 2 * HIGH
    # The look, between the state that asks and the row that it makes.
    sheet.arrow([(asks + wide / 2, state), (asks + wide / 2, look + h + 1)], "query")
    sheet.arrow([(asks + wide / 2, look), (asks + wide / 2, foot + 3)], "query")
    sheet.item("query", asks, look, wide, h, "look", style="d-box" if first else "d-new")
    sheet.item("state", old, state, wide, h, "old state")
    sheet.item("state", new, state, wide, h, "new state", style="d-new")
    sheet.arrow([(old + wide, state + h / 2), (new - 3, state + h / 2)])
    sheet.rect(new, word, wide, h, "d-frame", 2)
    sheet.text(new + wide / 2, word + h / 2, " / ".join(READ), size=13)
    sheet.text(new - 10, word + h / 2, "reads", anchor="end", style="d-muted", size=12.5)
    sheet.arrow([(new + wide / 2, word), (new + wide / 2, state + h + 3)])
    left, right = READ
    note = f"left of a slash: told {left}; right of it: told {right}"
    sheet.text(x, top + TALL - 10, note, anchor="start", style="d-muted", size=12.5)
    # What is written: from the new state, and from what Luong's look found.
    out, box = x + 264, 76.0
    if first:
        sheet.arrow([(old + wide - 8, look + h - 4), (new + 10, state - 2)], "value")
        sheet.arrow([(new + wide, state + h / 2), (out - 3, state + h / 2)])
        y = state
    else:
        sheet.arrow([(new + wide, look + h / 2), (out - 3, look + h / 2)], "value")
        sheet.arrow([(new + wide, state + 6), (out + 12, look + h + 3)])
        y = look
    sheet.rect(out, y, box, h, "d-frame", 2)
    sheet.text(out + box / 2, y + h / 2, " / ".join(step.writes), size=13)
    sheet.text(out + box / 2, y + h + 14, "writes", style="d-muted", size=12.5)


def draw(narrow: bool) -> Sheet:
    """Both decoders, side by side or one below the other."""
    if narrow:
        sheet = Sheet(NARROW, 2 * TALL + 12, 13.5)
        places = ((0.0, 0.0), (0.0, TALL + 12))
    else:
        sheet = Sheet(WIDE, TALL, 13.5)
        places = ((0.0, 0.0), (WIDE - NARROW, 0.0))
    for (x, top), (place, name) in zip(places, enumerate(STEPS), strict=True):
        _panel(sheet, x, top, name, place == 0)
    return sheet


DRAWING = Drawing(
    name="which-state",
    title="Told another word, Bahdanau’s look stays where it was, and Luong’s moves.",
    description=(
        "One step of two trained decoders that translate the small black cat. After le they are "
        "told petit, then chat in its place. Bahdanau's old state asks, before the word is read: "
        "0.93 of its look is on cat both times, and it writes chat both times. Luong's new state "
        "asks: told petit, its look is on cat and it writes chat; told chat, its look is on black "
        "and it writes noir. Thick outlines mark what the word read can change: the new state in "
        "both, and the look in Luong's alone."
    ),
    draw=draw,
    two_layouts=True,
)
