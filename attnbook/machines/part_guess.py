"""A part to take out of a model: guess how much is lost, then see it trained for longer."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes
from attnlab.metrics.intervals import median_interval


class PartGuess(Machine):
    """Shares of right answers over updates, covered until the reader has guessed one of them.

    Args:
        parts: for each part that is taken out, for each number of updates, the shares of the seeds.
            The names are shown; numbers of updates rise.
        asked: the number of updates whose median is to be guessed; every part has it.
        luck: a share to draw as a line: that of guessing.
        part: the place of the one on show. A trait, as are the next two: set them and the page
            follows.
        guess: in per cent.
        shown: whether the curve is uncovered.
        title, caption: plain text above and below.

    Raises:
        ValueError: no parts, shares outside 0 to 1, `asked` missing, a setting out of range.

    Example:
        >>> machine = PartGuess({"norms": {50: [0.25], 250: [1.0]}}, asked=250, guess=60)
        >>> machine.compute()["right"], machine.compute()["missed"]
        (100.0, 40.0)
    """

    _about = "Recorded: the answers of models trained before. You guess; the page only compares."
    _limits: ClassVar = {
        "part": lambda m: (0, len(m.names) - 1),
        "guess": lambda _: (0, 100),
        "shown": None,
    }

    names = t.List(t.Unicode()).tag(sync=True)
    curves = t.List().tag(sync=True)  # of each part [updates, [shares]], updates rising
    asked = t.Int().tag(sync=True)
    luck = t.Float(0.0).tag(sync=True)
    part = t.Int(0).tag(sync=True)
    guess = t.Int(50).tag(sync=True)
    shown = t.Bool(False).tag(sync=True)

    def __init__(self, parts: Mapping[str, Mapping[int, Sequence[float]]], *, asked: int, **rest):
        if not parts:
            checks.fail("parts", "at least 1", "none")
        for name, curve in parts.items():
            if asked not in curve:
                checks.fail("asked", f"a number of updates of {name}", str(asked))
            if not all(0 <= share <= 1 for seeds in curve.values() for share in seeds):
                checks.fail("parts", "shares from 0 to 1", name)
        super().__init__(
            names=list(parts),
            curves=[[[n, list(seeds)] for n, seeds in sorted(c.items())] for c in parts.values()],
            asked=asked,
            **rest,
        )

    def compute(self) -> dict:
        medians = [[n, 100 * median_interval(seeds)[0]] for n, seeds in self.curves[self.part]]
        right = dict(medians)[self.asked]
        return {"medians": medians, "right": right, "missed": abs(self.guess - right)}

    def figure(self) -> Figure:
        figure, ax = plain_axes((5.6, 3), self.title or f"Without {self.names[self.part]}")
        if self.shown:
            ax.plot(*zip(*self.compute()["medians"], strict=True), "o-", color="#262c33")
        ax.plot([self.asked], [self.guess], "D", color="#b34700")
        ax.set(xscale="log", ylim=(-2, 104), xlabel="updates", ylabel="right answers, %")
        return figure

    def _words(self) -> str:
        return (
            "A model of which a part is taken out, trained for more and more updates; guess its "
            f"share of right answers after {self.asked:,}. Taken out: {', '.join(self.names)}."
        )
