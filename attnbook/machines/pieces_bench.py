"""Any word, joined from its letters into the pieces that a translator reads."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnlab.tasks import Subwords
from attnlab.tasks.subwords import START

LONGEST = 32
"""Letters that are read, and signs between words."""


class PiecesBench(Machine):
    """A word as letters, and each join of two neighbours until no join makes a piece.

    It is `tasks.Subwords`: of all neighbours that make a piece of the vocabulary, those whose piece
    has the lowest number are joined, the leftmost of equals. Of several words each begins with
    the sign for it, and no piece reaches into the next.

    Args:
        vocab: of pieces.
        words: to try, a button each.
        word: the word on show, a trait; the first of `words` when left out.
        title, caption: plain text above and below.

    Raises:
        TypeError: `vocab` is not one of pieces.

    Example:
        >>> vocab = Subwords.build([["low", "lower", "lowest", "low"]], max_size=27)
        >>> bench = PiecesBench(vocab, words=["lows"])
        >>> bench.compute()["rows"][0]["parts"]
        ['▁', 'l', 'o', 'w', 's']
    """

    _about = "Computed here at every key stroke, with the list of pieces of the page's translators."
    _limits: ClassVar = {"word": None}

    tokens = t.List(t.Unicode()).tag(sync=True)
    words = t.List(t.Unicode()).tag(sync=True)
    word = t.Unicode().tag(sync=True)

    def __init__(self, vocab: Subwords, *, words: Sequence[str], **rest: Any):
        checks.instance("vocab", vocab, Subwords, "a vocabulary of pieces")
        words = inputs.strings("words", words)
        super().__init__(tokens=list(vocab.tokens), words=words, **{"word": words[0]} | rest)

    def compute(self) -> dict:
        ids = {token: id_ for id_, token in enumerate(self.tokens)}
        typed = START.join(self.word.lower().split())
        letters = typed[:LONGEST]
        parts, made, number, rows = [START, *letters], -1, -1, []
        while True:
            rows.append({"parts": parts, "made": made, "number": number})
            ranks = [ids.get(left + right, len(ids)) for left, right in pairwise(parts)]
            number = min(ranks, default=len(ids))
            if number == len(ids):
                break
            made = ranks.index(number)
            parts = [*parts[:made], parts[made] + parts[made + 1], *parts[made + 2 :]]
        unknown = [part for part in parts if part not in ids]
        return {
            "letters": len(letters.replace(START, "")),
            "cut": len(typed) > LONGEST,
            "rows": rows,
            "unknown": unknown,
        }

    def figure(self) -> Figure:
        rows = self.compute()["rows"]
        figure = Figure(figsize=(6, 0.4 + 0.3 * len(rows)), layout="constrained")
        ax = figure.subplots()
        for at, row in enumerate(rows):
            ax.text(0, -at, "  ".join(row["parts"]), family="monospace")
        ax.set_xlim(0, 1)
        ax.set_ylim(-len(rows), 1)
        ax.set_axis_off()
        return figure

    def _words(self) -> str:
        parts = self.compute()["rows"][-1]["parts"]
        return f"The word “{self.word}”, joined from its letters into {', '.join(parts)}."
