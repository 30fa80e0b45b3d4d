"""One row of attention, read a tile at a time: what is carried, and what it comes to."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import plain_axes
from attnkit.viz.widget import expect

LOW, HIGH = -4, 6
"""The scores that can be set."""

SHIFTS = [0, 100, 1000]
"""What can be added to every score."""


class OnlineTiles(Machine):
    r"""The online softmax over the keys of one query, in tiles, in any order.

    After each tile are carried the largest score so far m, the sum d of all :math:`e^{s - m}` and
    the values' sum o, weighted in the same way:

    .. math:: m' = \max(m, s_j), \quad d' = d\,e^{m - m'} + \sum_j e^{s_j - m'}, \quad
              o' = o\,e^{m - m'} + \sum_j e^{s_j - m'} v_j

    The output is o / d (Milakov and Gimelshein, 2018). With `rescale` off the factor
    :math:`e^{m - m'}` is left out, with `largest` off m stays 0: two slips.

    Args:
        values: one number for each key.
        scores: one for each key, -4 to 6. A trait, as are the next six.
        order: the keys in the order in which they are read.
        size: keys of a tile, a divisor of their number.
        seen: keys that have been read, a multiple of `size`.
        shift: added to every score, one of `SHIFTS`.
        rescale, largest: whether sums are put right, and whether the largest score is subtracted.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that does not fit.

    Example:
        >>> tiles = OnlineTiles([7, 14], scores=[0, 0], size=1, seen=2)
        >>> tiles.compute()["output"]
        10.5
    """

    _about = "Your browser computes every number, in float64."
    _limits: ClassVar = {
        "scores": None,
        "order": None,
        "size": lambda m: [n for n in range(1, len(m.values) + 1) if not len(m.values) % n],
        "seen": lambda m: list(range(0, len(m.values) + 1, m.size)),
        "shift": lambda _: SHIFTS,
        "rescale": None,
        "largest": None,
    }

    values = t.List(t.Float()).tag(sync=True)
    shifts = t.List(t.Int()).tag(sync=True)
    scores = t.List(t.Float()).tag(sync=True)
    order = t.List(t.Int()).tag(sync=True)
    size = t.Int(2).tag(sync=True)
    seen = t.Int(0).tag(sync=True)
    shift = t.Int(0).tag(sync=True)
    rescale = t.Bool(True).tag(sync=True)
    largest = t.Bool(True).tag(sync=True)

    def __init__(
        self,
        values: Sequence[float],
        *,
        scores: Sequence[float],
        order: Sequence[int] | None = None,
        **rest,
    ):
        values = inputs.floats("values", values).tolist()
        super().__init__(
            values=values,
            shifts=SHIFTS,
            scores=[float(score) for score in scores],
            order=list(range(len(values)) if order is None else order),
            **rest,
        )

    @t.validate("scores")
    def _valid_scores(self, proposal):
        fits = all(LOW <= score <= HIGH for score in proposal.value)
        fits = fits and len(proposal.value) == len(self.values)
        return expect(proposal, f"{len(self.values)} numbers from {LOW} to {HIGH}", fits)

    @t.validate("order")
    def _valid_order(self, proposal):
        fits = sorted(proposal.value) == list(range(len(self.values)))
        return expect(proposal, f"each of 0 to {len(self.values) - 1} once", fits)

    def compute(self) -> dict:
        """What is carried, the share of each key so far, and what the whole row gives.

        Returns:
            `maximum` (None before the first tile), `sum`, `weighted`, the `factor` of the last
            tile, `output`, None where it is no number, `weights` so far and `all` weights by key,
            and `whole`, the output of the whole row.
        """
        scores, values = np.array(self.scores) + self.shift, np.array(self.values)
        parts, m, d, o, factor = np.zeros_like(values), -np.inf, 0.0, 0.0, 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, self.seen, self.size):
                tile = self.order[start : start + self.size]
                new = max(m, scores[tile].max())
                base = new if self.largest else 0.0
                old = m if self.largest else 0.0
                factor = float(np.exp(old - base)) if self.rescale and start else 1.0
                parts *= factor
                parts[tile] = np.exp(scores[tile] - base)
                d = d * factor + parts[tile].sum()
                o = o * factor + parts[tile] @ values[tile]
                m = new
            shares = parts / d if d else parts
            output = o / d if d else 0.0
        weights = softmax(scores)
        return {
            "maximum": float(m) if self.seen else None,
            "sum": _number(d),
            "weighted": _number(o),
            "factor": _number(factor),
            "output": _number(output),
            "weights": [_number(share) for share in shares],
            "all": weights.tolist(),
            "whole": float(weights @ values),
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 2.8), self.title or "Weights so far, and in the end")
        now, keys = self.compute(), [str(key) for key in self.order]
        ax.bar(keys, [now["all"][key] for key in self.order], color="#e2ebfb", edgecolor="#1f4fc4")
        ax.bar(keys, [now["weights"][key] or 0 for key in self.order], color="#1f4fc4", width=0.4)
        ax.set(xlabel="key, in the order of reading", ylabel="weight")
        return figure

    def _words(self) -> str:
        return (
            f"One query's scores with {len(self.values)} keys, to drag, cut into tiles that are "
            "read one after another: a running maximum, sum and output, and the output of the "
            "whole row."
        )


def _number(value: float) -> float | None:
    """A float, or None where it is too large or no number."""
    return float(value) if np.isfinite(value) else None
