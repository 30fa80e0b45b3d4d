"""Two decoders, unrolled: what depends on a word that is read, or on what a look finds."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect

KINDS = ("bahdanau", "luong")
WHAT = ("word", "context")


class DecoderSteps(Machine):
    """Bahdanau's decoder looks before its state moves on, Luong's after: what follows from that.

    The reader changes a word that is read, or what a look finds, at one step, and everything that
    can change with it lights up, in both decoders; covered, it is the reader's to guess. The words
    that are read are given, as in training: no word written comes back as a word read.

    Args:
        read: the words that are read, one a step.
        written: the words that are written, as many.
        what: "word" or "context". A trait, as are the next four: set them and the page follows.
        step: from 1.
        feeding: whether Luong's decoder hands what it found to its next step (input feeding).
        shown: whether what can change is lit up, or covered for a guess.
        marked: the guess, words written that can change: "bahdanau 1", "luong 3".
        title, caption: plain text above and below.

    Raises:
        ValueError: another number of words written than read, a setting out of range.

    Example:
        >>> machine = DecoderSteps(["<start>", "le"], ["le", "chat"], what="word", step=1)
        >>> found = machine.compute()
        >>> found["bahdanau"]["look"], found["luong"]["look"]
        ([0, 1], [1, 1])
    """

    _about = (
        "Your browser traces which part is made from which. The words that are read are given, as "
        "in training."
    )
    _limits: ClassVar = {
        "what": lambda _: list(WHAT),
        "step": lambda m: (1, len(m.read)),
        "feeding": None,
        "shown": None,
        "marked": None,
    }

    read = t.List(t.Unicode()).tag(sync=True)
    written = t.List(t.Unicode()).tag(sync=True)
    what = t.Unicode("word").tag(sync=True)
    step = t.Int(1).tag(sync=True)
    feeding = t.Bool(False).tag(sync=True)
    shown = t.Bool(True).tag(sync=True)
    marked = t.List(t.Unicode()).tag(sync=True)

    def __init__(
        self,
        read: Sequence[str],
        written: Sequence[str],
        *,
        what: str = "word",
        step: int = 1,
        feeding: bool = False,
        shown: bool = True,
        marked: Sequence[str] = (),
        **texts: str,
    ):
        if len(read) != len(written) or not read:
            checks.fail("written", f"{len(read)} words, as many as are read", f"{len(written)}")
        words = {"read": list(read), "written": list(written)}
        step = checks.integer("step", step)
        set_ = {"what": what, "step": step, "feeding": feeding, "shown": shown}
        super().__init__(**words, **set_, marked=list(marked), **texts)

    @t.validate("marked")
    def _valid_marked(self, proposal):
        words = [f"{kind} {step}" for kind in KINDS for step in range(1, 1 + len(self.read))]
        return expect(proposal, f"words of {words}", set(proposal.value) <= set(words))

    def compute(self) -> dict:
        def here(what: str) -> Callable[[int], int]:
            return lambda t: int(self.what == what and t == self.step - 1)

        found = {}
        for kind in KINDS:
            make = (kind, self.feeding, len(self.read))
            touched = _unroll(*make, read=here("word"), found=here("context"))
            looks = _unroll(*make, read=lambda _: 0, found=lambda _: 0, more=1)["look"]
            found[kind] = {**touched, "turns": max(looks)}
        return found

    def figure(self) -> Figure:
        found = self.compute()
        return heatmap(
            np.array([found[kind]["look"] for kind in KINDS], float),
            query_tokens=list(KINDS),
            key_tokens=[f"look {n}" for n in range(1, 1 + len(self.read))],
            title=self.title or "The looks that depend on what is changed",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "Bahdanau's and Luong's decoder, unrolled over the words that they write: change a "
            "word that is read, or what a look finds, and see what depends on it."
        )


def _unroll(
    kind: str,
    feeding: bool,
    count: int,
    *,
    read: Callable[[int], int],
    found: Callable[[int], int],
    more: int = 0,
) -> dict[str, list[int]]:
    """Every part of every step: the largest of what it is made from; a look adds `more`."""
    every: dict[str, list[int]] = {"state": [], "look": [], "found": [], "written": []}
    state = fed = 0
    for step in range(count):
        given = read(step)
        if kind == "luong":
            state = max(state, given, fed if feeding else 0)
        look = state + more
        context = max(look, found(step))
        if kind == "bahdanau":
            state = max(state, given, context)
        written = fed = max(state, context, given if kind == "bahdanau" else 0)
        parts = {"state": state, "look": look, "found": context, "written": written}
        for name, value in parts.items():
            every[name].append(value)
    return every
