"""Chapter 09: where the norm stands in a layer."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

PARTS = ("attention", "feed-forward")


def draw(narrow: bool) -> Sheet:
    """Two layers side by side, each a stream from below with two parts beside it."""
    sheet = Sheet(NARROW, 396, 13.5)
    for first, x, name in ((True, 30, "norm first"), (False, 204, "norm after")):
        sheet.text(x - 20, 10, name, anchor="start", style="d-bold")
        sheet.arrow([(x, 390), (x, 26)], "state", style="d-stream")
        for place, part in enumerate(PARTS):
            low = 366 - place * 168
            box = x + 24
            middle = box + 52
            if first:
                branch = [(x, low), (middle, low), (middle, low - 12)]
                sheet.arrow(branch, "state")
                _norm(sheet, middle, low - 26)
                sheet.line([(middle, low - 38), (middle, low - 50)], "state")
                top = low - 50
            else:
                sheet.arrow([(x, low), (middle, low), (middle, low - 12)], "state")
                top = low - 12
            sheet.rect(box, top - 34, 104, 34, "d-state d-box", 6)
            sheet.text(middle, top - 17, part)
            added = top - 56
            sheet.line([(middle, top - 34), (middle, added), (x + 9, added)], "state")
            sheet.plus(x, added)
            if not first:
                _norm(sheet, x, added - 30)
    return sheet


def _norm(sheet: Sheet, x: float, y: float) -> None:
    sheet.rect(x - 26, y - 12, 52, 24, "d-state d-solid", 12)
    sheet.text(x, y, "norm", style="d-on", size=12.5)


DRAWING = Drawing(
    name="norm-placement",
    title="Norm first: the stream runs through untouched. Norm after: every sum passes a norm.",
    description=(
        "Two layers. At the left each part, attention and feed-forward, reads the stream through "
        "a norm and adds its result; the stream itself passes no norm. At the right each part "
        "reads the stream as it is, its result is added, and the sum passes a norm before the "
        "next part."
    ),
    draw=draw,
)
