"""Chapter 01: longer and longer words for a model with one vector, as it writes them backwards."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

TESTED = 200
"""Words of each length; the chapter's model wrote all of them backwards."""

WRITTEN = {
    2: ("lr", "rl"),
    4: ("lhhd", "dhhd"),
    6: ("fiabfl", "lfbaif"),
    8: ("hfmbsnip", "pinsbfm"),
    10: ("jisldirnim", "imnrdmsl"),
    12: ("tckjchlqksld", "dlskhcqpjl"),
    14: ("ttkbatehgkddgk", "kgdkihde"),
    16: ("ohokokdtlorsitap", "aptrdisqo"),
}
"""By length the first word of the test and what the model wrote for it."""

RIGHT = {
    2: (200, 200),
    4: (188, 177, 176, 171),
    6: (183, 158, 135, 116, 116, 105),
    8: (176, 142, 102, 73, 65, 55, 45, 7),
    10: (161, 123, 101, 70, 44, 49, 41, 23, 3, 0),
    12: (165, 127, 97, 74, 52, 42, 29, 24, 5, 0, 0, 0),
    14: (170, 113, 79, 65, 50, 24, 26, 13, 5, 1, 0, 0, 0, 0),
    16: (162, 117, 101, 54, 40, 35, 25, 20, 5, 2, 0, 0, 0, 0, 0, 0),
}
"""By length: of how many of the words each letter of the answer was right, by its place."""

WHOLE = {2: 200, 4: 165, 6: 56, 8: 2, 10: 0, 12: 0, 14: 0, 16: 0}
"""By length: how many words came out without a mistake."""

LONGEST = 8
"""In training."""

PITCH, BOX = 21.0, 19.0


def right_of(length: int) -> int:
    """Letters of the shown word that are in their place."""
    source, written = WRITTEN[length]
    return sum(a == b for a, b in zip(source[::-1], written, strict=False))


def frame(length: int) -> Sheet:
    """One word in boxes, and below them how often each place is right."""
    sheet = Sheet(NARROW, 318, 13)
    source, written = WRITTEN[length]
    right = source[::-1]
    left = (NARROW - length * PITCH) / 2
    found = f"{length} letters: {right_of(length)} of {length} in their place"
    sheet.text(NARROW / 2, 12, found, style="d-bold", size=16)
    for row, (name, word) in enumerate(
        (("it reads", source), ("it should write", right), ("it writes", written))
    ):
        y = 36 + 48 * row
        sheet.text(NARROW / 2, y, name, style="d-muted", size=12)
        for place in range(length):
            x = left + place * PITCH
            letter = word[place] if place < len(word) else ""
            good = row < 2 or letter == right[place]
            if letter and good:
                sheet.item("state", x, y + 9, BOX, BOX, letter, size=13)
            elif letter:
                sheet.rect(x, y + 9, BOX, BOX, "d-query d-new", 4)
                sheet.text(x + BOX / 2, y + 9 + BOX / 2, letter, "query", style="d-bold")
            else:
                sheet.rect(x, y + 9, BOX, BOX, "d-query d-ghost", 4)
    top, tall = 204, 76
    sheet.text(NARROW / 2, 186, f"right at each place, of {TESTED} words", style="d-muted", size=12)
    for place, count in enumerate(RIGHT[length]):
        x, part = left + place * PITCH, tall * count / TESTED
        sheet.rect(x, top, BOX, tall, "d-weight d-track")
        if count:
            sheet.rect(x, top + tall - part, BOX, part, "d-weight d-solid")
    whole = f"{WHOLE[length]} of {TESTED} words came out whole"
    sheet.text(NARROW / 2, 302, whole, size=13)
    return sheet


DRAWING = Drawing(
    name="longer-words",
    title="Longer and longer words through one vector, after 600 updates: answers fray at the end.",
    description=(
        "Eight frames, for words of 2, 4, 6 and so on up to 16 letters, each with a word in boxes, "
        "the same word backwards, and what the model wrote. Below, a bar for each place of the "
        "answer says in how many of 200 words the letter there was right. At two letters all "
        "bars are full. From four letters on they fall from left to right, and from ten letters "
        "on the last places are empty."
    ),
    draw=lambda narrow: [frame(length) for length in WRITTEN],
    says=(
        "Two letters: every word comes out whole. Press Next, and watch the bars, which count 200.",
        "Four letters: here the last is wrong. Four words in five are still whole.",
        "Six letters: this one is whole, but fewer than a third are. The bars sink at the end.",
        "Eight letters, the longest in training: five right, two swapped, and the last missing.",
        "Ten letters: longer than any word in training. The last bars are empty.",
        "Twelve letters: a good beginning, and the rest slips out of its place.",
        "Fourteen letters: it stops after eight, as if the word were no longer than those it knew.",
        "Sixteen letters: the first bar is still high, each one after it lower, down to none.",
    ),
)
