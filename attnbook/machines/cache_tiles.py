"""What one token leaves in a cache, as tiles: heads, groups, one for all, a latent; and bits."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

FORMS = {
    "heads": "keys and values for every head",
    "groups": "groups of heads share them",
    "one": "one key and value for all heads",
    "latent": "a latent for all heads",
}
"""What the page calls each."""

BITS, TOKENS = [16, 8, 4, 2], [1, 1024, 8192, 32768, 131072]
BLOCK, ENDS = 64, 32
"""In few bits: how many numbers share a least one and a step, and the bits of these two."""

SIZES = ("layers", "heads", "groups", "dim", "rotary")


class CacheTiles(Machine):
    r"""The numbers and bytes that one token leaves in the caches of a model.

    A layer keeps :math:`2 H D` numbers for H heads of D features, :math:`2 G D` when groups share
    G of them, :math:`2D` when all share one, and c + r with a latent of c numbers and a rotary key
    of r. In fewer than 16 bits each block of 64 numbers keeps two more of 16 bits, its least and
    its step. Where it was measured, the loss of a token with such a cache stands beside it.

    Args:
        models: of each a name, `SIZES` (whose "groups" are the model's own) and "latents", sizes to
            choose from, the model's own first where it has one.
        measured: of some model, form and bits what came of it: dicts with "model" (a name), "form",
            "latent" (0 for none), "bits", "keys" and "values" (relative errors) and "loss".
        model: which one, from 0. A trait, as are the next four: set them and the page follows.
        form: a name of `FORMS`.
        latent: numbers of the latent, one of the model's.
        bits: of a number.
        tokens: length of the text that is added up.
        title, caption: plain text above and below.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size below 0, a setting that does not fit.

    Example:
        >>> sizes = {"layers": 32, "heads": 32, "groups": 8, "dim": 128, "rotary": 64}
        >>> tiles = CacheTiles([{"name": "M", **sizes, "latents": [512]}], [], form="groups")
        >>> tiles.compute()["bytes"]
        131072.0
    """

    _about = "Counted; the losses were measured, with nothing trained again."
    _limits: ClassVar = {
        "model": lambda m: (0, len(m.models) - 1),
        "form": lambda _: list(FORMS),
        "latent": lambda m: sorted({n for model in m.models for n in model["latents"]}),
        "bits": lambda _: BITS,
        "tokens": lambda _: TOKENS,
    }

    models = t.List().tag(sync=True)
    measured = t.List().tag(sync=True)
    forms = t.List().tag(sync=True)
    widths = t.List().tag(sync=True)
    lengths = t.List().tag(sync=True)
    model = t.Int(0).tag(sync=True)
    form = t.Unicode("heads").tag(sync=True)
    latent = t.Int(0).tag(sync=True)
    bits = t.Int(16).tag(sync=True)
    tokens = t.Int(8192).tag(sync=True)

    def __init__(self, models: Sequence[Mapping[str, Any]], measured: Sequence[dict], **rest: Any):
        for model in models:
            for name in SIZES:
                checks.integer(name, model[name], minimum=0)
        super().__init__(
            models=[dict(one) for one in models],
            measured=[dict(one) for one in measured],
            forms=[list(each) for each in FORMS.items()],
            widths=BITS,
            lengths=TOKENS,
            **{"latent": models[0]["latents"][0]} | rest,
        )

    def parts(self) -> list[list]:
        """Role and numbers of each tile of a layer: "key", "value", "state" or "query", which
        stands for the rotary key."""
        model = self.models[self.model]
        if self.form == "latent":
            return [
                ["state", self.latent],
                *([["query", model["rotary"]]] if model["rotary"] else []),
            ]
        heads = {"heads": model["heads"], "groups": model["groups"], "one": 1}[self.form]
        return [[role, model["dim"]] for role in ("key", "value") for _ in range(heads)]

    def nbytes(self, numbers: int) -> float:
        """Bytes of a token in all layers, from the numbers in one."""
        ends = -(-numbers // BLOCK) * ENDS if self.bits < 16 else 0
        return self.models[self.model]["layers"] * (numbers * self.bits + ends) / 8

    def compute(self) -> dict:
        model, parts = self.models[self.model], self.parts()
        numbers = sum(n for _, n in parts)
        whole = 2 * model["heads"] * model["dim"]
        kept = self.nbytes(numbers)
        wanted = [model["name"], self.form, self.latent if self.form == "latent" else 0, self.bits]
        keys = ("model", "form", "latent", "bits")
        found = [one for one in self.measured if [one[key] for key in keys] == wanted]
        return {
            "parts": parts,
            "numbers": numbers,
            "bytes": kept,
            "text": kept * self.tokens,
            "less": model["layers"] * whole * 2 / kept,
            "found": found[:1],
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 2.6), self.title or "Bytes of one token")
        now, at = self.compute(), 0
        colours = {"key": "#86157a", "value": "#00784e", "state": "#262c33", "query": "#b34700"}
        for role, n in now["parts"]:
            ax.barh(0, n, left=at, color=colours[role], edgecolor="white")
            at += n
        ax.set(xlabel="numbers of one token in one layer", yticks=[])
        return figure

    def _words(self) -> str:
        return (
            "The numbers and bytes that one token leaves in a cache, with heads, groups, one for "
            f"all or a latent, in 16 to 2 bits, for {len(self.models)} models."
        )
