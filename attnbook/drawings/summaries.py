"""Chapter 11: attention read three times, a document weighed, and two that are real."""

import math
import re
import textwrap
from fractions import Fraction
from typing import NamedTuple

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number

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
FULL = 0.4
"""The weight of a bar as long as its track."""


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
    sheet = Sheet(NARROW, 176, 13)
    x, y, w, h = 150, 50, 43, 40
    last = (x + 3 * w + NARROW) / 2 + 2
    sheet.text(x + 1.5 * w, 10, "looks at", style="d-muted")
    sheet.text(last, 10, "reads of", style="d-muted")
    sheet.text(last, 34, "its name", style="d-muted")
    for n, person in enumerate(PEOPLE):
        sheet.text(x + (n + 0.5) * w, 34, person, "key", size=12)
    for i, (sentence, row) in enumerate(zip(SENTENCES, looks(), strict=True)):
        middle = y + (i + 0.5) * h
        sheet.text(x - 6, middle, sentence, "query", anchor="end", size=12)
        for j, weight in enumerate(row):
            share = float(weight)
            sheet.cell(x + j * w, y + i * h, w, h, share, f"{share:.2f}")
        sheet.text(last, middle, f"{float(named()[i]):.2f}", "state", style="d-bold")
    return sheet


AMONG = Drawing(
    name="sentences-among",
    title=(
        "Each sentence looks for its own name: Maria's two find each other, Bruno's looks mostly "
        "at itself."
    ),
    description=(
        "A table of weights. Both sentences about Maria give 0.44 to each of the two and 0.11 to "
        "the one about Bruno. The sentence about Bruno gives 0.17, 0.67 and 0.17. A last column "
        "adds up what each reads of its own name: 0.89, 0.67 and 0.89."
    ),
    draw=among,
)


def choice(narrow: bool) -> Sheet:
    """Score and weight of each sentence; the chosen one stands first."""
    sheet = Sheet(NARROW, 196, 13)
    sheet.text(188, 10, "score", style="d-muted")
    sheet.text(NARROW, 10, "weight", anchor="end", style="d-muted")
    for n, (sentence, score, weight) in enumerate(zip(SENTENCES, scores(), weights(), strict=True)):
        y = 28 + n * 56
        sheet.item("key", 0, y, 166, 34, sentence, size=12, style="d-box" if n else "d-solid")
        sheet.text(188, y + 17, f"{float(score):.2f}", "state")
        sheet.bar(214, y + 9, 84, 16, weight)
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
    top, pitch, size, lane, left = (36, 40, 12.5, 13, 46) if narrow else (34, 29, 14, 17, 64)
    bars, length = (left, 236) if narrow else (404, 250)
    sheet = Sheet(NARROW if narrow else WIDE, top + pitch * len(DOCUMENT), size)
    rows = [top + pitch * (n + 0.5) for n in range(len(DOCUMENT))]
    middles = [row - 9 for row in rows] if narrow else rows
    for tick in (0, 0.2, 0.4):
        sheet.text(bars + length * tick / FULL, 8, number(tick), style="d-muted")
    sheet.text(sheet.width, 8, "weight", anchor="end", style="d-muted")
    for n, ((sentence, weight), y, middle) in enumerate(zip(DOCUMENT, rows, middles, strict=True)):
        kept = n in MATTER
        ink = "d-bold" if kept else "d-muted"
        sheet.text(left, middle, sentence, anchor="start", style="" if kept else "d-muted")
        y += 8 if narrow else 0
        sheet.bar(bars, y - 5, length, 10, weight / FULL)
        if weight:
            role = "weight" if kept else None
            sheet.text(sheet.width, y, f"{weight:.2f}", role, anchor="end", style=ink)
    for place, event in enumerate(MATTER):
        x = 7 + lane * place
        ends = [min(event, *HABITS), max(event, *HABITS)]
        sheet.line([(x, middles[end]) for end in ends], "state", style="d-thin")
        sheet.circle(x, middles[event], 4, "d-state d-solid")
        for habit in HABITS:
            sheet.circle(x, middles[habit], 4, "d-state d-paper")
    return sheet


WEIGHED = Drawing(
    name="weighed-sentences",
    title=(
        "The summary's weights, right. Left: a dot is an event, its rings the three sentences "
        "that it looks at most (head 2)."
    ),
    description=(
        "The ten sentences, one below the other, with bars on one scale for the weights that the "
        "trained model gives them in its summary: 0.33, 0.31 and 0.32 for Alice's three events, "
        "0.04 for one of her habits, and none for all others. At the left, a line joins the "
        "dot of each event with rings at Alice's three habits, at which it looks most in one head."
    ),
    draw=weighed,
    two_layouts=True,
)

# -- two real documents --------------------------------------------------------------------------


class Example(NamedTuple):
    """A docstring: its name, the author's line, the other sentences, and what was chosen."""

    name: str
    author: str
    sentences: tuple[str, ...]
    chosen: dict[int, tuple[str, int]]
    """The place of a sentence: who chose it, and its ROUGE-1 in percent."""


