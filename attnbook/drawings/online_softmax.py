"""Chapter 12: a softmax that never sees its whole row."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

SHARES, VALUES = (2, 4, 1), (7, 14, 21)
"""The chapter's example: e^s of three keys, and their values."""


def states() -> list[tuple[float, float, float]]:
    """After each key: the largest e^s so far, the sum and the output, both divided by it."""
    largest, total, output = 0.0, 0.0, 0.0
    found = []
    for share, value in zip(SHARES, VALUES, strict=True):
        new = max(largest, share)
        mend = largest / new
        total = total * mend + share / new
        output = output * mend + share / new * value
        largest = new
        found.append((largest, total, output))
    return found


def result() -> float:
    """The output, divided by the sum at the end."""
    _, total, output = states()[-1]
    return output / total


def frame(step: int) -> Sheet:
    """One key at hand, the others not read yet or forgotten; three numbers are carried."""
    sheet = Sheet(NARROW, 268, 13.5)
    left, slot, gap = 66, 84, 8
    label = {"anchor": "start", "size": 12.5}
    sheet.text(0, 24, "e to the", **label)
    sheet.text(0, 40, "score", **label)
    sheet.text(0, 78, "value", "value", **label)
    last = len(SHARES)
    for place, (share, value) in enumerate(zip(SHARES, VALUES, strict=True)):
        x = left + place * (slot + gap)
        now = place == step
        if now:
            sheet.rect(x - 4, 10, slot + 8, 92, "d-state d-band", 6)
        style = "d-box" if now else "d-ghost"
        sheet.item("weight", x, 16, slot, 32, number(share) if now else "", style=style)
        left_over = "forgotten" if place < step else ""
        said = number(value) if now else left_over
        sheet.item("value", x, 62, slot, 32, said, style=style, size=None if now else 12)
    largest, total, output = states()[min(step, last - 1)]
    if 0 < step < last:
        mend = math.exp(math.log(states()[step - 1][0]) - math.log(largest))
        said = f"what is carried is first multiplied by {number(mend)}"
        sheet.text(NARROW / 2, 126, said, style="d-muted", size=12.5)
    carried = (
        ("e to the max.", "weight", largest),
        ("sum", "weight", total),
        ("output", "value", output),
    )
    for place, (name, role, value) in enumerate(carried):
        x = left + place * (slot + gap)
        sheet.text(x + slot / 2, 152, name, role, size=12.5)
        sheet.item(role, x, 164, slot, 34, number(value), style="d-new" if step < last else "d-box")
    sheet.text(0, 181, "carried", style="d-bold", **label)
    if step == last:
        x = left + 2 * (slot + gap)
        said = f"{number(output)} / {number(total)} ="
        sheet.text(x - 12, 242, said, anchor="end")
        sheet.item("value", x, 225, slot, 34, number(result()), style="d-new")
    else:
        x = left + 2 * (slot + gap)
        sheet.text(
            x - 12, 242, "to be divided at the end", anchor="end", style="d-muted", size=12.5
        )
        sheet.item("value", x, 225, slot, 34, "", style="d-ghost")
    return sheet


DRAWING = Drawing(
    name="online-softmax",
    title="Three numbers are enough: a row of attention, one tile at a time.",
    description=(
        "Four frames. The keys come one after the other, with e to the score 2, 4 and 1 and "
        "values 7, 14 and 21. Carried are the maximum, the sum and the output: 2, 1, 7, then 4, "
        "1.5, 17.5, then 4, 1.75, 22.75. At the end 22.75 divided by 1.75 is 13."
    ),
    draw=lambda narrow: [frame(step) for step in range(len(SHARES) + 1)],
    says=(
        "The first key: its share 2, divided by the largest so far, which is itself, counts 1.",
        "A larger share comes. What was carried is halved, then the new key is added.",
        "The largest stays, so nothing is rescaled. The third key counts a quarter.",
        "Divide once, at the end: 13, what the whole row would have given.",
    ),
)
