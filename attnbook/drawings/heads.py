"""Chapter 08: words in heads, the command in the middle, keys shared, and three ways to cut."""

import math
from collections.abc import Sequence

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number, vector

Rows = Sequence[Sequence[float]]

STORY = ("hang", "not", "let")
X: Rows = ((1, 0, -1, 0), (0, 0, 0, 1), (0, 1, 1, 0))
"""A row for each word: is it *hang*, is it *let*, left of *not* or right of it, is it *not*?"""

W_Q: tuple[Rows, Rows] = (((0, 0, 0, 4), (0, 0, 0, 0)),) * 2
W_K: tuple[Rows, Rows] = (((0, 0, -1, 0), (0, 0, 0, 0)), ((0, 0, 1, 0), (0, 0, 0, 0)))
W_V: tuple[Rows, Rows] = (((1, 0, 0, 0), (0, 1, 0, 0)),) * 2
"""For each head a row for each of its two features: all read the whole word."""

W_O: Rows = ((1, 0, 1, 0), (0, 1, 0, 1), (-1, 0, 1, 0), (0, -1, 0, 1))
"""Which commands are there, and on which side: left is negative, as in `X`."""

FEATURES = ("hang", "let", "side", "not")
OUTPUTS = ("hang", "let", "hang side", "let side")
"""What the numbers of a word say, and those of the output."""

ASKS = STORY.index("not")


def made(matrix: Rows, rows: Rows = X) -> list[list[float]]:
    """The product of a matrix with each row."""
    return [[sum(w * x for w, x in zip(line, row, strict=True)) for line in matrix] for row in rows]


def weights(head: int) -> list[float]:
    """The row of *not* in a head."""
    (query,), keys = made(W_Q[head], [X[ASKS]]), made(W_K[head])
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) / 2**0.5 for key in keys]
    parts = [math.exp(score) for score in scores]
    return [part / sum(parts) for part in parts]


def attended(head: int) -> list[float]:
    """What a head brings to *not*."""
    row, values = weights(head), made(W_V[head])
    return [
        sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*values, strict=True)
    ]


def joined() -> list[float]:
    """What both bring, side by side."""
    return attended(0) + attended(1)


def output() -> list[float]:
    """What the last matrix makes of it."""
    return made(W_O, [joined()])[0]


def column(sheet: Sheet, role: str, x: float, y: float, w: float, h: float, rows: Rows) -> None:
    """An item for each row, below each other."""
    for i, row in enumerate(rows):
        sheet.item(role, x, y + i * (h + 2), w, h, vector(row))


def stack(sheet: Sheet, x: float, y: float, w: float, h: float, values: Sequence[float]) -> None:
    """Numbers below each other, the first two of head 0, the others of head 1."""
    for i, value in enumerate(values):
        style = "d-solid" if i > 1 else "d-box"
        sheet.item("value", x, y + i * h, w, h - 2, number(value), style=style)


