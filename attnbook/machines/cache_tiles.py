"""What one token leaves in a cache, as tiles, for each way that was measured; and the price."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

BITS = [16, 8, 4, 2]
BLOCK, ENDS = 64, 32
"""In few bits: how many numbers share a least one and a step, and the bits of these two."""

SIZES = ("layers", "heads", "groups", "dim")


class CacheTiles(Machine):
    r"""The numbers and bytes that one token leaves in the caches of a model, and what that costs.

    A layer keeps :math:`2 G D` numbers for G groups of D features, :math:`2D` when all heads share
    one, and c for a latent of c numbers. In fewer than 16 bits each block of 64 numbers keeps two
    more of 16 bits, its least and its step. The price is how far the perplexity lies above that of
    the model's own groups in 16 bits, whose tiles are outlined.

    Args:
        model: its name and `SIZES`.
        measured: what came of each form and bits, the model's own groups among them: dicts with
            "form" ("groups", "one", or "latent" and its numbers, as in "latent-48"), "bits", "keys"
            and "values" (relative errors) and "loss".
        form: one of the measured. A trait, as is the next: set it and the page follows.
        bits: of a number.
        title, caption: plain text above and below.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size below 0, a setting that was not measured.

    Example:
        >>> sizes = {"layers": 30, "heads": 9, "groups": 3, "dim": 64}
        >>> own = {"form": "groups", "keys": 0.0, "values": 0.0, "loss": 3.5}
        >>> measured = [own | {"bits": bits} for bits in (16, 8, 4, 2)]
        >>> tiles = CacheTiles({"name": "M", **sizes}, measured, bits=16)
        >>> tiles.compute()["bytes"]
        23040.0
    """

    _about = "Bytes are counted; perplexity was measured, with nothing trained again."
    _limits: ClassVar = {"form": lambda m: m.forms, "bits": lambda _: BITS}

    own = t.Dict().tag(sync=True)
    measured = t.List().tag(sync=True)
    forms = t.List().tag(sync=True)
    widths = t.List().tag(sync=True)
    form = t.Unicode("groups").tag(sync=True)
    bits = t.Int(16).tag(sync=True)

    def __init__(self, model: Mapping[str, Any], measured: Sequence[dict], **rest: Any):
        for name in SIZES:
            checks.integer(name, model[name], minimum=0)
        super().__init__(
            own=dict(model),
            measured=[dict(one) for one in measured],
            forms=list(dict.fromkeys(one["form"] for one in measured)),
            widths=BITS,
            **rest,
        )

    def parts(self, form: str) -> list[list]:
        """Role and numbers of each tile of a layer: "key", "value", or "state" for a latent."""
        if form.startswith("latent"):
            return [["state", int(form.split("-")[1])]]
        heads = self.own["groups"] if form == "groups" else 1
        return [[role, self.own["dim"]] for role in ("key", "value") for _ in range(heads)]

    def _cost(self, form: str, bits: int) -> dict:
        """Bytes of a token in all layers, and what was measured."""
        numbers = sum(n for _, n in self.parts(form))
        ends = -(-numbers // BLOCK) * ENDS if bits < 16 else 0
        found = next(one for one in self.measured if (one["form"], one["bits"]) == (form, bits))
        return {
            "numbers": numbers,
            "bytes": self.own["layers"] * (numbers * bits + ends) / 8,
            "found": found,
        }

    def compute(self) -> dict:
        now, trained = self._cost(self.form, self.bits), self._cost("groups", 16)
        return now | {
            "parts": self.parts(self.form),
            "share": now["bytes"] / trained["bytes"],
            "rise": math.expm1(now["found"]["loss"] - trained["found"]["loss"]),
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 2.6), self.title or "Bytes of one token")
        colours = {"key": "#86157a", "value": "#00784e", "state": "#262c33"}
        ends = {0: 0, 1: 0}
        for role, n in self.compute()["parts"]:
            row = int(role == "value")
            ax.barh(-row, n, left=ends[row], height=0.8 * self.bits / 16, color=colours[role],
                    edgecolor="white")  # fmt: skip
            ends[row] += n
        for row in ends:
            whole = self.own["groups"] * self.own["dim"]
            ax.barh(-row, whole, height=0.8, color="none", edgecolor="#555555")
        ax.set(xlabel="numbers of one token in one layer; outlined: as trained", yticks=[])
        return figure

    def _words(self) -> str:
        return (
            "The numbers and bytes that one token leaves in a cache, in groups, as one for all or "
            f"as a latent, in 16 to 2 bits, and the perplexity of {self.own['name']} with each."
        )
