"""Chapter 09b: the task from which parts are taken out, and what each part would be for."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

DIGITS = (3, 9, 4, 4, 0, 7, 5, 8)
ASKED = 2
"""The place at which the drawing looks."""
NEEDS = (
    ("the digit itself", "residual connection"),
    ("the digit before it", "attention"),
    ("which one comes before", "positions"),
    ("a table of sums", "feed-forward network"),
)


def answers() -> list[int]:
    """Each digit and the one before it, modulo ten; the first has none before it."""
    before = (0, *DIGITS[:-1])
    return [(a + b) % 10 for a, b in zip(DIGITS, before, strict=True)]


def draw(narrow: bool) -> Sheet:
    """Digits above, answers below, and under them what an answer needs."""
    sheet, pitch = Sheet(NARROW, 290, 14), 42
    xs = [23 + pitch * place for place in range(len(DIGITS))]
    for place, (x, digit, answer) in enumerate(zip(xs, DIGITS, answers(), strict=True)):
        asked = place == ASKED
        before = place == ASKED - 1
        sheet.rect(x - 15, 22, 30, 30, "d-state " + ("d-new" if asked or before else "d-box"), 5)
        sheet.text(x, 37, str(digit), style="d-bold" if asked or before else "")
        sheet.rect(x - 15, 112, 30, 30, "d-value " + ("d-new" if asked else "d-box"), 3)
        sheet.text(x, 127, str(answer), style="d-bold" if asked else "")
        sheet.line([(x, 54), (x, 108)], "state", style="d-thin")
        if place:
            sheet.line([(xs[place - 1], 54), (x, 108)], "weight", style="d-thin")
    sheet.arrow([(xs[ASKED], 54), (xs[ASKED], 109)], "state", style="d-thick")
    sheet.arrow([(xs[ASKED - 1], 54), (xs[ASKED] - 3, 109)], "weight", style="d-thick")
    sheet.text(4, 9, "it reads eight digits", anchor="start", size=12.5)
    sheet.text(4, 157, "it answers eight sums, without the tens", anchor="start", size=12.5)
    a, b = DIGITS[ASKED], DIGITS[ASKED - 1]
    sheet.text(
        4, 190, f"{b} + {a} = {a + b}, so {(a + b) % 10} needs", anchor="start", style="d-bold"
    )
    for row, (need, part) in enumerate(NEEDS):
        y = 214 + 20 * row
        sheet.text(12, y, need, anchor="start", size=12.5)
        sheet.arrow([(178, y), (194, y)])
        sheet.text(200, y, part, anchor="start", size=12.5)
    return sheet


DRAWING = Drawing(
    name="digit-sums",
    title="Add each digit to the one before it: four needs, and a part of a layer for each.",
    description=(
        "Eight digits, 3 9 4 4 0 7 5 8, and below them the answers 3 2 3 8 4 7 2 3: each is the "
        "sum of the digit above and the one before it, without the tens. For the third, 9 + 4 = "
        "13, so 3. It needs the digit itself, as a residual connection keeps it; the digit before "
        "it, which attention fetches; which one comes before, which positions say; and a table of "
        "sums, for which there is the feed-forward network."
    ),
    draw=draw,
)