def grid(
    sheet: Sheet, x: float, y: float, w: float, h: float, rows: Rows, size: float = 12.5
) -> None:
    """A matrix, each number in a box."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            sheet.rect(x + j * w, y + i * h, w - 2, h - 2, "d-state d-paper")
            sheet.text(x + j * w + w / 2 - 1, y + i * h + h / 2 - 1, number(value), size=size)


def one_head(
    sheet: Sheet, head: int, x: float, y: float, widths: Sequence[float], gap: float, h: float
) -> None:
    """From left to right: the query of *not*, keys, weights, values, and what comes of it."""
    left = [x + sum(widths[:n]) + n * gap for n in range(len(widths))]
    middle = [at + w / 2 for at, w in zip(left, widths, strict=True)]
    for at, name, role in zip(
        middle,
        ("query", "keys", "weights", "values", "brings"),
        ("query", "key", "weight", "value", "value"),
        strict=True,
    ):
        sheet.text(at, y, name, role, size=sheet.size - 1)
    top, mid = y + 12, y + 12 + h + 2
    style = "d-solid" if head else "d-box"
    sheet.item("query", left[0], mid, widths[0], h, vector(made(W_Q[head], [X[ASKS]])[0]))
    column(sheet, "key", left[1], top, widths[1], h, made(W_K[head]))
    for i, weight in enumerate(weights(head)):
        sheet.cell(left[2], top + i * (h + 2), widths[2], h, weight, f"{weight:.2f}")
    column(sheet, "value", left[3], top, widths[3], h, made(W_V[head]))
    sheet.item("value", left[4], mid, widths[4], h, vector(attended(head)), style=style)


def whole_heads(narrow: bool) -> Sheet:
    """Undivided words on one side, two heads that each read all of them, and the last matrix."""
    sheet = Sheet(NARROW, 610, 13) if narrow else Sheet(WIDE, 264, 14)
    h, w = 26, 30 if narrow else 25

    def words(x: float, y: float) -> None:
        for j, feature in enumerate(FEATURES):
            size = 11.5 if narrow else 11
            sheet.text(x + j * w + w / 2 - 1, y - 9, feature, "state", size=size)
        for i, word in enumerate(STORY):
            style = "d-bold" if i == ASKS else ""
            sheet.text(x - 8, y + i * (h + 2) + h / 2, word, anchor="end", style=style)
            for j, value in enumerate(X[i]):
                sheet.rect(x + j * w, y + i * (h + 2), w - 2, h, "d-state d-box")
                middle = x + j * w + w / 2 - 1
                sheet.text(middle, y + i * (h + 2) + h / 2, number(value), "state")

    def both(x: float, tops: Sequence[float], widths: Sequence[float], gap: float) -> None:
        for head, y in enumerate(tops):
            title = f"head {head} looks {('left', 'right')[head]}"
            sheet.text(x, y - 22, title, anchor="start", style="d-bold")
            one_head(sheet, head, x, y, widths, gap, h)

    def results(x: float, y: float, w: float, pitch: float) -> None:
        for i, name in enumerate(OUTPUTS):
            sheet.text(x + w + 6, y + i * pitch + h / 2, name, "state", anchor="start", size=11.5)
        for i, value in enumerate(output()):
            sheet.item("state", x, y + i * pitch, w, pitch - 2, number(value), size=13)

    if narrow:
        sheet.text(NARROW / 2, 9, "whole words, of four features", "state", style="d-bold")
        words(122, 40)
        both(2, (192, 340), (54, 62, 50, 54, 80), 9)
        sheet.arrow([(NARROW / 2, 126), (NARROW / 2, 156)], "state", style="d-thick")
        sheet.text(190, 138, "all of it, into both", "state", anchor="start", size=12)
        sheet.text(NARROW / 2, 466, "joined, and mixed by the matrix Wₒ", style="d-bold")
        stack(sheet, 2, 484, 52, 30, joined())
        grid(sheet, 78, 484, 32, 30, W_O)
        for x in (66, 213):
            sheet.text(x, 543, "→")
        results(220, 484, 50, 30)
        return sheet

    middle, x, tops = 131, 44, (34, 166)
    sheet.text(x + 2 * w, middle - 76, "whole words", "state", style="d-bold")
    words(x, middle - 42)
    both(168, tops, (40, 54, 46, 46, 58), 8)
    for head, y in enumerate(tops):
        start, into = (x + 4 * w + 2, middle), middle + (head - 0.5) * 56
        sheet.arrow([start, (154, middle), (154, y + 53), (166, y + 53)], "state")
        sheet.arrow([(447, y + 53), (455, y + 53), (455, into), (467, into)], "value")
    sheet.text(488, middle - 72, "joined", "value", style="d-bold")
    stack(sheet, 469, middle - 56, 38, 28, joined())
    sheet.text(554, middle - 72, "Wₒ", style="d-bold")
    grid(sheet, 511, middle - 56, 22, 28, W_O, 11.5)
    sheet.text(625, middle - 72, "output", "state", style="d-bold")
    results(602, middle - 56, 46, 28)
    return sheet


WHOLE_HEADS = Drawing(
    name="whole-heads",
    title="Each head reads the whole word: it is narrow in what it makes, not in what it sees.",
    description=(
        "Three words of four features each, hang, let, side and not: hang 1, 0, −1, 0; not 0, 0, "
        "0, 1; let 0, 1, 1, 0. All of it goes into both heads. In each, “not” has the query 4, 0. "
        "Head 0 makes the keys 1, 0 of hang, 0, 0 of not and −1, 0 of let, so “not” gives hang "
        "the weight 0.94, itself 0.06 "
        "and let 0.00. Head 1 makes the opposite keys, and let gets 0.94. Both make the values 1, "
        "0 of hang, 0, 0 of not and 0, 1 of let. Head 0 brings 0.94, 0 and head 1 brings 0, 0.94; "
        "joined they are four numbers. The last matrix, of ones, zeros and minus ones, makes the "
        "output 0.94, 0.94, −0.94, 0.94: both commands are there, the side of hang is negative, "
        "the left, and that of let positive, the right."
    ),
    draw=whole_heads,
    two_layouts=True,
)

COMMANDS = ("hang", "let", "feed")
MIXES = ((0.6, 0.4, 0), (0.4, 0.6, 0))
"""What each of two heads brings of three commands from "hang not let"."""

RULES = ("“the more, the better” picks it", "in the middle", "“the less, the better” picks it")
"""What a linear read-out of the first mix makes of each command."""


def differences() -> list[list[float]]:
    """A part of one mix taken from the other, both ways, so that one command is left."""
    more, less, _ = MIXES[0]
    return [
        [more * a - less * b for a, b in zip(one, other, strict=True)]
        for one, other in (MIXES, MIXES[::-1])
    ]


def middle(narrow: bool) -> Sheet:
    """Three commands as bars: one mix, in which one is in the middle, and what two mixes leave."""
    sheet = Sheet(NARROW, 244, 13) if narrow else Sheet(WIDE, 116, 13.5)
    pitch, high, scale = 26, 20, 96 if narrow else 90

    def names(top: float, x: float) -> None:
        for i, command in enumerate(COMMANDS):
            sheet.text(x, top + i * pitch + high / 2, command, anchor="end", style="d-bold")

    def bars(x: float, top: float, title: Sequence[str], shares: Sequence[float]) -> None:
        for line, said in enumerate(reversed(title)):
            sheet.text(x, top - 12 - 16 * line, said, "value", anchor="start", size=12.5)
        for i, share in enumerate(shares):
            y, length = top + i * pitch, max(2, scale * share)
            sheet.shape("value", x, y, length, high)
            sheet.text(x + length + 6, y + high / 2, number(share), anchor="start")

    top = 38
    names(top, 38)
    bars(46, top, ("head 0 brings",), MIXES[0])
    for i, rule in enumerate(RULES):
        style = "d-bold" if rule == "in the middle" else ""
        sheet.text(138, top + i * pitch + high / 2, rule, anchor="start", size=12.5, style=style)
    top, left, step = (166, 46, 99) if narrow else (38, 398, 105)
    names(top, left - 8)
    bars(left, top, ("head 1 brings",), MIXES[1])
    for n, shares in enumerate(differences()):
        more, less, _ = map(number, MIXES[0])
        title = (f"{more} × head {n}", f"− {less} × head {1 - n}")
        bars(left + (n + 1) * step, top, title, shares)
    return sheet


MIDDLE = Drawing(
    name="the-middle",
    title="One mix has a middle; two mixes can be taken apart.",
    description=(
        "Head 0 brings 0.6 hang, 0.4 let and 0 feed. “The more, the better” picks hang, “the less, "
        "the better” picks feed, and let is in the middle. Head 1 brings 0.4 hang, 0.6 let and 0 "
        "feed. 0.6 times head 0 minus 0.4 times head 1 is 0.2 hang, 0 let and 0 feed; 0.6 times "
        "head 1 minus 0.4 times head 0 is 0 hang, 0.2 let and 0 feed."
    ),
    draw=middle,
    two_layouts=True,
)

HEADS, HEAD_DIM, WORDS, FLOAT = 4, 8, 1000, 4
KEY_HEADS = (4, 2, 1)
NAMES = ("a key head each", "two share one: grouped", "all share one: multi-query")


def cache_bytes(key_heads: int) -> int:
    """Keys and values of 1,000 words in float32, as chapter 08 counts them."""
    return 2 * WORDS * key_heads * HEAD_DIM * FLOAT


def grouped_heads(narrow: bool) -> Sheet:
    """Three panels: four query heads over four, two and one heads of keys and values."""
    sheet = Sheet(NARROW, 530, 13.5) if narrow else Sheet(WIDE, 186, 14.5)
    w, gap = (52, 12) if narrow else (42, 8)
    wide = HEADS * w + (HEADS - 1) * gap
    for place, count in enumerate(KEY_HEADS):
        x = (NARROW - wide) / 2 if narrow else place * 256 + 4
        y = place * 178 if narrow else 0
        sheet.text(x + wide / 2, y + 10, NAMES[place], style="d-bold")
        group = HEADS // count
        for head in range(count):
            first = x + head * group * (w + gap)
            own = group * w + (group - 1) * gap
            sheet.item("key", first, y + 90, own, 28, "K")
            sheet.item("value", first, y + 121, own, 24, "V")
            for query in range(head * group, (head + 1) * group):
                centre = x + query * (w + gap) + w / 2
                sheet.item("query", centre - w / 2, y + 28, w, 28, f"q{'₀₁₂₃'[query]}")
                sheet.arrow([(centre, y + 60), (centre, y + 86)], "query")
        said = f"cache: {cache_bytes(count):,} bytes"
        sheet.text(x + wide / 2, y + 162, said, style="d-muted")
    return sheet


GROUPED_HEADS = Drawing(
    name="grouped-heads",
    title="Query heads that are neighbours share one head of keys and values; the cache shrinks.",
    description=(
        "Three panels of four query heads, 0 to 3. In the first each has a head of keys and "
        "values of its own, and a cache of 1,000 words takes 256,000 bytes. In the second heads "
        "0 and 1 share one and heads 2 and 3 another: 128,000 bytes. In the third all four share "
        "a single one: 64,000 bytes."
    ),
    draw=grouped_heads,
    two_layouts=True,
)

LETTERS = "abcdABCD"
"""The features of two words: small letters of the first, capital ones of the second."""

CUTS = (
    ("correct", ("abAB", "cdCD")),
    ("features before heads", ("acAC", "bdBD")),
    ("view without transpose", ("abcd", "ABCD")),
)
"""What each way of cutting gives head 0 and head 1: two features at each of two places."""


def cuts(narrow: bool) -> Sheet:
    """Two words as they come, and what three ways of cutting make of them."""
    sheet = Sheet(NARROW, 440, 13.5) if narrow else Sheet(WIDE, 222, 14)
    whole = ("two words of four features", ("abcd", "ABCD"))
    for place, (name, rows) in enumerate((whole, *CUTS)):
        column, line = (0, place) if narrow else (place % 2, place // 2)
        x, y = 30 + column * 384, line * 112.0
        sheet.text(x, y + 10, name, anchor="start", style="d-bold")
        for row, letters in enumerate(rows):
            top = y + 26 + row * 36
            label = f"head {row}" if place else f"word {row + 1}"
            sheet.text(x, top + 15, label, anchor="start", size=12.5)
            for n, letter in enumerate(letters):
                gap = 14 * (n // 2) if place else 0
                style = "d-solid" if letter.isupper() else "d-box"
                sheet.item("query", x + 66 + n * 47 + gap, top, 43, 30, letter, style=style)
    return sheet


CUTS_DRAWING = Drawing(
    name="three-cuts",
    title="Eight numbers, cut in three ways: the second mixes up features, the third words.",
    description=(
        "Two words of four features: a, b, c, d and A, B, C, D. Cut correctly, head 0 holds a, b "
        "of the first word and A, B of the second, head 1 holds c, d and C, D. With features "
        "before heads, head 0 holds a, c and A, C. With a view and no transpose, head 0 holds "
        "the whole first word and head 1 the whole second one."
    ),
    draw=cuts,
    two_layouts=True,
)
