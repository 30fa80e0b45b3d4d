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

LEFT, PITCH, HIGH = 74.0, 52.0, 26.0
HEAD, TABLE, LOOK, STATE, WORD = 24.0, 52.0, 156.0, 212.0, 266.0
TALL = 322.0


def _panel(sheet: Sheet, x: float, top: float, name: str, first: bool) -> None:
    """One decoder: what it looks at and writes, told each word; below, the step that does it."""
    step = STEPS[name]
    title = "Bahdanau: the old state asks" if first else "Luong: the new state asks"
    sheet.text(x, top + 8, title, anchor="start", style="d-bold", size=14)
    for k, words in enumerate(("weights of", "the look")):
        y = top + HEAD + 6 + 14 * k
        sheet.text(x, y, words, anchor="start", style="d-muted", size=12.5)
    for j, word in enumerate(SOURCE):
        sheet.item("key", x + LEFT + j * PITCH + 1, top + HEAD, PITCH - 2, 26, word, size=12.5)
    writes = x + LEFT + 4 * PITCH + 28
    sheet.text(writes, top + HEAD + 13, "writes", style="d-muted", size=12.5)
    for i, (word, row) in enumerate(zip(READ, step.weights, strict=True)):
        y = top + TABLE + i * HIGH
        sheet.text(x, y + HIGH / 2, f"told {word}", anchor="start", size=12.5)
        for j, weight in enumerate(row):
            at = x + LEFT + j * PITCH
            sheet.cell(at, y, PITCH, HIGH, weight, f"{weight:.2f}", size=13)
        sheet.text(writes, y + HIGH / 2, step.writes[i], style="d-bold", size=13)
    old, new, out, wide, h = x + 40, x + 149, x + 258, 80, 32
    asks = old if first else new
    look, state, word = top + LOOK, top + STATE, top + WORD
    foot = top + TABLE + 2 * HIGH + 3
    # The look goes to the source: to one word, or to another with each word that is told.
    for place in dict.fromkeys(row.index(max(row)) for row in step.weights):
        at = x + LEFT + (place + 0.5) * PITCH
        sheet.arrow([(asks + wide / 2, look), (at, foot)], "query")
    if first:
        sheet.text(x + 196, look - 12, "told either word", anchor="start", size=12.5)
    else:
        sheet.text(x + 192, look - 24, f"told {READ[1]}", anchor="end", size=12.5)
        sheet.text(x + 242, look - 24, f"told {READ[0]}", anchor="start", size=12.5)
    # The look, between the state that asks and the row that it makes.
    sheet.arrow([(asks + wide / 2, state), (asks + wide / 2, look + h + 2)], "query")
    sheet.text(asks + wide / 2 - 7, state - 12, "asks", "query", anchor="end", size=12.5)
    sheet.item("query", asks, look, wide, h, "look", style="d-box" if first else "d-new")
    sheet.item("state", old, state, wide, h, "old state")
    sheet.item("state", new, state, wide, h, "new state", style="d-new")
    sheet.arrow([(old + wide, state + h / 2), (new - 3, state + h / 2)])
    sheet.rect(new - 6, word, wide + 12, h, "d-frame", 2)
    sheet.text(new + wide / 2, word + h / 2, " or ".join(READ), size=13)
    sheet.text(
        new - 14, word + h / 2, "the word it reads", anchor="end", style="d-muted", size=12.5
    )
    sheet.arrow([(new + wide / 2, word), (new + wide / 2, state + h + 3)])
    # What is written: from the new state, and from what the look of Luong found.
    if first:
        sheet.arrow([(old + wide - 6, look + h - 4), (new + 12, state - 2)], "value")
        sheet.text(new, look + h - 2, "what it finds", "value", anchor="start", size=12.5)
        sheet.arrow([(new + wide + 2, state + h / 2), (out - 3, state + h / 2)])
        up = out + wide / 2  # the last layer is given the look and the word as well
        sheet.arrow([(old + wide, look + h / 2), (up, look + h / 2), (up, state - 3)], "value")
        sheet.arrow([(new + wide + 6, word + h / 2), (up, word + h / 2), (up, state + h + 3)])
        y = state
    else:
        sheet.arrow([(new + wide + 2, look + h / 2), (out - 3, look + h / 2)], "value")
        sheet.arrow([(new + wide + 2, state + 6), (out + 14, look + h + 3)])
        y = look
    sheet.rect(out, y, wide, h, "d-state d-thickframe", 2)
    sheet.text(out + wide / 2, y + h / 2, "next word", size=13)
    note = "thick: what can change with the word it reads"
    sheet.text(x, top + TALL - 8, note, anchor="start", style="d-muted", size=12.5)


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
        "and it writes noir. Thick outlines mark what can change with the word that is read: the "
        "new state and the next word in both, and the look in Luong's alone. Bahdanau's next word "
        "is made from the new state, the look and the word; Luong's from the look and the state."
    ),
    draw=draw,
    two_layouts=True,
)
