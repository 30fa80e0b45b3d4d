"""Chapter 15: the famous sentence."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

LOOKS: dict[str, tuple[tuple[str, float], ...]] = {
    "tired": (
        *(("[CLS]", 0.10), ("the", 0.04), ("animal", 0.68), ("didn", 0.0), ("'", 0.0), ("t", 0.0)),
        *(("cross", 0.01), ("the", 0.0), ("street", 0.05), ("because", 0.0), ("it", 0.06)),
        *(("was", 0.0), ("too", 0.0), ("tired", 0.02), (".", 0.0), ("[SEP]", 0.01)),
    ),
    "wide": (
        *(("[CLS]", 0.33), ("the", 0.03), ("animal", 0.28), ("didn", 0.01), ("'", 0.0), ("t", 0.0)),
        *(("cross", 0.09), ("the", 0.01), ("street", 0.12), ("because", 0.01), ("it", 0.03)),
        *(("was", 0.01), ("too", 0.0), ("wide", 0.05), (".", 0.03), ("[SEP]", 0.02)),
    ),
}
"""The row of "it" in layer 3, head 1 of all-MiniLM-L6-v2: its tokens and their weights."""
TELL = 0.1  # the least weight that is written out


def famous(narrow: bool) -> Sheet:
    """The famous picture: "it" at the right, the sentence at the left, and a fan between."""
    pitch, half = 21, 178
    sheet = Sheet(NARROW, 30 + pitch * 16, 12.5)
    for place, (end, row) in enumerate(LOOKS.items()):
        left = place * half
        words = left + 92  # where the words end
        sheet.text(left + 80, 8, f"... too {end}", style="d-bold")
        middles = [30 + pitch * (n + 0.5) for n in range(len(row))]
        at = next(n for n, (token, _) in enumerate(row) if token == "it")
        tip = (left + 128, middles[at])
        for (token, weight), y in zip(row, middles, strict=True):
            noun = token in ("animal", "street")
            sheet.text(words, y, token, "key" if noun else None, anchor="end",
                       style="d-bold" if noun else "" if weight >= TELL else "d-muted")  # fmt: skip
            if weight >= TELL:
                sheet.text(left, y, f"{weight:.2f}", "weight", anchor="start", size=11.5)
            if weight:
                _beam(sheet, (words + 4, y), tip, 15 * weight)
        sheet.item("query", tip[0], tip[1] - 11, 32, 22, "it")
    return sheet


def _beam(sheet: Sheet, start: tuple[float, float], end: tuple[float, float], wide: float) -> None:
    """A line as thick as a weight, as a shape, since lines have three widths only."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    across = (y1 - y0) / length * wide / 2, (x0 - x1) / length * wide / 2
    corners = [
        (x0 + across[0], y0 + across[1]),
        (x1 + across[0], y1 + across[1]),
        (x1 - across[0], y1 - across[1]),
        (x0 - across[0], y0 - across[1]),
    ]
    sheet.patch(corners, "weight")


FAMOUS = Drawing(
    name="famous-sentence",
    title=(
        "Layer 3, head 1. End the sentence with “tired”, and “it” gives “animal” a weight of 0.68; "
        "end it with “wide”, and it is 0.28."
    ),
    description=(
        "The famous picture, twice: the words of the sentence one below the other, and lines from "
        "it to each, as thick as the weights of layer 3, head 1. With tired at the end nearly all "
        "is on animal, 0.68, and 0.05 on street. With wide at the end the thickest lines go to the "
        "token [CLS], 0.33, and still to animal, 0.28; street gets 0.12."
    ),
    draw=famous,
)
