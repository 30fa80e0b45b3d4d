"""Chapter 09b: the task from which parts are taken out, and what each part would be for."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

DIGITS = (3, 9, 4, 4, 0, 7, 5, 8)
ASKED = 2
"""The place at which the drawing looks."""
PARTS = (
    ("positions", "which comes before"),
    ("attention", "the digit before it"),
    ("residuals", "the digit itself"),
    ("norms", "nothing it asks for"),
    ("feed-forward", "a table of sums"),
)
"""What can be taken out, and what the task would need of it."""


def answers() -> list[int]:
    """Each digit and the one before it, modulo ten; the first has none before it."""
    before = (0, *DIGITS[:-1])
    return [(a + b) % 10 for a, b in zip(DIGITS, before, strict=True)]


def draw(narrow: bool) -> Sheet:
    """Digits above, answers below; between them a layer, and what each part of it is for."""
    sheet, pitch, label = Sheet(NARROW, 364, 13), 24, 212
    xs = [15 + pitch * place for place in range(len(DIGITS))]
    asides = [x + pitch / 2 for x in xs]
    sheet.rect(xs[0] + 4, 108, asides[-1] - xs[0] + 4, 32, "d-weight d-veil", 5)
    for place, (x, aside, digit, answer) in enumerate(
        zip(xs, asides, DIGITS, answers(), strict=True)
    ):
        asked = place == ASKED
        bold = asked or place == ASKED - 1
        sheet.rect(x - 11, 20, 22, 26, "d-state " + ("d-new" if bold else "d-box"), 4)
        sheet.text(x, 33, str(digit), style="d-bold" if bold else "")
        sheet.text(x, 63, str(place), style="d-muted")
        sheet.arrow([(x, 75), (x, 290)], "state", style="d-thick" if asked else "d-thin")
        sheet.line([(x, 84), (aside, 84), (aside, 108)], "state", style="d-thin")
        sheet.line([(aside, 140), (aside, 152), (x, 152)], "state", style="d-thin")
        sheet.line([(x, 176), (aside, 176), (aside, 256), (x, 256)], "state", style="d-thin")
        for y in (96, 192):
            sheet.rect(aside - 6, y - 5, 12, 10, "d-state d-solid", 5)
        sheet.rect(aside - 6, 208, 12, 34, "d-state d-box", 3)
        for y in (152, 256):
            sheet.plus(x, y, 6)
        sheet.rect(x - 11, 294, 22, 26, "d-value " + ("d-new" if asked else "d-box"), 3)
        sheet.text(x, 307, str(answer), style="d-bold" if asked else "")
    sheet.arrow([(asides[ASKED - 1], 108), (asides[ASKED], 140)], "weight", style="d-thick")
    sheet.text(4, 8, "it reads eight digits", anchor="start", size=12.5)
    sheet.text(4, 334, "it gives eight sums, the last digit only", anchor="start", size=12.5)
    a, b = DIGITS[ASKED], DIGITS[ASKED - 1]
    total = f"{b} + {a} = {a + b}, and so {(a + b) % 10}"
    sheet.text(4, 354, total, anchor="start", style="d-bold")
    for y, (name, need) in zip((63, 118, 155, 192, 229), PARTS, strict=True):
        sheet.text(label, y - 8, name, anchor="start", style="d-bold", size=12.5)
        sheet.text(label, y + 7, need, anchor="start", size=12)
    sheet.text(label, 268, "all of it twice", anchor="start", style="d-muted", size=12)
    return sheet


DRAWING = Drawing(
    name="digit-sums",
    title="Five parts of a layer, and what each seems to be for.",
    description=(
        "Eight digits, 3 9 4 4 0 7 5 8, and below them the answers 3 2 3 8 4 7 2 3: each is the "
        "last digit of the sum of the digit above and the one before it. For the third, 9 + 4 = "
        "13, so 3. Between them a layer. Positions, 0 to 7, would say which digit comes before. "
        "Attention would bring the digit before it, a residual connection keep the digit itself, "
        "and a feed-forward network hold a table of sums. Norms bring nothing that the task asks "
        "for. A second layer like it follows."
    ),
    draw=draw,
)