EXAMPLES = (
    Example(
        "getallmatchingheaders",
        "Find all header lines matching a given header name.",
        (
            "Look through the list of headers and find all lines matching a given header name "
            "(and their continuation lines).",
            "A list of the lines is returned, without interpretation.",
            "If the header does not occur, an empty list is returned.",
            "If the header occurs multiple times, all occurrences are returned.",
            "Case is not important in the header name.",
        ),
        {0: ("lead", 57), 2: ("MiniLM", 10)},
    ),
    Example(
        "set_running_or_notify_cancel",
        "Mark the future as running or process any cancel notifications.",
        (
            "Should only be used by Executor implementations and unit tests.",
            "If the future has been cancelled (cancel() was called and returned True) then any "
            "threads waiting on the future completing (though calls to as_completed() or wait()) "
            "are notified and False is returned.",
            "If the future was not cancelled then it is put in the running state (future calls to "
            "running() will return True) and True is returned.",
            "This method should be called by Executor implementations before executing the work "
            "associated with this future.",
            "If this method returns False then the work should not be executed.",
        ),
        {0: ("lead", 0), 3: ("MiniLM", 15)},
    ),
)
"""Two of the documents in `results/docstrings.json`."""


def parts_of(text: str) -> list[str]:
    """The words of a text as ROUGE counts them."""
    return re.findall("[a-z0-9]+", text.lower())


def _marked(line: str, shared: set[str]) -> list[tuple[str, bool]]:
    """A line cut into words and what is between, and which of them are in `shared`."""
    cut = re.split("([A-Za-z0-9]+)", line)
    return [(part, part.lower() in shared) for part in cut if part]


def _example(sheet: Sheet, example: Example, left: float, top: float) -> float:
    """One docstring, from (left, top) down to the height that is returned."""
    shared, leading, y = set(parts_of(example.author)), 16.5, top + 8
    sheet.text(left, y, "the author's line, hidden from both", anchor="start", style="d-muted")
    for line in textwrap.wrap(example.author, 44):
        y += leading
        sheet.text(left, y, line, anchor="start", style="d-bold", size=13)
    y += 10
    for n, sentence in enumerate(example.sentences):
        who, score = example.chosen.get(n, ("", 0))
        y += leading + 6
        start = y - leading / 2
        if who:
            role = "key" if who == "lead" else "state"
            sheet.text(left + 12, y, f"{who}: ROUGE-1 {score}%", role, anchor="start",
                       style="d-bold")  # fmt: skip
            y += leading
        for row, line in enumerate(textwrap.wrap(sentence, 50)):
            y += leading if row else 0
            sheet.words(left + 12, y, _marked(line, shared), style="" if who else "d-muted")
        if who:
            sheet.rect(left, start, 4, y - start + leading / 2, f"d-{role} d-solid", 1)
    return y + leading / 2 + 4


def docstrings(narrow: bool) -> Sheet:
    """The two documents, below each other or side by side."""
    sheet = Sheet(NARROW if narrow else WIDE, 0, 12.5)
    y = 0.0
    for place, example in enumerate(EXAMPLES):
        if narrow:
            y = _example(sheet, example, 0, y + 22 * place)
        else:
            y = max(y, _example(sheet, example, 372 * place, 0))
    sheet.height = y
    return sheet


DOCSTRINGS = Drawing(
    name="two-docstrings",
    title="Two docstrings, and what was chosen. Words of the author's line are underlined.",
    description=(
        "Two documents of five sentences below the author's line. In the first, lead chose the "
        "first sentence, which has seven words of the author's, ROUGE-1 57 percent, and MiniLM the "
        "third, 10 percent. In the second, lead chose the first, which shares no word with the "
        "author's line, 0 percent, and MiniLM the fourth, 15 percent."
    ),
    draw=docstrings,
    two_layouts=True,
)


# -- is it in the text? --------------------------------------------------------------------------


class Told(NamedTuple):
    """A sentence of a summary, its largest cosine with the text, and whether the text says so."""

    sentence: str
    cosine: float
    true: bool
    verdict: str


TOLD = (
    Told("A summarizer picks some of the sentences.", 0.76, True, "the text says so"),
    Told("The kettle is broken.", 0.88, True, "the text says so"),
    Told("It was tested on ten thousand newspapers.", 0.32, False, "invented: low"),
)
FOOLED = (
    Told("The kettle is not broken.", 0.84, False, "false, and yet high"),
    Told("The best ones are kept.", 0.29, True, "true, and yet low"),
)
"""Where the check does what it should, and where it fails; the chapter's cell compares."""


def checked(narrow: bool) -> Sheet:
    """A bar for each sentence's largest cosine, on one scale."""
    length, pitch = 176, 46
    sheet = Sheet(NARROW, 62 + pitch * (len(TOLD) + len(FOOLED)), 13)
    y = 8.0
    for heading, rows in (("as it should be", TOLD), ("where it fails", FOOLED)):
        sheet.text(0, y, heading, anchor="start", style="d-bold")
        y += 24
        for sentence, cosine, true, verdict in rows:
            role = "state" if true else "query"
            sheet.text(0, y, sentence, anchor="start")
            sheet.rect(0, y + 12, length, 12, f"d-{role} d-track", 1)
            sheet.rect(0, y + 12, length * cosine, 12, f"d-{role} d-solid", 1)
            sheet.text(length + 8, y + 18, f"{cosine:.2f}", role, anchor="start", style="d-bold")
            sheet.text(NARROW, y + 18, verdict, role, anchor="end", size=12.5)
            y += pitch
        y += 6
    return sheet


CHECKED = Drawing(
    name="told-and-found",
    title="The largest cosine with a sentence of the text. Orange: what the text does not say.",
    description=(
        "Bars for the largest cosine with a sentence of the text. A summarizer picks some of the "
        "sentences, 0.76, and the kettle is broken, 0.88, are in the text. It was tested on ten "
        "thousand newspapers, 0.32, is invented. Where the check fails: the kettle is not broken "
        "is false and has 0.84, and the best ones are kept is true and has 0.29."
    ),
    draw=checked,
)
