"""Chapter 08: features split into heads and joined again, and query heads that share keys."""

from collections.abc import Sequence
from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number

Rows = Sequence[Sequence[float]]

SHARES: tuple[Rows, Rows] = (
    ((1, 2, 1), (6, 1, 1), (2, 1, 1)),
    ((2, 1, 1), (Fraction(1, 2), Fraction(1, 2), 1), (1, 6, 1)),
)
"""Of chapter 08's example: for each head a row of e^s for each query."""

VALUES: Rows = ((8, 0, 8, 8), (0, 8, 0, 16), (16, 8, 16, 0))
"""A row for each word; the first two features are head 0's."""


def weights(head: int) -> list[list[Fraction]]:
    """The weights of a head: its shares, divided by their sum."""
    return [[Fraction(share) / sum(map(Fraction, row)) for share in row] for row in SHARES[head]]


def attended(head: int) -> list[list[Fraction]]:
    """What a head gives: its weights times its two columns of the values."""
    own = [row[2 * head : 2 * head + 2] for row in VALUES]
    return [
        [sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*own, strict=True)]
        for row in weights(head)
    ]


def merged() -> list[list[Fraction]]:
    """The heads side by side."""
    return [left + right for left, right in zip(attended(0), attended(1), strict=True)]


def output() -> list[list[Fraction]]:
    """The last projection, which adds and subtracts what the heads found."""
    return [[a + c, b + d, a - c, b - d] for a, b, c, d in merged()]


