"""Chapter 12: a softmax that never sees its whole row."""

from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number

SHARES, VALUES = (2, 4, 1), (7, 14, 21)
"""The chapter's example: e^s of three keys, and their values."""


def states() -> list[tuple[float, float, float]]:
    """After each key: the largest e^s so far, and sum and undivided output as multiples of it."""
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


FRACTIONS = {Fraction(1): "1", Fraction(1, 2): "½", Fraction(1, 4): "¼"}


def sums(step: int) -> tuple[str, str]:
    """How the sum d and the undivided output o after a key come about, written out."""
    largest, total, output = states()[step]
    counts = FRACTIONS[Fraction(SHARES[step], int(largest))]
    added = f"{counts} × {VALUES[step]}"
    if not step:
        return f"sum d = {number(total)}", f"undivided output o = {added} = {number(output)}"
    before, *carried = states()[step - 1]
    mend = FRACTIONS[Fraction(int(before), int(largest))]
    mended = [number(part) if mend == "1" else f"{number(part)} × {mend}" for part in carried]
    return (
        f"sum d = {mended[0]} + {counts} = {number(total)}",
        f"undivided output o = {mended[1]} + {added} = {number(output)}",
    )


def frame(step: int) -> Sheet:
    """One key at hand, the others not read yet or forgotten; three numbers are carried."""
    sheet = Sheet(NARROW, 218, 13.5)
    left, slot, gap = 66, 84, 8
    label = {"anchor": "start", "size": 12.5}
    sheet.text(0, 22, "size", "weight", **label)
    sheet.text(0, 62, "value", "value", **label)
    last = len(SHARES)
    for place, (share, value) in enumerate(zip(SHARES, VALUES, strict=True)):
        x = left + place * (slot + gap)
        now = place == step
        if now:
            sheet.rect(x - 4, 1, slot + 8, 82, "d-state d-band", 6)
        style = "d-box" if now else "d-ghost"
        left_over = "forgotten" if place < step else ""
        for y, role, said in ((6, "weight", share), (46, "value", value)):
            words = number(said) if now else left_over
            sheet.item(role, x, y, slot, 32, words, style=style, size=None if now else 12)
    largest, total, output = states()[min(step, last - 1)]
    if 0 < step < last and (before := states()[step - 1][0]) < largest:
        said = f"correction: d and o × {number(before)}/{number(largest)}"
        sheet.text(left, 97, said, anchor="start", style="d-muted", size=12.5)
    carried = (
        ("largest size", "weight", largest),
        ("sum d", "weight", total),
        ("undivided o", "value", output),
    )
    for place, (name, role, value) in enumerate(carried):
        x = left + place * (slot + gap)
        sheet.text(x + slot / 2, 118, name, role, size=12.5)
        sheet.item(role, x, 128, slot, 34, number(value), style="d-new" if step < last else "d-box")
    sheet.text(0, 145, "carried", style="d-bold", **label)
    if step == last:
        x = left + 2 * (slot + gap)
        said = f"{number(output)} / {number(total)} ="
        sheet.text(x - 12, 194, said, anchor="end")
        sheet.item("value", x, 177, slot, 34, number(result()), style="d-new")
    else:
        for y, role, said in zip((182, 204), ("weight", "value"), sums(step), strict=True):
            sheet.text(0, y, said, role, anchor="start")
    return sheet


DRAWING = Drawing(
    name="online-softmax",
    title="Three numbers are enough: a row of attention, one tile at a time.",
    description=(
        "Four frames. The keys come one after the other, with the sizes, e to the score, 2, 4 and "
        "1 and the values 7, 14 and 21. Carried are the largest size, the sum d and the undivided "
        "output o: 2, 1, 7, then 4, 1.5, 17.5, then 4, 1.75, 22.75, each time with its sum written "
        "out: 1 times a half and 1 is 1.5. At the end 22.75 divided by 1.75 is 13."
    ),
    draw=lambda narrow: [frame(step) for step in range(len(SHARES) + 1)],
    says=(
        "The first key: its size 2, divided by the largest so far, which is itself, counts 1.",
        "A larger size comes. Both sums are halved, then the new key is added.",
        "The largest stays, so nothing is rescaled. The third key counts a quarter.",
        "Divide once, at the end: 13, what the whole row would have given.",
    ),
)
