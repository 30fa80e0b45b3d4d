"""Chapter 15: the famous sentence, four frames that take it apart, and rows that become alike."""

from collections.abc import Sequence
from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

BEFORE = ("The", "animal", "didn't", "cross", "the", "street")
LOOKS = {"tired": {"animal": 0.68, "street": 0.05}, "wide": {"animal": 0.28, "street": 0.12}}
"""Weights of "it" in layer 3, head 1 of all-MiniLM-L6-v2, as the chapter prints them."""


def famous(narrow: bool) -> Sheet:
    """The sentence twice: the nouns above, "it" below, and bars for the two weights."""
    sheet = Sheet(NARROW, 262, 13)
    for place, (end, looks) in enumerate(LOOKS.items()):
        y = place * 136
        sheet.text(0, y + 10, f"... because it was too {end}", anchor="start", style="d-bold")
        for row, (noun, weight) in enumerate(looks.items()):
            top = y + 32 + row * 46
            sheet.item("query", 0, top, 44, 30, "it")
            sheet.arrow([(48, top + 15), (84, top + 15)], "query")
            sheet.item("key", 88, top, 84, 30, noun)
            sheet.bar(184, top + 8, 110, 14, weight)
            sheet.text(NARROW, top + 15, f"{weight:.2f}", "weight", anchor="end")
    return sheet


FAMOUS = Drawing(
    name="famous-sentence",
    title=(
        "Layer 3, head 1. End the sentence with “tired”, and “it” gives “animal” a weight of 0.68; "
        "end it with “wide”, and it is 0.28."
    ),
    description=(
        "The animal didn't cross the street because it was too tired: in layer 3, head 1, it "
        "gives 0.68 of its weight to animal and 0.05 to street. With wide at the end it gives "
        "0.28 to animal and 0.12 to street."
    ),
    draw=famous,
)

# Of each frame of the experiment: the words in order, with roles of its two nouns.
FRAMES = (
    ("active", "animal", "street", True),
    ("passive", "street", "animal", True),
    ("place first", "street", "animal", False),
    ("animate first", "animal", "street", False),
)
"""A name, the farther noun, the nearer noun, and whether the farther one is the subject."""


def frames(narrow: bool) -> Sheet:
    """A row for each frame: the farther noun, the nearer one, "it"; the subject is filled."""
    sheet = Sheet(NARROW, 258, 12.5)
    for place, (name, far, near, far_is_subject) in enumerate(FRAMES):
        y = place * 58
        sheet.text(0, y + 9, name, anchor="start", style="d-bold")
        for x, noun, subject in ((0, far, far_is_subject), (122, near, not far_is_subject)):
            sheet.item("key", x, y + 20, 108, 28, noun, style="d-solid" if subject else "d-box")
        sheet.item("query", 262, y + 20, 44, 28, "it")
        sheet.line([(234, y + 34), (258, y + 34)], style="d-muted d-dashed")
    sheet.shape("key", 0, 236, 26, 18, style="d-solid")
    sheet.text(34, 245, "the subject", anchor="start", style="d-muted")
    sheet.text(240, 245, "nearer to “it” →", anchor="end", style="d-muted")
    return sheet


FOUR_FRAMES = Drawing(
    name="four-frames",
    title="Four frames put the animal near and far, and make it the subject and not.",
    description=(
        "Four rows. Active: animal, the subject, is far from it, and street is near. Passive: "
        "street, the subject, is far, and animal is near. Place first: street is far, and animal, "
        "the subject, is near. Animate first: animal is far, and street, the subject, is near."
    ),
    draw=frames,
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
