"""The number of features under the reader's hand: how scores, weights and gradient follow."""

from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

ROWS, KEYS, MOST, SHOWN = 200, 10, 1024, 12
"""Queries, keys, the most features of each, and the queries that are drawn."""

SIZES = [2**power for power in range(11)]
SCALES = {"none": 0.0, "root": 0.5, "full": 1.0}
"""The powers of d that scores are divided by."""


class DMachine(Machine):
    """Random queries and keys, and a slider for their number of features d.

    All features are drawn independently with mean 0 and variance 1, so a score, the dot product of
    a query and a key, has variance d (Vaswani et al. 2017, section 3.2.1). The page shows a line
    for each of twelve queries: its scores, its weights, and how far the weights move when the
    query does, the norm of scale * J * K, where J is the softmax's Jacobian.

    Args:
        d: features, a power of two from 1 to 1,024. A trait, as are the next two: set them and the
            page follows.
        scale: what scores are divided by: "none", "root" (of d) or "full" (d itself).
        seed: of the draw, from 0 to 999.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> machine = DMachine(d=1024, scale="none")
        >>> round(machine.compute()["spread"]), machine.compute()["peaked"] > 0.8
        (31, True)
        >>> machine.scale = "root"
        >>> round(machine.compute()["spread"]), machine.compute()["peaked"] > 0.8
        (1, False)
    """

    _kits = (*Machine._kits, "layers")
    _about = (
        f"Nothing here is trained: {ROWS} queries and {KEYS} keys of random features, drawn and "
        "computed in your browser."
    )
    _limits: ClassVar = {
        "d": lambda _: SIZES,
        "scale": lambda _: list(SCALES),
        "seed": lambda _: (0, 999),
    }

    d = t.Int(64).tag(sync=True)
    scale = t.Unicode("root").tag(sync=True)
    seed = t.Int(0).tag(sync=True)

    def __init__(self, *, d: int = 64, scale: str = "root", seed: int = 0, **texts: str):
        super().__init__(d=checks.integer("d", d), scale=scale, seed=seed, **texts)

    def drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """The queries (200, d) and the keys (10, d), float64."""
        vectors = normal(self.seed, (ROWS + KEYS) * MOST).reshape(-1, MOST)[:, : self.d]
        return vectors[:ROWS], vectors[ROWS:]

    def compute(self) -> dict:
        query, key = self.drawn()
        scale = self.d ** -SCALES[self.scale]
        scores = scale * query @ key.T  # (L, S)
        weights = softmax(scores)
        # Row j of J K is weight j times what key j has beyond the average key.
        beyond = key - (weights @ key)[:, None]  # (L, S, d)
        jolts = scale * np.sqrt((weights**2 * (beyond**2).sum(-1)).sum(-1))  # (L,)
        return {
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "jolts": jolts.tolist(),
            "spread": float(scores.std()),
            "peaked": float((weights.max(-1) > 0.9).mean()),
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 3.2), self.title or "Weights of twelve queries")
        weights = np.array(self.compute()["weights"])[:SHOWN]
        left = weights.cumsum(1) - weights
        for key in range(KEYS):
            ax.barh(range(SHOWN), weights[:, key], left=left[:, key], edgecolor="white")
        ax.set(xlabel="weight", ylabel="query", xlim=(0, 1), ylim=(SHOWN - 0.5, -0.5))
        return figure

    def _words(self) -> str:
        return (
            f"{ROWS} random queries and {KEYS} random keys of a width to choose. For twelve of "
            "the queries: the scores, the weights, and the gradient that reaches the query."
        )


def normal(seed: int, count: int) -> np.ndarray:
    """Standard normal numbers of a seed, float64: those of `normal` in d_machine.js.

    Two integers of a hash (Wellons' lowbias32) for each, by Box and Muller's method.
    """
    x = np.arange(2 * count, dtype=np.uint32) + np.uint32(seed * 0x9E3779B1 % 2**32)
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    u = ((x ^ (x >> np.uint32(15))).reshape(-1, 2) + 0.5) / 2**32
    return np.sqrt(-2 * np.log(u[:, 0])) * np.cos(2 * np.pi * u[:, 1])
