"""Rotary positions as clocks: aim a head at a distance, turn its query's hands, or both."""

from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.viz.heatmap import plain_axes

CLOCKS, FARTHEST, MOST_SHIFT, FARTHEST_AIM = 8, 127, 1000, 7
TRAINED = 16
"""The longest text of training, in tokens: so far apart, less one, two words have been."""

BASES, SQUEEZES = [100, 1000, 10_000, 100_000, 500_000], [1, 2, 4, 8]
SLACK = 0.2
"""An angle is new when it is so many radians outside the arc that training has swept."""


class HandsMachine(Machine):
    r"""A head of 16 features as eight clocks, each with a query's hand and a key's.

    Pair i of the features turns by :math:`p\, b^{-2i/16} / s` at position p (Su et al. 2021), with
    base b, `rope_theta` in a `config.json`, and the squeeze s of Chen et al. (2023), which
    comes after training. All hands are
    of length 1, so the score, before it is divided by the root of 16, is the sum of the cosines of
    the angles between the hands. What training has made of the weights turns the key's hands ahead
    by `aim` of its own, unsqueezed positions. The angles that a text of 16 tokens shows are shaded.

    Args:
        distance: how far the query stands behind the key, from 0 to 127. A trait, as are the
            others: set them and the page follows.
        shift: the key's position, up to 1,000.
        aim: the distance at which the trained head scores highest, from 0 to 7.
        base: one of 100, 1,000, 10,000, 100,000 and 500,000.
        squeeze: what positions are divided by: 1, 2, 4 or 8.
        clocks: how many of the eight score, the fastest first; the others are silent.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> machine = HandsMachine(distance=5, aim=3)
        >>> still = machine.compute()["score"]
        >>> machine.shift = 700
        >>> abs(machine.compute()["score"] - still) < 1e-9
        True
        >>> machine.compute()["best"]
        3
    """

    _about = "Your browser computes it: cosines and their sum."
    _limits: ClassVar = {
        "distance": lambda _: (0, FARTHEST),
        "shift": lambda _: (0, MOST_SHIFT),
        "aim": lambda _: (0, FARTHEST_AIM),
        "base": lambda _: BASES,
        "squeeze": lambda _: SQUEEZES,
        "clocks": lambda _: (1, CLOCKS),
    }

    distance = t.Int(3).tag(sync=True)
    shift = t.Int(0).tag(sync=True)
    aim = t.Int(0).tag(sync=True)
    base = t.Int(10_000).tag(sync=True)
    squeeze = t.Int(1).tag(sync=True)
    clocks = t.Int(CLOCKS).tag(sync=True)

    def __init__(
        self,
        *,
        distance: int = 3,
        shift: int = 0,
        aim: int = 0,
        base: int = 10_000,
        squeeze: int = 1,
        clocks: int = CLOCKS,
        **texts: str,
    ):
        values = {"distance": distance, "shift": shift, "aim": aim, "base": base}
        super().__init__(**values, squeeze=squeeze, clocks=clocks, **texts)

    def compute(self) -> dict:
        learned = self.base ** (-np.arange(CLOCKS) / CLOCKS)
        speeds, met = learned / self.squeeze, (TRAINED - 1) * learned
        start = self.shift * speeds  # of the key's hands, before they are aimed
        key, query = start + self.aim * learned, start + self.distance * speeds
        turned = self.distance * speeds % (2 * np.pi)
        new = (turned > met + SLACK) & (turned < 2 * np.pi - SLACK)
        new[self.clocks :] = False
        parts = np.cos(query - key)[: self.clocks]
        far = np.outer(np.arange(FARTHEST + 1), speeds) - self.aim * learned  # (distances, clocks)
        curve = np.cos(far[:, : self.clocks]).sum(-1)
        return {
            "query_angles": query.tolist(),
            "key_angles": key.tolist(),
            "key_starts": start.tolist(),
            "met": met.tolist(),
            "new": new.tolist(),
            "parts": parts.tolist(),
            "score": float(parts.sum()),
            "curve": curve.tolist(),
            "best": self.aim * self.squeeze,
        }

    def figure(self) -> Figure:
        now = self.compute()
        figure, ax = plain_axes((4.8, 2.6), self.title or "The score by distance")
        ax.axvspan(0, TRAINED - 1, color="#F0E442", alpha=0.25, linewidth=0)
        ax.plot(now["curve"], color="#1f4fc4")
        ax.plot(self.distance, now["score"], "o", color="#b34700")
        ax.set(
            xlabel="so far back is the key", ylabel="score", ylim=(-self.clocks, self.clocks + 0.5)
        )
        return figure

    def _words(self) -> str:
        return (
            f"{CLOCKS} clocks, each with a hand for the query and one for the key, which turn with "
            "their positions; below, the score by distance."
        )
