"""Chapter 13: the third word, with a cache and with everything computed again."""

from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, vector

WORDS = ((1, 0), (0, 1), (1, 1))
TO_QUERY, TO_KEY, TO_VALUE = ((1, -1), (0, 1)), ((1, 0), (1, 1)), ((2, 2), (7, 1))
"""Chapter 13's example: what each feature of a query, a key and a value is made of."""

MADE = {"query": TO_QUERY, "key": TO_KEY, "value": TO_VALUE}
WITH_CACHE, AGAIN = (16, 20, 24), (16, 36, 60)
"""Multiply-adds at each word, as the chapter counts them."""

PANEL = 318
LEFT, SLOT, GAP = 66, 77, 12


def projected(word: tuple[int, int], to: tuple[tuple[int, int], ...]) -> list[int]:
    """A word's query, key or value."""
    return [sum(a * b for a, b in zip(word, column, strict=True)) for column in to]


def weights(place: int) -> list[Fraction]:
    """Of the word at `place`, over itself and those before: shares of 2 to the score."""
    query = projected(WORDS[place], TO_QUERY)
    keys = [projected(word, TO_KEY) for word in WORDS[: place + 1]]
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    shares = [Fraction(2) ** score for score in scores]
    return [share / sum(shares) for share in shares]


def output(place: int) -> list[Fraction]:
    """The values so far, averaged with those weights."""
    values = [projected(word, TO_VALUE) for word in WORDS[: place + 1]]
    columns = zip(*values, strict=True)
    return [sum(w * v for w, v in zip(weights(place), c, strict=True)) for c in columns]


def panel(sheet: Sheet, x: float, y: float, *, kept: bool) -> None:
    """The last word comes in: what is made now has a bold frame, what was kept a thin one."""
    last = len(WORDS) - 1
    edge = x + LEFT + last * (SLOT + GAP)  # where the last word's column begins
    sheet.text(x, y + 9, "with a cache" if kept else "everything again", anchor="start",
               style="d-bold")  # fmt: skip
    if kept:
        sheet.rect(x + LEFT - 6, y + 90, edge - x - LEFT, 102, "d-state d-band", 8)
        middle = x + LEFT + SLOT + GAP / 2
        sheet.text(middle, y + 180, "kept in the cache", style="d-muted", size=12.5)
    for row, (role, to) in enumerate(MADE.items()):
        top = y + 56 + 40 * row
        sheet.text(x, top + 15, role, role, anchor="start", size=12.5)
        for place, word in enumerate(WORDS):
            if kept and place < last and role == "query":
                continue
            style = "d-box" if kept and place < last else "d-new"
            at = x + LEFT + place * (SLOT + GAP)
            sheet.item(role, at, top, SLOT, 30, vector(projected(word, to)), style=style)
    sheet.text(x, y + 211, "weights", "weight", anchor="start", size=12.5)
    sheet.text(x, y + 255, "output", "value", anchor="start", size=12.5)
    for place, weight in enumerate(weights(last)):
        at = x + LEFT + place * (SLOT + GAP)
        name = f"word {place + 1}" + (", new" if place == last else "")
        sheet.text(at + SLOT / 2, y + 38, name, size=12.5, style="d-bold" if place == last else "")
        sheet.bar(at, y + 204, SLOT, 12, float(weight))
        sheet.text(at + SLOT / 2, y + 227, str(weight), "weight", size=12.5)
        if place == last or not kept:
            out = vector(map(float, output(place)))
            sheet.item("value", at, y + 240, SLOT, 30, out, style="d-new")
    count = (WITH_CACHE if kept else AGAIN)[last]
    sheet.text(x + PANEL, y + 292, f"{count} multiply-adds", anchor="end", style="d-bold")


def draw(narrow: bool) -> Sheet:
    """Both ways, side by side; on a telephone one below the other."""
    high = 304
    sheet = Sheet(NARROW, 2 * high + 20, 13.5) if narrow else Sheet(WIDE, high, 13.5)
    panel(sheet, 8, 0, kept=True)
    panel(sheet, *((8, high + 20) if narrow else (WIDE - PANEL - 8, 0)), kept=False)
    return sheet


GROWING_CACHE = Drawing(
    name="growing-cache",
    title="Word 3 comes in. What has a bold frame is computed now.",
    description=(
        "One head with two features at its third word, twice. Each word has a query, a key and a "
        "value. With a cache, keys and values of words 1 and 2 lie there; only word 3 is made "
        "into a query, a key and a value, and one output is computed: 24 multiply-adds. Without, "
        "all three words are made into queries, keys and values, and all three outputs are "
        "computed: 60. In both, the weights of word 3 are 1/4, 1/4 and 1/2, and its output is 3, 6."
    ),
    draw=draw,
    two_layouts=True,
)
