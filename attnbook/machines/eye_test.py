"""Attention maps without a name: healthy or broken? The reader decides, and the page counts."""

import re
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect

HEALTHY, BROKEN, OPEN = "h", "b", "-"


class Exhibit(NamedTuple):
    """A map as somebody may meet it, and what is behind it."""

    weights: Sequence[Sequence[float]]
    """A row for each query, of at least 0."""
    tokens: Sequence[str]
    told: str
    """What the reader is told beforehand."""
    name: str
    """What it is: of a bug, what the code did."""
    broken: bool
    because: str
    """What gives it away, or that nothing does."""


class EyeTest(Machine):
    """A quiz of attention maps: at each the reader says whether the code behind it is right.

    Args:
        exhibits: at least 2, each with a square map of at most 12 tokens.
        place: the map on show, from 1; one more than there are is the score. A trait, as is the
            next two: set them and the page follows.
        replies: a letter for each map: "h" for healthy, "b" for broken, "-" for not answered. On
            the page the first answer stays.
        turn: how often the reader has begun anew; after the first, each has its own order.
        title, caption: plain text above and below.

    Raises:
        ValueError: one exhibit, a map that does not fit its tokens, a setting out of range.

    Example:
        >>> right = Exhibit([[1.0, 0.0], [0.5, 0.5]], "ab", "Causal.", "a decoder", False, "")
        >>> leak = Exhibit([[0.5, 0.5], [0.5, 0.5]], "ab", "Causal.", "no mask", True, "It leaks.")
        >>> EyeTest([right, leak], replies="bb").compute()["right"]
        1
    """

    _limits: ClassVar = {
        "place": lambda m: (1, len(m.exhibits) + 1),
        "replies": None,
        "turn": lambda m: (0, 99),
    }

    exhibits = t.List().tag(sync=True)  # dicts, as Exhibit has them
    place = t.Int(1).tag(sync=True)
    replies = t.Unicode().tag(sync=True)
    turn = t.Int(0).tag(sync=True)

    def __init__(self, exhibits: Sequence[Exhibit], *, replies: str = "", **rest):
        if len(exhibits) < 2:
            checks.fail("exhibits", "at least 2", str(len(exhibits)))
        for one in exhibits:
            size, shape = len(one.tokens), np.shape(one.weights)
            if shape != (size, size) or size > 12:
                checks.fail(
                    "exhibits", "a row and a column for each of 12 tokens at most", f"{shape}"
                )
        plain = [
            one._asdict() | {"weights": np.asarray(one.weights, float).round(4).tolist(),
                             "tokens": list(one.tokens)}
            for one in exhibits
        ]  # fmt: skip
        super().__init__(exhibits=plain, replies=replies or OPEN * len(plain), **rest)

    @t.validate("replies")
    def _a_letter_each(self, proposal):
        fits = re.fullmatch(f"[hb-]{{{len(self.exhibits)}}}", proposal.value) is not None
        return expect(proposal, f"{len(self.exhibits)} letters of h, b and -", fits)

    def order(self) -> list[int]:
        """Which exhibit is shown at each place: as given at first, then mixed."""
        first = range(len(self.exhibits))
        # 101 is a prime of the kind in which no two numbers have the same cube.
        return sorted(first, key=lambda k: (k + 10 * self.turn) ** 3 % 101 if self.turn else k)

    def compute(self) -> dict:
        order = self.order()
        asked = [self.exhibits[k] for k in order]
        marks = [
            None if reply == OPEN else (reply == BROKEN) == one["broken"]
            for reply, one in zip(self.replies, asked, strict=True)
        ]
        fooled = [one["name"] for one, mark in zip(asked, marks, strict=True) if mark is False]
        return {
            "order": order,
            "marks": marks,
            "right": marks.count(True),
            "answered": len(marks) - marks.count(None),
            "fooled": fooled,
        }

    def figure(self) -> Figure:
        one = self.exhibits[self.order()[min(self.place, len(self.exhibits)) - 1]]
        return heatmap(
            np.array(one["weights"]),
            query_tokens=one["tokens"],
            key_tokens=one["tokens"],
            title=self.title or f"Map {self.place}: healthy or broken?",
            vmax=1.0,
        )

    def _words(self) -> str:
        return f"A quiz of {len(self.exhibits)} attention maps: is the code behind each right?"
