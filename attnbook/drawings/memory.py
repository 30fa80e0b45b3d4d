"""Chapter 02: looking back at all states."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

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
