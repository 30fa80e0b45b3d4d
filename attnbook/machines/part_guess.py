"""A part to take out of a model: guess what is lost, then see other budgets and learning rates."""

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
        parts: for each part that is taken out, for each learning rate, for each number of updates,
            the shares of the seeds. The names are shown; all parts have the same rates. The curve
            of the first is dotted behind that of each other, from the start.
        asked: the number of updates whose median is to be guessed; every curve has it.
        luck: a share to draw as a line once the curve is: that of guessing.
        most: for parts by name, the share that is the most without it, drawn once the curve is.
        reasons: for parts by name, a sentence said once the curve is shown: why it is so.
        part: the place of the one on show. A trait, as are the next four: set them and the page
            follows.
        rate: the place of the learning rate.
        guess: in per cent.
        guessed: whether the reader has pressed Show.
        shown: whether the curve is uncovered.
        title, caption: plain text above and below.

    Raises:
        ValueError: no parts, other rates, shares outside 0 to 1, `asked` missing, a setting out of
            range.

    Example:
        >>> machine = PartGuess({"norms": {0.01: {50: [0.25], 250: [1.0]}}}, asked=250, guess=60)
        >>> machine.compute()["right"], machine.compute()["missed"]
        (100.0, 40.0)
    """

    _about = "Recorded: the answers of models trained before. You guess; the page only compares."
    _limits: ClassVar = {
        "part": lambda m: (0, len(m.names) - 1),
        "rate": lambda m: (0, len(m.rates) - 1),
        "guess": lambda _: (0, 100),
        "guessed": None,
        "shown": None,
    }

    names = t.List(t.Unicode()).tag(sync=True)
    rates = t.List(t.Float()).tag(sync=True)
    curves = t.List().tag(sync=True)  # of a part, of a rate: [updates, [shares]], updates rising
    asked = t.Int().tag(sync=True)
    luck = t.Float(0.0).tag(sync=True)
    most = t.Dict().tag(sync=True)
    reasons = t.Dict().tag(sync=True)
    part = t.Int(0).tag(sync=True)
    rate = t.Int(0).tag(sync=True)
    guess = t.Int(50).tag(sync=True)
    guessed = t.Bool(False).tag(sync=True)
    shown = t.Bool(False).tag(sync=True)

    def __init__(
        self, parts: Mapping[str, Mapping[float, Mapping[int, Sequence[float]]]], *, asked: int,
        **rest,
    ):  # fmt: skip
        if not parts:
            checks.fail("parts", "at least 1", "none")
        rates = list(next(iter(parts.values())))
        for name, by_rate in parts.items():
            if list(by_rate) != rates:
                checks.fail("parts", f"the rates {rates} for {name}", str(list(by_rate)))
            for curve in by_rate.values():
                if asked not in curve:
                    checks.fail("asked", f"a number of updates of {name}", str(asked))
                if not all(0 <= share <= 1 for seeds in curve.values() for share in seeds):
                    checks.fail("parts", "shares from 0 to 1", name)
        super().__init__(
            names=list(parts),
            rates=rates,
            curves=[
                [[[n, list(seeds)] for n, seeds in sorted(curve.items())] for curve in of.values()]
                for of in parts.values()
            ],
            asked=asked,
            **rest,
        )

    def compute(self) -> dict:
        medians, first = (
            [[n, 100 * median_interval(seeds)[0]] for n, seeds in self.curves[part][self.rate]]
            for part in (self.part, 0)
        )
        right = dict(medians)[self.asked]
        missed = abs(self.guess - right)
        return {"medians": medians, "first": first, "right": right, "missed": missed}

    def figure(self) -> Figure:
        figure, ax = plain_axes(
            (5.6, 3),
            self.title
            or f"Without {self.names[self.part]}, at a rate of {self.rates[self.rate]:g}",
        )
        if self.part:
            ax.plot(*zip(*self.compute()["first"], strict=True), ":", color="#666666")
        if self.shown:
            ax.plot(*zip(*self.compute()["medians"], strict=True), "o", color="#262c33")
        ax.plot([self.asked], [self.guess], "D", color="#b34700")
        ax.set(xscale="log", ylim=(-2, 104), xlabel="updates", ylabel="right answers, %")
        return figure

    def _words(self) -> str:
        return (
            "A model of which a part is taken out, trained for more and more updates at a learning "
            f"rate of your choice; guess its share of right answers after {self.asked:,}. "
            f"Taken out: {', '.join(self.names)}."
        )
