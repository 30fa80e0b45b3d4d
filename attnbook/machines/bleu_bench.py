"""BLEU of one translation against one reference, both of which the reader edits."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.viz import arrays as inputs

MOST, LONGEST = 4, 24
"""The most words of a run that is counted, and of a sentence that is read."""

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_SIGNS = [
    (re.compile(r"([{-~[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # 3.5 stays whole
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
]
"""sacreBLEU's tokenizer 13a, in its order."""


class BleuBench(Machine):
    r"""A translation and a reference: which runs of words they share, and what BLEU makes of it.

    With :math:`p_n` the share of the translation's runs of n words that the reference has too, each
    counted at most as often as there, c words written and r wanted,

    .. math:: \mathrm{BLEU} = 100 \min(1, e^{1 - r/c}) (p_1 p_2 p_3 p_4)^{1/4}

    Papineni et al. (2002), for one sentence and one reference, without smoothing. Words are read in
    lower case and cut by sacreBLEU's tokenizer 13a. Where a share is 0 it also says what sacreBLEU
    gives, which halves a small share for each such size: Chen and Cherry (2014), their method 3.

    Args:
        examples: (name, translation, reference), a button each.
        said, meant: the translation and the reference on show; traits. The first example's when
            left out.
        title, caption: plain text above and below.

    Example:
        >>> bench = BleuBench([("short", "le chat noir dort", "le chat noir dort bien")])
        >>> round(bench.compute()["bleu"], 1)
        77.9
    """

    _about = "Computed here at every key stroke, for one sentence and one reference."
    _limits: ClassVar = {"said": None, "meant": None}

    examples = t.List().tag(sync=True)
    said = t.Unicode().tag(sync=True)
    meant = t.Unicode().tag(sync=True)

    def __init__(self, examples: Sequence[tuple[str, str, str]], **rest: Any):
        examples = [inputs.strings("examples", one, 3) for one in examples]
        _, said, meant = examples[0]
        super().__init__(examples=examples, **{"said": said, "meant": meant} | rest)

    def compute(self) -> dict:
        read = [_words(text) for text in (self.said, self.meant)]
        ours, theirs = (words[:LONGEST] for words in read)
        sizes = range(1, MOST + 1)
        hits = [_hits(ours, theirs, n) for n in sizes]
        runs = [max(len(ours) - n + 1, 0) for n in sizes]
        shares = [len(found) / count if count else 0.0
                  for found, count in zip(hits, runs, strict=True)]  # fmt: skip
        brevity = min(1.0, math.exp(1 - len(theirs) / len(ours))) if ours else 0.0
        parts = [100 * brevity * math.prod(given) ** (1 / MOST)
                 for given in (shares, _smoothed(shares, runs))]  # fmt: skip
        return {
            "ours": ours,
            "theirs": theirs,
            "cut": max(map(len, read)) > LONGEST,
            "hits": hits,
            "runs": runs,
            "shares": shares,
            "brevity": brevity,
            "bleu": parts[0],
            "smoothed": parts[1],
        }

    def figure(self) -> Figure:
        now = self.compute()
        figure = Figure(figsize=(6, 2.2), layout="constrained")
        ax = figure.subplots()
        names = [f"runs of {n}" for n in range(1, MOST + 1)] + ["length"]
        ax.barh(names[::-1], [now["brevity"], *now["shares"][::-1]])
        ax.set_xlim(0, 1)
        ax.set_title(f"{self.said}  |  {self.meant}: BLEU {now['bleu']:.1f}", fontsize=9)
        return figure

    def _words(self) -> str:
        return (
            f"A translation, “{self.said}”, and a reference, “{self.meant}”, both to be edited: "
            f"BLEU {self.compute()['bleu']:.1f}."
        )


def _words(text: str) -> list[str]:
    text = f" {text.lower()} "
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    for sign, apart in _SIGNS:
        text = sign.sub(apart, text)
    return text.split()


def _smoothed(shares: list[float], runs: list[int]) -> list[float]:
    """The shares, with a half, a quarter, ... of one run in place of each 0, unless all are 0."""
    zeros, found = 0, []
    for share, count in zip(shares, runs, strict=True):
        zeros += not share
        found.append(share or (1 / (2**zeros * count) if count and any(shares) else 0.0))
    return found


def _runs(words: list[str], n: int) -> list[str]:
    return [" ".join(words[at : at + n]) for at in range(len(words) - n + 1)]


def _hits(said: list[str], meant: list[str], n: int) -> list[int]:
    """Where runs of n words begin that the reference has too."""
    left, found = Counter(_runs(meant, n)), []
    for at, run in enumerate(_runs(said, n)):
        if left[run] > 0:
            found.append(at)
        left[run] -= 1
    return found
