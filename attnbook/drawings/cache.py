"""Chapter 13: a cache that grows by a row at each word."""

from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, vector

WORDS = ((1, 0), (0, 1), (1, 1))
TO_QUERY, TO_KEY, TO_VALUE = ((1, -1), (0, 1)), ((1, 0), (1, 1)), ((2, 2), (7, 1))
"""Chapter 13's example: what each feature of a query, a key and a value is made of."""

FLOAT = 4  # bytes
WITH_CACHE, AGAIN = (16, 20, 24), (16, 36, 60)
"""Multiply-adds at each word, as the chapter counts them."""


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


def nbytes(place: int) -> int:
    """Of the cache after the word at `place`: two vectors of two float32 a word."""
    return (place + 1) * 2 * 2 * FLOAT


def frame(place: int) -> Sheet:
    """A word comes in; its key and value join the cache, its query asks all of it."""
    sheet = Sheet(NARROW, 318, 13.5)
    word = WORDS[place]
    left, slot, gap = 64, 84, 8
    sheet.text(0, 35, f"word {place + 1}", anchor="start", style="d-bold")
    made = (("query", TO_QUERY), ("key", TO_KEY), ("value", TO_VALUE))
    for column, (role, to) in enumerate(made):
        x = left + column * (slot + gap)
        sheet.text(x + slot / 2, 9, role, role, size=12.5)
        sheet.item(role, x, 20, slot, 30, vector(projected(word, to)))
    sheet.rect(0, 84, NARROW, 118, "d-state d-band", 8)
    sheet.text(10, 100, "cache", anchor="start", style="d-bold")
    for number_, other in enumerate(WORDS):
        x = left + number_ * (slot + gap)
        for row, (role, to) in enumerate(made[1:]):
            y = 116 + 40 * row
            if number_ > place:
                sheet.item(role, x, y, slot, 32, "", style="d-ghost")
                continue
            style = "d-new" if number_ == place else "d-box"
            sheet.item(role, x, y, slot, 32, vector(projected(other, to)), style=style)
        if number_ <= place:
            weight = weights(place)[number_]
            sheet.bar(x, 222, slot, 14, float(weight))
            sheet.text(x + slot / 2, 247, str(weight), "weight")
    sheet.text(10, 132, "keys", "key", anchor="start", size=12.5)
    sheet.text(10, 172, "values", "value", anchor="start", size=12.5)
    sheet.text(10, 229, "weights", "weight", anchor="start", size=12.5)
    at = left + place * (slot + gap) + slot / 2
    into = left + slot + gap + slot / 2
    sheet.arrow([(into, 54), (into, 68), (at, 68), (at, 112)], "key", style="d-thin")
    sheet.text(10, 284, "output", "value", anchor="start", size=12.5)
    sheet.item("value", left, 268, slot, 32, vector(map(float, output(place))), style="d-new")
    sheet.text(NARROW, 268, f"cache: {nbytes(place)} bytes", anchor="end", style="d-bold")
    sheet.text(NARROW, 288, f"this word: {WITH_CACHE[place]} multiply-adds", anchor="end")
    again = f"everything again: {AGAIN[place]}"
    sheet.text(NARROW, 307, again, anchor="end", style="d-muted", size=12.5)
    return sheet


GROWING_CACHE = Drawing(
    name="growing-cache",
    title="The cache grows by one key and one value at each word; nothing old is computed again.",
    description=(
        "Three steps of one head with two features. Each word is made into a query, a key and a "
        "value. Key and value are put into the cache, which grows from 16 to 32 to 48 bytes. The "
        "query is compared with every key in the cache, and the weights average the values: the "
        "outputs are 2, 7, then 2, 3, then 3, 6."
    ),
    draw=lambda narrow: [frame(place) for place in range(len(WORDS))],
    says=(
        "Word 1 comes in. Its key and value go into the empty cache, and it can see only itself.",
        "Word 2 brings one key and one value. Its query asks both keys; the first was kept.",
        "Word 3: one more. 16 + 20 + 24 are 60 multiply-adds; without a cache it takes 112.",
    ),
)
