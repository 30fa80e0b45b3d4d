"""Chapter 15: the famous sentence, and rows of attention that become alike."""

import math
from collections.abc import Sequence
from fractions import Fraction

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

MIXING: Sequence[Sequence[Fraction]] = tuple(
    tuple(Fraction(part, 4) for part in row) for row in ((3, 1, 0), (1, 2, 1), (0, 1, 3))
)
"""Attention of one layer, the same in every layer of the example."""


def product(one: Sequence[Sequence], other: Sequence[Sequence]) -> list[list]:
    """The matrix product of two tables."""
    columns = list(zip(*other, strict=True))
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in one
    ]


def power(layers: int) -> list[list[Fraction]]:
    """What a word gets from each other word after so many layers of attention alone."""
    found = [list(row) for row in MIXING]
    for _ in range(layers - 1):
        found = product(MIXING, found)
    return found


def alike(narrow: bool) -> Sheet:
    """The product of 1, 2, 4 and 8 layers; three words."""
    sheet = Sheet(NARROW, 296, 12.5)
    w, h = 46, 30
    for place, layers in enumerate((1, 2, 4, 8)):
        x, y = (place % 2) * 186, (place // 2) * 138
        words = f"{layers} layer{'s' * (layers > 1)}"
        sheet.text(x + 1.5 * w, y + 10, words, style="d-bold")
        for i, row in enumerate(power(layers)):
            for j, value in enumerate(row):
                share = float(value)
                sheet.cell(x + j * w, y + 26 + i * h, w, h, share, f"{share:.2f}")
    told = "One fixed table, for the idea; real layers shrink faster."
    sheet.text(0, 284, told, anchor="start", style="d-muted")
    return sheet


ALIKE = Drawing(
    name="rows-alike",
    title="Attention upon attention, and nothing else: the rows become alike.",
    description=(
        "Four tables of weights of three words. One layer: the first word gives 0.75, 0.25 and 0 "
        "to the three. The products of 2, 4 and 8 such layers have rows that differ less and "
        "less; after 8 no entry is more than 0.05 from a third. One fixed table, for the idea: "
        "real layers shrink the difference faster."
    ),
    draw=alike,
)
