"""Chapter 03: one step of a decoder with additive attention, frame by frame."""

import math

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet, number, vector

SOURCE = ("the", "black", "cat")
STATE, STATES = (0, 1), ((1, 0), (0, 1), (1, 1))
W, U, V = ((1, 2), (-2, 1)), ((1, -2), (-1, 2)), (4, 4)
"""The chapter's example, at the step that writes "chat"."""


def _times(matrix, x) -> list[float]:
    return [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix]


def scores() -> list[float]:
    """v · tanh(W s + U h) for each state h of the encoder."""
    query = _times(W, STATE)
    return [
        sum(v * math.tanh(q + k) for v, q, k in zip(V, query, _times(U, state), strict=True))
        for state in STATES
    ]


def weights() -> list[float]:
    """The softmax of the scores."""
    shares = [math.exp(score) for score in scores()]
    return [share / sum(shares) for share in shares]


def context() -> list[float]:
    """The encoder's states, averaged with the weights."""
    return [
        sum(w * h for w, h in zip(weights(), column, strict=True))
        for column in zip(*STATES, strict=True)
    ]


def frame(step: int) -> Sheet:
    """Everything up to this step; what is still to come is left open."""
    sheet = Sheet(NARROW, 372, 13.5)
    left, slot, gap = 66, 84, 8
    xs = [left + place * (slot + gap) for place in range(len(SOURCE))]
    label = {"anchor": "start", "size": 12.5}

    sheet.text(0, 20, "state", "query", **label)
    sheet.item("query", left, 4, slot, 32, vector(STATE), style="d-new" if step == 0 else "d-box")
    if step == 4:
        sheet.arrow([(left + slot + 8, 20), (xs[2] - 8, 20)], "state")
        sheet.item("state", xs[2], 4, slot, 32, "chat", style="d-new")
    else:
        sheet.item("state", xs[2], 4, slot, 32, "", style="d-ghost")
    sheet.text((left + slot + xs[2]) / 2, 8, "next step", style="d-muted", size=12.5)

    if step:
        sheet.text(0, 96, "context", "value", **label)
        sheet.text(0, 157, "weight", "weight", **label)
        sheet.text(0, 222, "score", **label)
    if step == 0:
        for x in xs:
            sheet.arrow([(left + slot / 2, 42), (x + slot / 2, 274)], "query", style="d-dashed")
    elif step >= 3:
        style = "d-new" if step == 3 else "d-box"
        sheet.item("value", xs[1] - 10, 80, slot + 20, 32, vector(context()), style=style)
        for x in xs:
            sheet.line([(x + slot / 2, 142), (xs[1] + slot / 2, 116)], "value")
    else:
        sheet.item("value", xs[1] - 10, 80, slot + 20, 32, "", style="d-ghost")
    if step == 4:
        sheet.arrow([(xs[2] + 6, 92), (xs[2] + slot / 2, 42)], "value")

    sheet.text(0, 296, "keys", "key", **label)
    for x, word, state, score, weight in zip(xs, SOURCE, STATES, scores(), weights(), strict=True):
        middle = x + slot / 2
        if step >= 2:
            sheet.bar(x, 150, slot, 14, weight)
            sheet.text(middle, 176, f"{weight:.2f}", "weight")
            sheet.arrow([(middle, 210), (middle, 188)], style="d-muted")
        elif step == 1:
            sheet.rect(x, 150, slot, 14, "d-weight d-ghost", 1)
        if step >= 1:
            sheet.text(middle, 222, number(score), style="d-bold" if step == 1 else "")
            sheet.arrow([(middle, 274), (middle, 234)], "key")
        sheet.item("key", x, 280, slot, 32, vector(state))
        sheet.text(middle, 352, word)
        sheet.line([(middle, 340), (middle, 316)], style="d-muted")
    if step == 1:
        sheet.text(left - 4, 254, "query", "query", anchor="end", size=12.5)
        sheet.line([(left + 2, 254), (xs[2] + slot, 254)], "query", style="d-dashed")
    return sheet


DRAWING = Drawing(
    name="decoder-step",
    title="One step of a decoder with attention: ask, score, weigh, average, write.",
    description=(
        "Five frames. The decoder's state 0, 1 is the query. The encoder's states for the, black "
        "and cat are the keys 1, 0 and 0, 1 and 1, 1. Their scores are 3.98, 3.98 and 6.9, the "
        "weights 0.05, 0.05 and 0.90. The context, the states averaged with these weights, is "
        "0.95, 0.95, and the decoder writes chat."
    ),
    draw=lambda narrow: [frame(step) for step in range(5)],
    says=(
        "The decoder has just written “le”. Its state is the query, put to all the words it read.",
        "A small network scores each state of the encoder against the query.",
        "The softmax turns the scores into weights: most of it on “cat”.",
        "The same states, averaged with the weights, are the context of this step.",
        "State, context and “le” go into a step. The new state gives “chat”, and asks next.",
    ),
)
