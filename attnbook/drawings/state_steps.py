"""Chapter 14: linear attention as a state of fixed size, and how far two windows reach."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number, vector

QUERIES = ((0, 0), (0, 1), (1, 0), (1, 1))
KEYS = ((1, 0), (0, 1), (1, 1), (0, 0))
VALUES = ((6, 0), (0, 3), (3, 3), (0, 6))
"""The chapter's four words."""

Row = tuple[float, ...]

ASKED = 0
"""The word whose key is asked for at the end."""


def features(x: Row) -> Row:
    """elu(x) + 1."""
    return tuple(a + 1 if a >= 0 else math.exp(a) for a in x)


def states() -> list[tuple[list[list[float]], list[float], Row]]:
    """S, z and the output after each word."""
    S, z = [[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0]
    found = []
    for query, key, value in zip(QUERIES, KEYS, VALUES, strict=True):
        for f, feature in enumerate(features(key)):
            z[f] += feature
            for e, number_ in enumerate(value):
                S[f][e] += feature * number_
        found.append(([row[:] for row in S], z[:], read(features(query), S, z)))
    return found


def read(asked: Row, S: list[list[float]], z: list[float]) -> Row:
    """What a state says to the features of a query."""
    total = sum(a * b for a, b in zip(asked, z, strict=True))
    sums = [sum(a * row[e] for a, row in zip(asked, S, strict=True)) for e in range(2)]
    return tuple(value / total for value in sums)


def frame(step: int) -> Sheet:
    """The word at hand, the state after it, and what it reads; earlier words are gone.

    After the last word the state is asked for an earlier one, by that word's own key.
    """
    sheet = Sheet(NARROW, 326, 13.5)
    slot, gap = 76, 12
    asking = step == len(KEYS)
    S, z, _ = states()[min(step, len(KEYS) - 1)]
    asked = features(KEYS[ASKED] if asking else QUERIES[step])
    output = read(asked, S, z)
    for place in range(len(KEYS)):
        x = place * (slot + gap)
        now = place == step
        sheet.text(x + slot / 2, 8, f"word {place + 1}", style="" if now else "d-muted", size=12.5)
        style = "d-new" if now else "d-ghost"
        for y, role, words in (
            (22, "key", vector(features(KEYS[place]))),
            (56, "value", vector(VALUES[place])),
        ):
            gone = "gone" if place < step else ""
            sheet.item(role, x, y, slot, 28, words if now else gone, style=style, size=12.5)
    if not asking:
        x = step * (slot + gap) + slot / 2
        centre = NARROW / 2
        sheet.arrow([(x, 90), (x, 104), (centre, 104), (centre, 126)], "state")
    sheet.rect(62, 130, 216, 82, "d-state d-box", 8)
    sheet.text(72, 144, "state", "state", anchor="start", style="d-bold", size=13)
    for f, row in enumerate(S):
        for e, value in enumerate(row):
            sheet.text(130 + e * 34, 158 + f * 26, number(value), size=15)
        sheet.text(240, 158 + f * 26, number(z[f]), size=15)
    sheet.rect(114, 144, 66, 52, "d-frame", 3)
    sheet.rect(224, 144, 32, 52, "d-frame", 3)
    sheet.text(147, 203, "S", "state", size=12.5)
    sheet.text(240, 203, "z", "state", size=12.5)
    sheet.item("query", 20, 244, 92, 32, vector(asked), style="d-new")
    sheet.text(66, 292, f"key of word {ASKED + 1}" if asking else "φ(query)", "query", size=12.5)
    sheet.arrow([(66, 240), (66, 226), (100, 226), (100, 216)], "query")
    sheet.item("value", 208, 244, 110, 32, vector(output), style="d-new")
    sheet.text(263, 292, "output", "value", size=12.5)
    sheet.arrow([(240, 216), (240, 226), (263, 226), (263, 240)], "value")
    if asking:
        said = f"word {ASKED + 1} said {vector(VALUES[ASKED])}"
        sheet.text(NARROW, 317, said, "value", anchor="end", style="d-bold", size=12.5)
    else:
        sheet.text(0, 317, "Keys are drawn as φ(key).", anchor="start", style="d-muted", size=12.5)
    return sheet


STATE = Drawing(
    name="linear-state",
    title="Linear attention: each word is added to one state, read out, and forgotten.",
    description=(
        "Five frames, one for each word and one for a question. The features of a word's key and "
        "its value are added to a state of six numbers, the matrix S and the vector z, and its "
        "query reads the state. The "
        "outputs are 6, 0, then 2.67, 1.67, then 3.2, 2, then 2.5, 2.75. Earlier keys and values "
        "are gone; the state has the same size after every word. Asked with the key of word 1, it "
        "answers 2.67, 2.67, where word 1 had said 6, 0."
    ),
    draw=lambda narrow: [frame(step) for step in range(len(KEYS) + 1)],
    says=(
        "Word 1: its key times its value goes into S, its key into z, and its query reads both.",
        "Word 2 is added to the same numbers. Word 1 is gone; only the sums are left of it.",
        "Word 3. The state is still six numbers, however many words have gone into it.",
        "Word 4, or word four million: the same work, the same memory.",
        "Now ask for word 1, by its own key (2, 1). The state answers (48, 48) / 18 = "
        "(2.67, 2.67), and word 1 had said (6, 0). Nothing was deleted, and yet you cannot have "
        "it back.",
    ),
)

WINDOW, LAYERS, LENGTH = 4, 2, 9


def reach(narrow: bool) -> Sheet:
    """Nine words, two layers: a chain of two looks from the last word back."""
    sheet = Sheet(NARROW, 222, 13.5)
    names = 56  # what the rows are called stands before them
    pitch = (NARROW - names) / LENGTH
    xs = [names + pitch * (place + 0.5) for place in range(LENGTH)]
    rows = (178, 98, 18)
    last = LENGTH - 1
    for layer in range(LAYERS):
        for i in range(LENGTH):
            near = range(max(0, i - WINDOW + 1), i + 1)
            on = i == last if layer else last - i < WINDOW
            for j in near:
                style = "d-stream" if on else "d-thin d-muted"
                role = "weight" if on else None
                sheet.line([(xs[j], rows[layer] - 11), (xs[i], rows[layer + 1] + 11)], role,
                           style=style)  # fmt: skip
    seen = LAYERS * (WINDOW - 1)
    for layer, y in enumerate(rows):
        back = seen - layer * (WINDOW - 1)
        for place, x in enumerate(xs):
            style = "d-solid" if last - place <= back else "d-paper"
            sheet.circle(x, y, 9, f"d-state {style}")
    for y, words in zip(rows, ("words", "layer 1", "layer 2"), strict=True):
        sheet.text(0, y, words, anchor="start", size=12.5)
    sheet.text(NARROW, 208, f"{seen} words back, no further", anchor="end", size=12.5)
    return sheet


REACH = Drawing(
    name="window-reach",
    title="Two layers with a window of 4 reach 6 words back, by way of a word between.",
    description=(
        "Nine words and two layers, each with a window of 4 keys. The last word reads itself and "
        "three words before it in layer 2; those have read three more in layer 1. So the last "
        "word can hear of the six words before it, and of none further back."
    ),
    draw=reach,
)
