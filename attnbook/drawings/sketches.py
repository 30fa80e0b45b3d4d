"""Attention in ten minutes: two heads of one word, and the looks of twice the text."""

from attnbook.drawings import heads
from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

PITCH, TILE, HIGH = 52.0, 48.0, 22.0
SAYS = ("head 0: looks left", "head 1: looks right")


def two_heads(narrow: bool) -> Sheet:
    """The word in the middle asks twice; below each head what it brings, then both joined."""
    sheet, wide = Sheet(NARROW, 192, 12.5), 2 * PITCH + TILE
    for head, said in enumerate(SAYS):
        x = 1 + head * (NARROW - 2 - wide)
        middle = x + wide / 2
        sheet.text(middle, 8, said, style="d-bold")
        for place, (word, weight) in enumerate(zip(heads.STORY, heads.weights(head), strict=True)):
            left = x + place * PITCH
            sheet.item("state", left, 22, TILE, HIGH, word)
            sheet.cell(left, 47, TILE, 17, weight, f"{weight:.2f}", size=11.5)
            if weight > 0.01:
                thickness = "d-thick" if weight > 0.5 else "d-thin"
                foot, top = (middle, 90), (left + TILE / 2, 66)
                sheet.line([foot, top], "weight", style=thickness)
        sheet.item("query", middle - 34, 90, 68, HIGH, heads.STORY[heads.ASKS])
        best = max(range(3), key=heads.weights(head).__getitem__)
        brought = f"{heads.weights(head)[best]:.2f} × {heads.STORY[best]}"
        side = NARROW / 2 + (2 * head - 1) * 48
        sheet.arrow([(middle, 114), (middle, 132), (side, 132), (side, 150)], "value")
        sheet.item("value", side - 47, 152, 94, HIGH, brought)
    sheet.text(NARROW / 2, 184, "joined, side by side", style="d-muted")
    return sheet


TWO_HEADS = Drawing(
    name="two-heads",
    title="Two heads of one word: each brings what the other leaves out.",
    description=(
        "The words hang, not, let, twice. In head 0, not looks left: it gives hang the weight "
        "0.94, itself 0.06 and let 0.00. In head 1 it looks right: let gets 0.94. What they bring, "
        "0.94 times hang and 0.94 times let, is joined side by side."
    ),
    draw=two_heads,
)

COUNTS = (4, 8, 16)
CELL = 8.0


def looks(narrow: bool) -> Sheet:
    """Three square tables, to scale, the last row of each filled."""
    most = COUNTS[-1] * CELL
    sheet, x = Sheet(NARROW, most + 44, 12.5), 6.0
    for count in COUNTS:
        side, top = count * CELL, 22 + most - count * CELL
        sheet.rect(x, top, side, side, "d-weight d-track")
        sheet.rect(x, top + side - CELL, side, CELL, "d-weight d-solid")
        for line in range(count + 1):
            at = line * CELL
            sheet.line([(x, top + at), (x + side, top + at)], style="d-strike")
            sheet.line([(x + at, top), (x + at, top + side)], style="d-strike")
        sheet.text(x, top - 12, f"{count**2} looks", anchor="start", style="d-bold")
        sheet.text(x, top + side + 12, f"{count} words", anchor="start")
        x += side + 34
    return sheet


LOOKS = Drawing(
    name="twice-the-text",
    title="Twice the words are four times the looks. The newest word adds one row.",
    description=(
        "Three square tables, to scale: 4 words look at 4 words, 16 looks; 8 words, 64 looks; 16 "
        "words, 256 looks. In each the last row is filled: what the newest word looks at."
    ),
    draw=looks,
)
