"""Chapter 14: how far two windows reach."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

WINDOW, LAYERS, LENGTH = 4, 2, 9


def reach(narrow: bool) -> Sheet:
    """Nine words, two layers: a chain of two looks from the last word back."""
    sheet = Sheet(NARROW, 222, 13.5)
    names = 56  # what the rows are called stands before them
    pitch = (NARROW - names) / LENGTH
    xs = [names + pitch * (place + 0.5) for place in range(LENGTH)]
    rows = (178, 98, 18)
    last = LENGTH - 1
    for layer in range(LAYERS):
        for i in range(LENGTH):
            near = range(max(0, i - WINDOW + 1), i + 1)
            on = i == last if layer else last - i < WINDOW
            for j in near:
                style = "d-stream" if on else "d-thin d-muted"
                role = "weight" if on else None
                sheet.line([(xs[j], rows[layer] - 11), (xs[i], rows[layer + 1] + 11)], role,
                           style=style)  # fmt: skip
    seen = LAYERS * (WINDOW - 1)
    for layer, y in enumerate(rows):
        back = seen - layer * (WINDOW - 1)
        for place, x in enumerate(xs):
            style = "d-solid" if last - place <= back else "d-paper"
            sheet.circle(x, y, 9, f"d-state {style}")
    for y, words in zip(rows, ("words", "layer 1", "layer 2"), strict=True):
        sheet.text(0, y, words, anchor="start", size=12.5)
    sheet.text(NARROW, 208, f"{seen} words back, no further", anchor="end", size=12.5)
    return sheet


REACH = Drawing(
    name="window-reach",
    title="Two layers with a window of 4 reach 6 words back, by way of a word between.",
    description=(
        "Nine words and two layers, each with a window of 4 keys. The last word reads itself and "
        "three words before it in layer 2; those have read three more in layer 1. So the last "
        "word can hear of the six words before it, and of none further back."
    ),
    draw=reach,
)
