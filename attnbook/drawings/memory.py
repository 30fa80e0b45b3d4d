"""Chapters 01 and 02: what a state keeps of its inputs, and looking back at all states."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

BITS = (1, 0, 1, 1)
"""Of chapter 01's example: inputs of a state that halves at each step."""


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
    for y, words in ((6, "thick: the bit just read"), (46, "the others:"), (63, "one place on")):
        y += size / 2
        sheet.text(NARROW, y, words, anchor="end", style="d-muted", size=12.5)
    return sheet


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