def matrix(sheet: Sheet, x: float, y: float, w: float, h: float, rows: Rows, solid: set) -> None:
    """Values in boxes; the columns in `solid`, those of head 1, are filled."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            style = "d-solid" if j in solid else "d-box"
            sheet.item("value", x + j * w, y + i * h, w, h, number(float(value)), style=style)


def table(sheet: Sheet, x: float, y: float, w: float, h: float, head: int) -> None:
    """The weights of a head as a heat map with its numbers."""
    for i, row in enumerate(weights(head)):
        for j, weight in enumerate(row):
            sheet.cell(x + j * w, y + i * h, w, h, float(weight), str(weight), size=sheet.size - 1)


def split_heads(narrow: bool) -> Sheet:
    """From left to right on a wide page, from top to bottom on a narrow one."""
    sheet = Sheet(NARROW, 604, 13) if narrow else Sheet(WIDE, 318, 14)
    w, h = (28, 26) if narrow else (26, 27)
    tall = 3 * h
    own = [[row[2 * head : 2 * head + 2] for row in VALUES] for head in (0, 1)]
    filled = ({2, 3}, (set(), {0, 1}))
    if narrow:
        left = (NARROW - 4 * w) / 2
        sheet.text(NARROW / 2, 9, "values: 3 words, 4 features", "value", style="d-bold")
        matrix(sheet, left, 24, w, h, VALUES, filled[0])
        for head, x in enumerate((2, NARROW - 2 - 5 * w - 18)):
            middle = x + (5 * w + 18) / 2
            sheet.arrow(
                [(left + w + 2 * head * w, 24 + tall + 6), (middle, 24 + tall + 40)], "value"
            )
            sheet.text(middle, 24 + tall + 54, f"head {head}", style="d-bold")
            top = 24 + tall + 68
            table(sheet, x, top, w, h, head)
            sheet.text(x + 3 * w + 9, top + tall / 2, "×")
            matrix(sheet, x + 3 * w + 18, top, w, h, own[head], filled[1][head])
            sheet.text(middle, top + tall + 14, "=")
            matrix(sheet, middle - w, top + tall + 28, w, h, attended(head), filled[1][head])
            sheet.arrow(
                [(middle, top + 2 * tall + 34), (left + w + 2 * head * w, top + 2 * tall + 62)],
                "value",
            )
        top = 24 + tall + 68 + 2 * tall + 68
        matrix(sheet, left, top, w, h, merged(), filled[0])
        sheet.text(left + 4 * w + 10, top + tall / 2, "joined", "value", anchor="start")
        sheet.arrow([(NARROW / 2, top + tall + 6), (NARROW / 2, top + tall + 32)])
        sheet.text(NARROW / 2 + 12, top + tall + 18, "Wₒ mixes the heads", anchor="start")
        matrix(sheet, left, top + tall + 38, w, h, output(), set())
        sheet.text(left + 4 * w + 10, top + tall * 1.5 + 38, "output", "value", anchor="start")
        return sheet

    middle = 158
    sheet.text(0, middle - tall / 2 - 16, "values", "value", anchor="start", style="d-bold")
    matrix(sheet, 0, middle - tall / 2, w, h, VALUES, filled[0])
    for head, y in enumerate((36, 280 - tall)):
        centre = y + tall / 2
        sheet.arrow([(4 * w + 6, middle + (head - 0.5) * 34), (150, centre)], "value")
        sheet.text(158, y - 14, f"head {head}: weights × values", anchor="start", style="d-bold")
        table(sheet, 158, y, w, h, head)
        sheet.text(158 + 3 * w + 11, centre, "×")
        matrix(sheet, 258, y, w, h, own[head], filled[1][head])
        sheet.text(322, centre, "=")
        matrix(sheet, 334, y, w, h, attended(head), filled[1][head])
        sheet.arrow([(394, centre), (440, middle + (head - 0.5) * 34)], "value")
    sheet.text(498, middle - tall / 2 - 16, "joined", "value", style="d-bold")
    matrix(sheet, 446, middle - tall / 2, w, h, merged(), filled[0])
    sheet.arrow([(558, middle), (606, middle)])
    sheet.text(582, middle - 16, "Wₒ")
    sheet.text(664, middle - tall / 2 - 16, "output", "value", style="d-bold")
    matrix(sheet, 613, middle - tall / 2, w, h, output(), set())
    sheet.text(582, middle + tall / 2 + 26, "the only place where heads mix", style="d-muted")
    return sheet


SPLIT_HEADS = Drawing(
    name="split-heads",
    title="Each head averages its part of the projected values; then they are joined and mixed.",
    description=(
        "The values of three words, four features each, are cut into two halves. Head 0 "
        "multiplies the first two features with its table of weights, head 1 the last two with "
        "its own. The results, two features from each head, are put side by side: 6 6 8 8, then "
        "8 2 10 6, then 8 4 3 13. A last matrix mixes them: 14 14 −2 −2, then 18 8 −2 −4, then "
        "11 17 5 −9."
    ),
    draw=split_heads,
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

STORY = ("hang", "them", "not", "let", "them", "go")
LEFT_SHARE = 0.6
"""The share that chapter 08 fixes for the command on the left; the right one gets the rest."""


def two_readings(narrow: bool) -> Sheet:
    """The row of *not*: in one head it is shared by two commands, two heads have one each."""
    sheet = Sheet(NARROW, 292, 13.5)
    pitch, w, h = 57, 53, 27
    mixed = [LEFT_SHARE, 0, 0, 1 - LEFT_SHARE, 0, 0]
    alone = [[float(word == read) for word in STORY] for read in ("hang", "let")]

    def row(y: float, shares: Sequence[float]) -> None:
        for place, share in enumerate(shares):
            said = f"{share:.2f}" if share else ""
            sheet.cell(place * pitch, y, w, h, share, said, size=12.5)

    for place, word in enumerate(STORY):
        x = place * pitch
        if word == "not":
            sheet.item("query", x, 0, w, 26, word)
        else:
            sheet.text(x + w / 2, 13, word)
    sheet.text(0, 46, "One head: a single row of weights", anchor="start", style="d-bold")
    row(58, mixed)
    for place in (0, 3):
        sheet.arrow([(place * pitch + w / 2, 88), (NARROW / 2 - 40 + 14 * place, 108)], "value")
    words = f"{number(LEFT_SHARE)} hang + {number(1 - LEFT_SHARE)} let"
    sheet.item("value", 86, 110, 168, 30, words)
    sheet.text(NARROW / 2, 155, "one mix: name both, left and right?", style="d-muted", size=12.5)

    sheet.text(0, 188, "Two heads: a row each", anchor="start", style="d-bold")
    for head, shares in enumerate(alone):
        row(200 + 31 * head, shares)
    for place, read in ((0, "hang"), (3, "let")):
        centre = place * pitch + w / 2
        sheet.arrow([(centre, 260), (centre, 264 + 0.1)], "value", style="d-thin")
        sheet.item("value", place * pitch - 4 * (place > 0), 266, w + 8, 26, read)
    sheet.text(pitch + w / 2 + 12, 279, "left", style="d-muted", size=12.5)
    sheet.text(4 * pitch + w / 2 + 12, 279, "right", style="d-muted", size=12.5)
    return sheet


TWO_READINGS = Drawing(
    name="two-readings",
    title="One row of weights mixes the two commands; two rows keep them apart.",
    description=(
        "The sentence “hang them not let them go”; “not” asks. With one head there is one row of "
        "weights, 0.60 on “hang” and 0.40 on “let”, and what comes back is one mix, 0.6 hang and "
        "0.4 let, which does not say which of the two stood on the left. With two heads there "
        "are two rows: one has weight 1.00 on “hang”, the other 1.00 on “let”, and the two "
        "commands come back side by side, left and right."
    ),
    draw=two_readings,
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
