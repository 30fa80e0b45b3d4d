"""Chapter 14c: four tokens on two devices, as the query of the last one meets them."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

RAISED = ((1, 1), (2, 4))  # e to the scores of the last token's query with each key, by device
VALUES = ((6, 10), (3, 9))
TOKENS = ("0, 1", "2, 3")


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
    high, more = (40, 28) if narrow else (28, 0)  # of keys and values; two lines on a telephone
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
            sheet.item("query", left, top + 10, wide, 24, f"queries of {TOKENS[device]}")
            style = "d-new" if step else "d-box"
            for role, name, says, begin, w in (
                ("key", "keys", f"of {TOKENS[owner]}", left, tag),
                ("value", "values", vector(VALUES[owner]), left + tag + 4, wide - tag - 4),
            ):
                lines = [name, says] if narrow else [f"{name} {says}"]
                sheet.item(role, begin, top + 42, w, high, "", style=style)
                for line, words in enumerate(lines):
                    y = top + 42 + high * (2 * line + 1) / (2 * len(lines))
                    nudge = 4 if role == "key" else 0
                    sheet.text(begin + w / 2 + nudge, y, words, role, size=12 if narrow else None)
            below = top + 58 + high
            if device:
                total, output = part(owner)
                lines = [
                    f"query 3: e^{{score}} {vector(RAISED[owner])}",
                    f"sum {number(total)}, output {number(output)}",
                ]
                lines = lines if narrow else [", ".join(lines)]
                for line, words in enumerate(lines):
                    size = 13 if narrow else 14
                    sheet.text(x, below + 16 * line, words, "weight", size=size, style="d-bold")
            else:
                nothing = "later tokens: hidden" if step else "work of its own"
                if not narrow and step:
                    nothing = "nothing to do: later tokens are hidden"
                sheet.text(x, below, nothing, style="d-muted")
    inner = (middles[0] + wide / 2 + 3, middles[1] - wide / 2 - 3)
    for near, far in (inner, inner[::-1]):
        sheet.arrow([(near, 84), (far, 218 + more)], "key")
    (a, first), (b, second) = part(1), part(0)
    sums = f"({number(a)} × {number(first)} + {number(b)} × {number(second)}) / {number(a + b)}"
    says = f"{sums} = {number(joined())}"
    sheet.text(half, 276 + 2 * more, f"joined: {says}", "weight", style="d-bold")
    sheet.text(half, 296 + 2 * more, "as if all four keys had been in one place", style="d-muted")
    return sheet


PIECES = ((0, 7), (1, 6), (2, 5), (3, 4))  # of each device, in zigzag
ASKS = 1  # the device whose queries are drawn
KEYS = (1, 0, 2)  # whose keys they meet: its own, an earlier device's, a later one's


def computed(query: int, key: int) -> float:
    """How much of a square of scores lies in the past: of a piece of queries and one of keys."""
    return 1 if key < query else 0.5 if key == query else 0


def halves(narrow: bool) -> Sheet:
    """What a device of four computes in three of its steps: two of four squares, always."""
    side, between, top = (40, 30, 44) if narrow else (52, 112, 46)
    left = 22 if narrow else 92
    sheet = Sheet(NARROW, 150, 12) if narrow else Sheet(WIDE, 176, 15)
    own = PIECES[ASKS]
    for at, owner in enumerate(KEYS):
        x = left + at * (2 * side + between)
        middle = x + side
        whose = "its own" if owner == ASKS else f"device {owner}'s"
        sheet.text(middle, 9, whose if narrow else f"{whose} keys", style="d-bold")
        for row, query in enumerate(own):
            y = top + row * side
            sheet.text(x - 12, y + side / 2, str(query), "query")
            for column, key in enumerate(PIECES[owner]):
                begin, share = x + column * side, computed(query, key)
                if not row:
                    sheet.text(begin + side / 2, top - 12, str(key), "key")
                style = "d-solid" if share == 1 else "d-box"
                sheet.rect(begin, y, side, side, f"d-weight {style}")
                if share == 0.5:
                    corners = [(begin, y), (begin + side, y + side), (begin, y + side)]
                    sheet.patch(corners, "weight")
        shares = [computed(query, key) for query in own for key in PIECES[owner]]
        parts = " + ".join("½" if share == 0.5 else number(share) for share in shares if share)
        sums = f"{parts} = {number(sum(shares))}"
        sheet.text(middle, top + 2 * side + 17, sums, "weight", style="d-bold")
    if not narrow:
        sheet.text(0, top + side, "queries", "query", anchor="start")
    return sheet


DRAWING = Drawing(
    name="ring",
    title="Queries stay, keys and values travel. The blue lines follow the query of token 3.",
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

HALVES = Drawing(
    name="ring-halves",
    title="Device 1, with pieces 1 and 6: whoever's keys come, half of the scores are blue.",
    description=(
        "Four devices in zigzag have pieces 0 and 7, 1 and 6, 2 and 5, 3 and 4 of a text. Three "
        "blocks of two by two squares show the queries of device 1, pieces 1 and 6, against the "
        "keys of three devices; what lies in the past is blue. With its own keys two squares are "
        "half blue and one is blue: query piece 6, key piece 1. With those of device 0, pieces 0 "
        "and 7, piece 0 is blue for both. With those of device 2, pieces 2 and 5, both are blue "
        "for query piece 6. Each time that makes two squares of four."
    ),
    draw=halves,
    two_layouts=True,
)
