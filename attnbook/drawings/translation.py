"""Chapter 10: words linked across languages, and a sentence on its way to a score."""

from attnbook.drawings.drawing import Drawing
from attnbook.drawings.sheet import NARROW, WIDE, Sheet
from attnlab.tasks import Pair, tatoeba_aligned

# -- links ---------------------------------------------------------------------------------------

LINKED = (
    ("he is a jealous man .", "The order changes", "he is a man jealous"),
    ("i have no children .", "One word becomes two", "I not have not of children"),
    ("i 'll pray hard .", "One word becomes four", "I will-pray of all my strengths"),
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
        "jealous, I not have not of children, I will-pray of all my strengths. Dashed "
        "lines are links that are possible, not sure."
    ),
    draw=links,
    two_layouts=True,
)

# -- from a sentence to its score ----------------------------------------------------------------

SENTENCE = "Where was the princess?"
READ = ("▁where", "▁was", "▁the", "▁prin", "cess", "▁?")
FOUND = (
    ("greedy", "où était le princes?", 0.070, 24),
    ("beam of five", "où était la princesse?", 0.077, 100),
)
"""What the shipped Transformer reads; what it writes greedily and by a beam, each with its
probability and sacreBLEU's BLEU."""
PERSON = "où était la princesse?"


def _way(narrow: bool) -> Sheet:
    """The sentence above, its pieces, what two searches find, and what they get."""
    sheet = Sheet(NARROW, 240, 13) if narrow else Sheet(560, 176, 13)

    def muted(x: float, y: float, said: str) -> None:
        sheet.text(x, y, said, anchor="start", style="d-muted", size=12.5)

    left, top, found = (4.0, 47, 78) if narrow else (164.0, 26, 58)
    sheet.text(4, 10, SENTENCE, anchor="start", style="d-bold", size=15)
    muted(4, top - 11 if narrow else top + 14, "1. It is cut into pieces.")
    for piece in READ:
        width = 16 + 8.2 * len(piece)
        sheet.item("state", left, top, width, 28, piece)
        left += width + 6
    muted(4, found + 26, "2. A search chooses what to write.")
    muted(268 if narrow else 276, found + 26, "probability")
    if narrow:
        muted(4, found + 130, f"3. Compared with a person’s “{PERSON}”:")
    else:
        muted(372, found + 10, "3. It is compared with")
        muted(372, found + 26, f"“{PERSON}”.")
    for row, (name, words, share, bleu) in enumerate(FOUND):
        y = found + 55 + 38 * row
        sheet.text(4, y, name, anchor="start", size=12.5)
        style = "d-new" if row else "d-box"
        sheet.item("value", 98, y - 15, 164, 30, words, style=style)
        sheet.text(272 if narrow else 284, y, f"{share:.3f}", anchor="start", size=12.5)
        x = 372.0
        if narrow:
            x, y = (184, found + 152) if row else (4, found + 152)
            sheet.text(x, y, f"{name}:", anchor="start", size=12.5)
            x += 86 if row else 50
        sheet.text(x, y, f"BLEU {bleu}", anchor="start", style="d-bold")
        if not row:
            muted(x + 64, y, "smoothed")
    return sheet


WAY = Drawing(
    name="sentence-to-score",
    title="One sentence, one model, two scores.",
    description=(
        "“Where was the princess?” is cut into six pieces: where, was, the, prin, cess and the "
        "question mark. Then a search chooses what to write: greedy decoding finds “où était le "
        "princes?”, with a probability of 0.070, and a beam of five “où était la princesse?”, "
        "with 0.077, which is likelier. Compared with a person’s “où était la princesse?” the "
        "first gets a BLEU of 24, smoothed, and the second 100."
    ),
    draw=_way,
    two_layouts=True,
)
