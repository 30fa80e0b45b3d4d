"""Chapter 11: a question without an answer, and attention read three times."""

import textwrap

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet

QUESTION = "What is the capital of France?"
TEXT = (
    "The kettle in the kitchen has been broken since May.",
    "A summarizer chooses a few sentences of a document.",
    "It gives each sentence a score by attention and keeps the best.",
    "Nothing is written anew, so a summary of this kind cannot invent a fact.",
    "My neighbour, Dr. Brown, prefers tea.",
    "We measure a summary against one that a person wrote.",
)
COSINES = (0.03, 0.01, 0.10, -0.02, -0.01, -0.04)
WEIGHTS = (0.16, 0.09, 0.59, 0.05, 0.07, 0.03)
"""Of each sentence, when the question asks; the page's cell compares."""

SENTENCES = ("maria won the election", "bruno sold the mill", "maria keeps bees")


def no_answer(narrow: bool) -> Sheet:
    """The question on top; of each sentence its cosine, and what the softmax makes of it."""
    left, wide, length, top, pitch = (0, 46, 96, 92, 62) if narrow else (0, 58, 112, 46, 38)
    foot = top + pitch * len(TEXT)
    sheet = Sheet(NARROW if narrow else WIDE, foot + 40, 13)
    bars = (8, 178) if narrow else (402, 566)
    sheet.item("query", 0, 4, 236, 28, QUESTION)
    asks = "asks" if narrow else "asks six sentences:"
    sheet.text(246, 18, asks, anchor="start", style="d-muted")
    heads = (
        ("cosine", "1: alike, 0: unrelated", "key", "no sentence is close:", "no answer here"),
        ("weight", "softmax of 20 × cosine", "weight", "together they are 1:", "one has to win"),
    )
    for x, (name, meaning, role, *seen) in zip(bars, heads, strict=True):
        sheet.text(x - 2, top - 36, name, role, anchor="start", style="d-bold")
        sheet.text(x - 2, top - 20, meaning, anchor="start", style="d-muted")
        for row, words in enumerate(seen):
            sheet.text(x - 2, foot + 14 + 17 * row, words, role, anchor="start", style="d-bold")
    for n, (sentence, cosine, weight) in enumerate(zip(TEXT, COSINES, WEIGHTS, strict=True)):
        y, most = top + pitch * n, weight == max(WEIGHTS)
        lines = textwrap.wrap(sentence, wide - 8 * (most and not narrow))
        first = 8 if narrow else 24 - 8 * len(lines)
        for row, line in enumerate(lines):
            style = "d-bold" if most else ""
            sheet.text(left, y + first + 16 * row, line, anchor="start", style=style)
        y += 44 if narrow else 16
        sheet.rect(bars[0], y - 6, length, 12, "d-key d-track", 1)
        if cosine > 0:
            sheet.rect(bars[0], y - 6, max(1.5, length * cosine), 12, "d-key d-solid", 1)
        sheet.text(
            bars[0] + length + 6, y, f"{cosine:.2f}".replace("-", "−"), "key", anchor="start"
        )
        sheet.bar(bars[1], y - 6, length, 12, weight)
        ink = "d-bold" if most else ""
        sheet.text(bars[1] + length + 6, y, f"{weight:.2f}", "weight", anchor="start", style=ink)
    return sheet


NO_ANSWER = Drawing(
    name="no-answer",
    title="The text does not say. Every cosine is near 0, and one weight is 0.59.",
    description=(
        "The question What is the capital of France above six sentences about kettles, summaries "
        "and tea. Beside each a bar for its cosine: 0.03, 0.01, 0.10, and three below 0. Beside "
        "that a bar for its weight: 0.16, 0.09, 0.59, 0.05, 0.07 and 0.03. The third sentence, It "
        "gives each sentence a score, gets the 0.59. Under the cosines: no sentence is close, no "
        "answer here. Under the weights: together they are 1, one has to win."
    ),
    draw=no_answer,
    two_layouts=True,
)


def three_readings(narrow: bool) -> Sheet:
    """Words below, a state for each sentence above them, one summary on top."""
    sheet = Sheet(NARROW, 306, 12.5)
    left, width, gap = 0, 104, 14
    sheet.item("query", 118, 22, 104, 28, "summary")
    sheet.text(0, 36, "3 choose", anchor="start", style="d-bold")
    centres = [left + width / 2 + n * (width + gap) for n in range(3)]
    for centre, role in zip(centres, ("d-thick", "d-thin", "d-thin"), strict=True):
        sheet.line([(170, 50), (centre, 104)], "weight", style=role)
    for n, centre in enumerate(centres):
        sheet.item("state", centre - 40, 104, 80, 26, f"sentence {n + 1}")
    for one, other in ((0, 1), (1, 2)):
        sheet.line([(centres[one] + 40, 117), (centres[other] - 40, 117)], "weight")
    sheet.line(
        [(centres[0] + 26, 130), (centres[0] + 26, 144), (centres[2] - 26, 144),
         (centres[2] - 26, 130)],
        "weight",
    )  # fmt: skip
    sheet.text(0, 78, "2 compare", anchor="start", style="d-bold")
    for centre, sentence in zip(centres, SENTENCES, strict=True):
        words = sentence.split()
        for row, word in enumerate(words):
            y = 196 + row * 28
            sheet.item("key", centre - 44, y, 88, 24, word)
        sheet.arrow([(centre, 192), (centre, 134)], "weight")
    sheet.text(0, 172, "1 read", anchor="start", style="d-bold")
    return sheet


READINGS = Drawing(
    name="three-readings",
    title="Attention three times: over words, among sentences, and of the summary over sentences.",
    description=(
        "Three columns of words, one for each sentence. Below, attention over its words makes one "
        "state of each sentence. In the middle the three sentences attend to each other. On top, "
        "the summary attends to the three states, and most to the first."
    ),
    draw=three_readings,
)
