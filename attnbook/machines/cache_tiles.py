"""What one token leaves in a cache, as tiles, and the price of each way that was measured."""

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
    the model's own groups in 16 bits, whose tiles are outlined. All prices are drawn against bytes.

    Args:
        model: its name and `SIZES`; and, if it wrote something with each, the "beginning" of that.
        measured: what came of each form and bits, the model's own groups among them: dicts with
            "form" ("groups", "one", or "latent" and its numbers, as in "latent-48"), "bits", "keys"
            and "values" (relative errors) and "loss", and what it "said" after the beginning.
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

    def _price(self, form: str, bits: int) -> dict:
        """The cost, and how it compares with the model's own groups in 16 bits."""
        now, trained = self._cost(form, bits), self._cost("groups", 16)
        return now | {
            "share": now["bytes"] / trained["bytes"],
            "rise": math.expm1(now["found"]["loss"] - trained["found"]["loss"]),
        }

    def compute(self) -> dict:
        return self._price(self.form, self.bits) | {"parts": self.parts(self.form)}

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 3.2), self.title or "Bytes of one token")
        for form in self.forms:
            bits = [one["bits"] for one in self.measured if one["form"] == form]
            found = [self._price(form, width) for width in bits]
            sizes, rises = [[one[name] for one in found] for name in ("bytes", "rise")]
            ax.plot([size / 1024 for size in sizes], [100 * max(rise, 0) for rise in rises],
                    marker="o", label=form.replace("-", " of "))  # fmt: skip
        now = self._price(self.form, self.bits)
        ax.plot(now["bytes"] / 1024, 100 * max(now["rise"], 0), "o", markersize=12, color="#176b87")
        ax.set_yscale("symlog", linthresh=1)
        ax.set(xscale="log", xlabel="KiB a token", ylabel="rise of the perplexity in %")
        ax.legend()
        return figure

    def _words(self) -> str:
        return (
            "The numbers and bytes that one token leaves in a cache, in groups, as one for all or "
            f"as a latent, in 16 to 2 bits, and the perplexity of {self.own['name']} with each, "
            "drawn against the bytes."
        )
