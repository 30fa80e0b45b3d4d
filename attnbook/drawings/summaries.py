"""Chapter 11: attention read three times, who names whom, and the choice of the summary."""

import math
from fractions import Fraction

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, Sheet

SENTENCES = ("maria won the election", "bruno sold the mill", "maria keeps bees")
PEOPLE, EVENTS = ("maria", "bruno", "maria"), (1, 1, 0)
SAME, FOR_NAME, FOR_EVENT = 4, 6, 2
"""e^score of a sentence that names the same person; what a score gives for name and event."""

DOCUMENT = (
    ("the farmer opened a new hospital on monday", 0.0),
    ("clara broke the record on tuesday", 0.0),
    ("alice found the missing painting after lunch", 0.33),
    ("elena signed the treaty in the spring", 0.0),
    ("grace won the election in the spring", 0.0),
    ("alice won the election after lunch", 0.31),
    ("alice likes strong coffee on tuesday", 0.04),
    ("alice owns a small boat this morning", 0.0),
    ("alice sold the old mill on monday", 0.32),
    ("alice walks to the office this morning", 0.0),
)
"""The chapter's ten sentences, and the weight of each in its trained model's summary."""
MATTER, HABITS = (2, 5, 8), (6, 7, 9)
"""The events in Alice's life, and the sentences that each of them looks at most."""


def looks() -> list[list[Fraction]]:
    """The weights of each sentence on each: a sentence with its own name counts `SAME` times."""
    shares = [[SAME if one == other else 1 for other in PEOPLE] for one in PEOPLE]
    return [[Fraction(share, sum(row)) for share in row] for row in shares]


def named() -> list[Fraction]:
    """How much of what each sentence reads names its own person."""
    return [
        sum((w for w, other in zip(row, PEOPLE, strict=True) if other == one), Fraction())
        for one, row in zip(PEOPLE, looks(), strict=True)
    ]


def scores() -> list[Fraction]:
    """The score of each sentence, from its name and its event."""
    return [
        FOR_NAME * share + FOR_EVENT * event for share, event in zip(named(), EVENTS, strict=True)
    ]


def weights() -> list[float]:
    """The attention of the summary: the softmax of the scores."""
    powers = [math.exp(score) for score in scores()]
    return [power / sum(powers) for power in powers]


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


def among(narrow: bool) -> Sheet:
    """The weights of the example as a map, each row with the name it reads of."""
    sheet = Sheet(NARROW, 214, 13)
    x, y, w, h = 150, 50, 62, 40
    sheet.text(x + 1.5 * w, 10, "looks at", style="d-muted")
    for n, person in enumerate(PEOPLE):
        sheet.text(x + (n + 0.5) * w, 34, person, "key")
    for i, (sentence, row) in enumerate(zip(SENTENCES, looks(), strict=True)):
        middle = y + (i + 0.5) * h
        sheet.text(x - 8, middle, sentence, "query", anchor="end", size=12)
        for j, weight in enumerate(row):
            share = float(weight)
            sheet.cell(x + j * w, y + i * h, w, h, share, f"{share:.2f}")
    sheet.text(0, 190, "own name read:", anchor="start", style="d-muted")
    for n, share in enumerate(named()):
        sheet.text(x + (n + 0.5) * w, 190, f"{float(share):.2f}", "state", style="d-bold")
    return sheet


AMONG = Drawing(
    name="sentences-among",
    title="Each sentence looks for its own name: Maria's find another, Bruno's does not.",
    description=(
        "A table of weights. Both sentences about Maria give 0.44 to each of the two and 0.11 to "
        "the one about Bruno. The sentence about Bruno gives 0.17, 0.67 and 0.17. So of what they "
        "read, 0.89, 0.67 and 0.89 names their own person."
    ),
    draw=among,
)


def choice(narrow: bool) -> Sheet:
    """Score and weight of each sentence; the chosen one stands first."""
    sheet = Sheet(NARROW, 196, 13)
    sheet.text(180, 10, "score", style="d-muted")
    sheet.text(NARROW, 10, "weight", anchor="end", style="d-muted")
    for n, (sentence, score, weight) in enumerate(zip(SENTENCES, scores(), weights(), strict=True)):
        y = 28 + n * 56
        sheet.item("key", 0, y, 158, 34, sentence, size=12, style="d-box" if n else "d-solid")
        sheet.text(180, y + 17, f"{float(score):.2f}", "state")
        sheet.bar(208, y + 9, 86, 16, weight)
        sheet.text(NARROW, y + 17, f"{weight:.2f}", "weight", anchor="end")
    return sheet


CHOICE = Drawing(
    name="summary-choice",
    title="The summary's attention: an event, in the life of the one who is named twice.",
    description=(
        "Three sentences with their scores and weights. Maria won the election: 7.33, 0.71. Bruno "
        "sold the mill: 6.00, 0.19. Maria keeps bees: 5.33, 0.10. The first is chosen."
    ),
    draw=choice,
)


def weighed(narrow: bool) -> Sheet:
    """The document as the summary weighs it, and what the three that it keeps have looked at."""
    pitch, left = 25, 38
    sheet = Sheet(NARROW, 22 + pitch * len(DOCUMENT), 11.5)
    sheet.text(NARROW, 8, "weight", anchor="end", style="d-muted")
    sheet.text(0, 8, "looks at", anchor="start", style="d-muted")
    most, length = max(weight for _, weight in DOCUMENT), 262
    middles = [22 + pitch * (n + 0.5) for n in range(len(DOCUMENT))]
    for n, ((sentence, weight), y) in enumerate(zip(DOCUMENT, middles, strict=True)):
        kept = n in MATTER
        if weight:
            bar = length * weight / most
            sheet.rect(left, y - 11, bar, 22, "d-weight d-box" if kept else "d-weight d-track", 2)
        sheet.text(left + 5, y, sentence, anchor="start", style="" if kept else "d-muted")
        if weight:
            style = "d-bold" if kept else "d-muted"
            role = "weight" if kept else None
            sheet.text(NARROW, y, f"{weight:.2f}", role, anchor="end", style=style)
    for event in MATTER:
        for habit in HABITS:
            start, end = middles[event], middles[habit]
            deep = left - 6 - 8 * abs(habit - event)
            sheet.bend((left - 2, start), (deep, (start + end) / 2), (left - 2, end), "state",
                       style="d-thin")  # fmt: skip
    return sheet


WEIGHED = Drawing(
    name="weighed-sentences",
    title="What the summarizer makes of the document: a bar is the weight of a sentence.",
    description=(
        "The ten sentences, one below the other, with bars for the weights that the trained model "
        "gives them in its summary: 0.33, 0.31 and 0.32 for Alice's three events, 0.04 for one of "
        "her habits, and none for all others. Curved arrows lead from each of the three events to "
        "Alice's three habits, which in one head they look at most."
    ),
    draw=weighed,
)
