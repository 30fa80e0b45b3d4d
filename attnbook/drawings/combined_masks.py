"""Chapter 06: two masks combined, and which axis a mask is of."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.masks import grid
from attnbook.drawings.sheet import NARROW, Sheet

WORDS, REAL = ("start", "le", "chat", "–", "–"), 3


def padding(i: int, j: int) -> bool:
    """Nobody attends to padding."""
    return j < REAL


def causal(i: int, j: int) -> bool:
    """Itself and what came before."""
    return j <= i


def both(i: int, j: int) -> bool:
    """What both rules allow."""
    return padding(i, j) and causal(i, j)


STEPS = (
    ("padding", padding, "Padding hides whole columns: no query may attend to it."),
    ("causal", causal, "Causal hides a triangle: no query may attend to what comes later."),
    ("causal & padding", both, "Together: a query attends to a key only when both rules allow it."),
)


def frame(step: int) -> Sheet:
    """One mask, words along both of its axes."""
    sheet = Sheet(NARROW, 306, 13.5)
    size, left, top = 46, 84, 74
    name, rule, _ = STEPS[step]
    sheet.text(left, 10, name, anchor="start", style="d-bold")
    sheet.text(left + 2.5 * size, 34, "keys: who is looked at", "key", size=12.5)
    for place, word in enumerate(WORDS):
        style = "d-muted" if place >= REAL else ""
        sheet.text(left + place * size + size / 2, 60, word, style=style, size=13)
        sheet.text(left - 10, top + place * size + size / 2, word, anchor="end", style=style)
    for line, y in (("queries:", -16), ("who looks", 0)):
        sheet.text(0, 56 + y - 4, line, "query", anchor="start", size=12.5)
    grid(sheet, left, top, size, len(WORDS), len(WORDS), rule)
    return sheet


DRAWING = Drawing(
    name="combined-masks",
    title="Padding and causal, one mask each, and the two combined.",
    description=(
        "Three frames, each a table with the words start, le, chat and two of padding along both "
        "axes; rows are queries, columns are keys. Padding hides the two columns of its own. "
        "Causal hides everything to the right of the diagonal. Combined, row start sees start "
        "alone, row le sees start and le, and chat and both of padding see start, le and chat."
    ),
    draw=lambda narrow: [frame(step) for step in range(len(STEPS))],
    says=tuple(says for *_, says in STEPS),
)
