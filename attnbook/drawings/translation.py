"""Chapter 10: words linked across languages, and a sentence on its way to a score."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet, number
from attnlab.tasks import Pair, tatoeba_aligned

# -- links ---------------------------------------------------------------------------------------

LINKED = (
    ("he is a jealous man .", "The order changes", "he is a man jealous"),
    ("i have no children .", "One word becomes two", "I not have not of children"),
    ("i 'll pray hard .", "One word becomes four", "I will pray with all my strength"),
)
"""Sentences of `tatoeba_aligned`, what each shows, and the French word by word."""


def linked() -> list[tuple[Pair, str, str]]:
    """The pairs that are drawn."""
    pairs = {" ".join(pair.source): pair for pair in tatoeba_aligned()}
    return [(pairs[source], says, back) for source, says, back in LINKED]


def _spread(words: tuple[str, ...], width: float) -> list[float]:
    """Where the middle of each word stands, with room by its letters."""
    letters = [len(word) + 1.6 for word in words]
    unit = min(width / sum(letters), 11.5)
    left = (width - unit * sum(letters)) / 2
    middles = []
    for length in letters:
        middles.append(left + unit * length / 2)
        left += unit * length
    return middles


def links(narrow: bool) -> Sheet:
    """Three sentences above their translations, with a line for each link made by hand."""
    sheet = Sheet(NARROW, 420, 14) if narrow else Sheet(WIDE, 138, 13.5)
    left = 0.0
    for place, ((pair, says, back), share) in enumerate(
        zip(linked(), (212, 206, 274), strict=True)
    ):
        x, top = (0.0, place * 142) if narrow else (left, 0)
        wide = NARROW if narrow else share
        left += share + 14
        sheet.text(x, top + 12, says, anchor="start", style="d-bold", size=12.5)
        above, below = ([x + at for at in _spread(words, wide)] for words in pair[:2])
        for row, column in sorted(pair.possible):
            sure = (row, column) in pair.sure
            ends = [(above[column], top + 50), (below[row], top + 92)]
            sheet.line(ends, "weight", style="" if sure else "d-dashed")
        for at, word in zip(above, pair.source, strict=True):
            sheet.text(at, top + 38, word, "key", size=13)
        for at, word in zip(below, pair.target, strict=True):
            sheet.text(at, top + 104, word, "query", size=13)
        sheet.text(x + wide / 2, top + 126, back, style="d-muted", size=12)
    return sheet


LINKS = Drawing(
    name="word-links",
    title="Three sentences that cannot be translated word by word.",
    description=(
        "Three English sentences above their French ones, with lines between the words. In “he "
        "is a jealous man” and “c' est un homme jaloux” the lines of jealous and man cross. In "
        "“i have no children” and “je n' ai pas d' enfants” two lines lead from no, to n' and to "
        "pas, around the verb. In “i 'll pray hard” and “je prierai de toutes mes forces” four "
        "lead from hard. Below each the French is put back into English word by word: he is a man "
        "jealous, I not have not of children, I will pray with all my strength. Dashed "
        "lines are links that are possible, not sure."
    ),
    draw=links,
    two_layouts=True,
)

# -- from a sentence to its score ----------------------------------------------------------------

SENTENCE = "Where was the princess?"
READ = ("▁where", "▁was", "▁the", "▁prin", "cess", "▁?")
FOUND = (
    ("greedy", "où était le princes?", -2.66, 24),
    ("beam of five", "où était la princesse?", -2.56, 100),
)
"""What the shipped Transformer reads and writes, what a beam makes of it, and sacreBLEU's BLEU."""
PERSON = "où était la princesse?"


def _way(narrow: bool) -> Sheet:
    """The sentence above, its pieces, what two searches find, and what they get below."""
    sheet, top = Sheet(NARROW, 240, 13), 78
    sheet.text(4, 10, SENTENCE, anchor="start", style="d-bold", size=15)
    sheet.text(4, 36, "1. It is cut into pieces.", anchor="start", style="d-muted", size=12.5)
    widths = [16 + 8.2 * len(piece) for piece in READ]
    left, gap = 4.0, 6.0
    for piece, width in zip(READ, widths, strict=True):
        sheet.item("state", left, 47, width, 28, piece)
        left += width + gap
    said = "2. A search chooses among sentences."
    sheet.text(4, top + 26, said, anchor="start", style="d-muted", size=12.5)
    sheet.text(338, top + 18, "log-probability,", anchor="end", style="d-muted", size=11.5)
    sheet.text(338, top + 31, "likelier near 0", anchor="end", style="d-muted", size=11.5)
    said = f"3. Compared with a person’s “{PERSON}”:"
    sheet.text(4, top + 130, said, anchor="start", style="d-muted", size=12.5)
    for row, (name, words, score, bleu) in enumerate(FOUND):
        y = top + 55 + 38 * row
        sheet.text(4, y, name, anchor="start", size=12.5)
        style = "d-new" if row else "d-box"
        sheet.item("value", 98, y - 15, 164, 30, words, style=style)
        sheet.text(272, y, number(score), anchor="start", size=12.5)
        left, right = (184, 86) if row else (4, 54)
        sheet.text(left, top + 152, f"{name}:", anchor="start", size=12.5)
        sheet.text(left + right, top + 152, f"BLEU {bleu}", anchor="start", style="d-bold")
    sheet.text(122, top + 152, "smoothed", anchor="start", style="d-muted", size=11.5)
    return sheet


WAY = Drawing(
    name="sentence-to-score",
    title="One sentence, one model, two scores.",
    description=(
        "“Where was the princess?” is cut into six pieces: where, was, the, prin, cess and the "
        "question mark. Then a search chooses among sentences: greedy decoding finds “où était le "
        "princes?”, with a log-probability of -2.66, and a beam of five “où était la princesse?”, "
        "with -2.56, which is likelier. Compared with a person’s “où était la princesse?” the "
        "first gets a BLEU of 24, smoothed, and the second 100."
    ),
    draw=_way,
)
