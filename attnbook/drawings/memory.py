"""Chapters 01 and 02: what a state keeps of its inputs, and looking back at all states."""

from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

INPUTS = (6, 2, 4)
KEPT = Fraction(1, 2)
"""Of chapter 01's example: half of the state is kept at a step, and half of the input added."""

BITS = (1, 0, 1, 1)
"""Of its second one: inputs that are bits."""


def states() -> list[Fraction]:
    """The state after each input."""
    state, found = Fraction(0), []
    for value in INPUTS:
        state = KEPT * state + (1 - KEPT) * value
        found.append(state)
    return found


def shares() -> list[Fraction]:
    """The weight of each input in the last state."""
    return [KEPT ** (len(INPUTS) - 1 - place) * (1 - KEPT) for place in range(len(INPUTS))]


def leaky(narrow: bool) -> Sheet:
    """Inputs go in from above; below, the weight of each in the last state."""
    sheet = Sheet(NARROW, 300, 13.5)
    w, pitch, left = 68, 96, 66
    sheet.text(0, 13, "input", anchor="start", style="d-muted")
    sheet.text(0, 92, "state", anchor="start", style="d-muted")
    for place, (value, state) in enumerate(zip(INPUTS, states(), strict=True)):
        x = left + place * pitch
        sheet.text(x + w / 2, 13, str(value), style="d-bold", size=16)
        sheet.arrow([(x + w / 2, 26), (x + w / 2, 70)])
        sheet.text(x + w / 2 + 8, 46, "× ½", anchor="start", size=12.5)
        sheet.item("state", x, 76, w, 32, number(float(state)), size=16)
        if place:
            sheet.arrow([(x - pitch + w + 2, 92), (x - 3, 92)], "state")
            sheet.text(x - (pitch - w) / 2, 122, "× ½", size=12.5)
    sheet.text(left, 158, "weight in the last state", anchor="start", style="d-bold")
    sheet.text(left + 210, 158, "adds", anchor="start", style="d-bold")
    for place, (value, share) in enumerate(zip(INPUTS, shares(), strict=True)):
        y = 178 + 30 * place
        sheet.text(0, y + 9, f"{share} of {value}", anchor="start")
        sheet.bar(left, y, 200, 18, float(share))
        sheet.text(left + 210, y + 9, number(float(share * value)), anchor="start")
    sheet.line([(left + 200, 264), (NARROW - 16, 264)])
    sheet.text(left + 210, 280, number(float(states()[-1])), anchor="start", style="d-bold")
    sheet.text(left + 194, 280, "together", anchor="end")
    return sheet


def fractions() -> list[str]:
    """The state after each bit as a binary fraction, the last bit first."""
    return ["0." + "".join(map(str, reversed(BITS[: n + 1]))) for n in range(len(BITS))]


def binary(narrow: bool) -> Sheet:
    """A row for each step: the new bit comes in behind the point and pushes the others on."""
    sheet = Sheet(NARROW, 206, 13.5)
    size, left = 34, 128
    for step, digits in enumerate(fractions()):
        y = 6 + 50 * step
        sheet.text(0, y + size / 2, f"reads {BITS[step]}", anchor="start", style="d-bold")
        sheet.arrow([(64, y + size / 2), (96, y + size / 2)])
        sheet.text(left - 12, y + size / 2 + 3, "0.", size=17)
        for place, digit in enumerate(digits[2:]):
            style = "d-new" if place == 0 else "d-box"
            x = left + 4 + place * (size + 6)
            sheet.item("state", x, y, size, size, digit, style=style, size=16)
        if step < len(BITS) - 1:
            for place in range(step + 1):
                x = left + 4 + place * (size + 6) + size / 2
                foot = (x + size * 0.55, y + size + 15)
                sheet.line([(x, y + size + 2), foot], style="d-thin d-muted")
    sheet.text(NARROW, 6 + size / 2, "half of it is", anchor="end", style="d-muted", size=12.5)
    sheet.text(NARROW, 23 + size / 2, "one place on", anchor="end", style="d-muted", size=12.5)
    return sheet


LEAKY = Drawing(
    name="leaky-state",
    title="Every step halves what was there: the first input ends with the smallest weight.",
    description=(
        "A state reads 6, 2 and 4. At each step half of the state is kept and half of the input "
        "added: the state is 3, then 2.5, then 3.25. Below, the weight of each input "
        "in the last state, as bars, and what it adds: 1/8 of 6, which is 0.75; 1/4 of 2, which "
        "is 0.5; and 1/2 of 4, which is 2."
    ),
    draw=leaky,
)

BINARY = Drawing(
    name="binary-state",
    title="Each new bit enters right after the point and pushes the others along; none is lost.",
    description=(
        "Four steps of a state that halves and reads one bit each time: 1, 0, 1, 1. Written in "
        "binary the state is 0.1, then 0.01, then 0.101, then 0.1101. The newest bit stands "
        "right after the point, the others have each moved one place on."
    ),
    draw=binary,
)

LIST = (("Ada", 3), ("Ben", 7), ("Cleo", 1))


def look_back(narrow: bool) -> Sheet:
    """Above, the answer is read from the last state; below, from all states that fit the query."""
    sheet = Sheet(NARROW, 306, 13.5)
    w, h, pitch, left, low = 62, 32, 86, 8, 200
    for row, y in enumerate((38, low)):
        title = ("From the last state", "Looking back")[row]
        sheet.text(0, y - (28, 44)[row], title, anchor="start", style="d-bold")
        for place in range(len(LIST) + 1):
            x = left + place * pitch
            last = place == len(LIST)
            words = "Ben ?" if last else "{} {}".format(*LIST[place])
            sheet.text(x + w / 2, y + h + 28, words, style="d-bold" if last else "")
            sheet.arrow([(x + w / 2, y + h + 18), (x + w / 2, y + h + 4)])
            if last or not row:
                sheet.item("query" if row else "state", x, y, w, h, "state")
            else:
                found = LIST[place][0] == "Ben"
                sheet.item("key", x, y, w, h, "state", style="d-new" if found else "d-box")
            if place:
                sheet.arrow([(x - pitch + w + 3, y + h / 2), (x - 4, y + h / 2)], "state")
    x = left + len(LIST) * pitch + w / 2
    sheet.arrow([(x, 38 - 3), (x, 18)])
    sheet.text(x, 12, "?", size=16, style="d-bold")
    for place in range(len(LIST)):
        style = "" if LIST[place][0] == "Ben" else "d-thin d-dashed"
        to = left + place * pitch + w / 2
        y = low - 22
        sheet.arrow([(x, low - 2), (x, y), (to, y), (to, low - 3)], "query", style=style)
    sheet.text(0, 296, "The query fits Ben’s state best: 7.", anchor="start")
    return sheet


LOOK_BACK = Drawing(
    name="look-back",
    title="The last state must have kept the whole list; a query can still find Ben’s entry.",
    description=(
        "Two rows of states of a network that reads Ada 3, Ben 7, Cleo 1, and then the question "
        "Ben. In the first row the answer is read from the last state alone, and is a question "
        "mark. In the second the last state is a query, which is compared with the three states "
        "before it; the arrow to the state behind Ben 7 is the strong one."
    ),
    draw=look_back,
)
