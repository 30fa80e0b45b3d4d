"""Chapter 14c: four tokens on two devices, as the query of the last one meets them."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

RAISED = ((1, 1), (2, 4))  # e to the scores of the last token's query with each key, by device
VALUES = ((6, 10), (3, 9))
TOKENS = ("0 and 1", "2 and 3")


def part(device: int) -> tuple[float, float]:
    """The sum of the exponentials, and the output, of one device's keys alone."""
    total = sum(RAISED[device])
    pairs = zip(RAISED[device], VALUES[device], strict=True)
    return total, sum(weight * value for weight, value in pairs) / total


def joined() -> float:
    """The output of both parts."""
    (a, first), (b, second) = part(1), part(0)
    return (a * first + b * second) / (a + b)


def travel(narrow: bool) -> Sheet:
    """Two devices, two steps: queries stay where they are, keys and values change hands."""
    high, more = (40, 12) if narrow else (28, 0)  # of keys and values; two lines on a telephone
    sheet = Sheet(NARROW, 306 + 2 * more, 13) if narrow else Sheet(WIDE, 306, 15)
    half = sheet.width / 2
    middles = (76, sheet.width - 76) if narrow else (200, sheet.width - 160)
    wide, tag = (152, 84) if narrow else (284, 168)
    for device, x in enumerate(middles):
        sheet.text(x, 9, f"device {device}", style="d-bold")
    for step, top in enumerate((28, 162 + more)):
        sheet.text(
            0, top + (0 if narrow else 22), f"step {step + 1}", anchor="start", style="d-muted"
        )
        for device, x in enumerate(middles):
            left, owner = x - wide / 2, (device - step) % 2
            sheet.item("query", left, top + 10, wide, 24, f"queries {TOKENS[device]}")
            style = "d-new" if step else "d-box"
            for role, name, numbers, begin, w in (
                ("key", "e^score" if narrow else "keys: e^score", RAISED[owner], left, tag),
                ("value", "values", VALUES[owner], left + tag + 4, wide - tag - 4),
            ):
                lines = [name, vector(numbers)] if narrow else [f"{name} {vector(numbers)}"]
                sheet.item(role, begin, top + 42, w, high, "", style=style)
                for line, words in enumerate(lines):
                    y = top + 42 + high * (2 * line + 1) / (2 * len(lines))
                    nudge = 4 if role == "key" else 0
                    sheet.text(begin + w / 2 + nudge, y, words, role, size=12 if narrow else None)
            if device:
                total, output = part(owner)
                found = f"sum {number(total)}, output {number(output)}"
                found = found if narrow else f"token 3: {found}"
                sheet.text(x, top + 86 + more, found, "weight", style="d-bold")
            else:
                nothing = "later tokens: hidden" if step else "work of its own"
                if not narrow and step:
                    nothing = "nothing to do: later tokens are hidden"
                sheet.text(x, top + 86 + more, nothing, style="d-muted")
    inner = (middles[0] + wide / 2 + 3, middles[1] - wide / 2 - 3)
    for near, far in (inner, inner[::-1]):
        sheet.arrow([(near, 84), (far, 218 + more)], "key")
    (a, first), (b, second) = part(1), part(0)
    sums = f"({number(a)} × {number(first)} + {number(b)} × {number(second)}) / {number(a + b)}"
    says = f"{sums} = {number(joined())}"
    sheet.text(half, 276 + 2 * more, f"joined: {says}", "weight", style="d-bold")
    sheet.text(half, 296 + 2 * more, "as if all four keys had been in one place", style="d-muted")
    return sheet


DRAWING = Drawing(
    name="ring",
    title=(
        "Queries stay, keys and values travel. "
        "The number on a key is e to its score with the query of token 3."
    ),
    description=(
        "Two devices share four tokens. Device 0 has the queries, keys and values of tokens 0 and "
        "1, device 1 those of 2 and 3. For the query of the last token the exponentials of its "
        "scores are 1 and 1 on device 0, with values 6 and 10, and 2 and 4 on device 1, with "
        "values 3 and 9. In step 1 device 1 finds from its own keys a sum of 6 and an output of "
        "7. Then the keys and values change places, and in step 2 it finds a sum of 2 and an "
        "output of 8. Device 0 has no use for what it receives: a mask hides later tokens. Joined, "
        "the output is 6 times 7 plus 2 times 8, divided by 8: 7.25."
    ),
    draw=travel,
    two_layouts=True,
)
