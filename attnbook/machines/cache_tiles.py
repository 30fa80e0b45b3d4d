"""What one token leaves in a cache, as tiles: heads, groups, one for all, a latent; and bits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

FORMS = {
    "heads": "every head its own",
    "groups": "groups share",
    "one": "one for all heads",
    "latent": "a latent",
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
    its step. Where it was measured, what such a cache costs stands beside it: how far the
    perplexity lies above that of the model's own form in 16 bits. One setting is held for
    comparison.

    Args:
        models: of each a name, `SIZES` (whose "groups" are the model's own) and "latents", sizes to
            choose from, the model's own first where it has one, and "own", the form that it was
            trained in, a name of `FORMS`.
        measured: of some model, form and bits what came of it: dicts with "model" (a name), "form",
            "latent" (0 for none), "bits", "keys" and "values" (relative errors) and "loss".
        model: which one, from 0. A trait, as are the next five: set them and the page follows.
        form: a name of `FORMS`.
        latent: numbers of the latent, one of the model's.
        bits: of a number.
        tokens: length of the text that is added up.
        held: what is held for comparison: a model, a form, a latent (0 for none), bits. The first
            model's own form in 16 bits when omitted.
        title, caption: plain text above and below.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size below 0, a setting that does not fit.

    Example:
        >>> sizes = {"layers": 32, "heads": 32, "groups": 8, "dim": 128, "rotary": 64}
        >>> model = {"name": "M", **sizes, "latents": [512], "own": "groups"}
        >>> tiles = CacheTiles([model], [], form="groups")
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
        "held": lambda m: m.choices(),
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
    held = t.List().tag(sync=True)

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
            **{
                "latent": models[0]["latents"][0],
                "held": [0, *self._own(models[0]), 16],
            }
            | rest,
        )

    @staticmethod
    def _own(model: Mapping[str, Any]) -> list:
        """The form that a model was trained in, and its latent, 0 for none."""
        return [model["own"], model["latents"][0] if model["own"] == "latent" else 0]

    def choices(self) -> list[list]:
        """All that can be held: a model, a form, a latent, bits."""
        return [
            [at, form, latent, bits]
            for at, model in enumerate(self.models)
            for form in FORMS
            for latent in (model["latents"] if form == "latent" else [0])
            for bits in BITS
        ]

    def parts(self, at: int, form: str, latent: int) -> list[list]:
        """Role and numbers of each tile of a layer: "key", "value", "state" or "query", which
        stands for the rotary key."""
        model = self.models[at]
        if form == "latent":
            return [["state", latent], *([["query", model["rotary"]]] if model["rotary"] else [])]
        heads = {"heads": model["heads"], "groups": model["groups"], "one": 1}[form]
        return [[role, model["dim"]] for role in ("key", "value") for _ in range(heads)]

    def _found(self, at: int, form: str, latent: int, bits: int) -> list[dict]:
        """What was measured with such a cache: one dict, or none."""
        wanted = [self.models[at]["name"], form, latent, bits]
        keys = ("model", "form", "latent", "bits")
        return [one for one in self.measured if [one[key] for key in keys] == wanted][:1]

    def _cost(self, at: int, form: str, latent: int, bits: int) -> dict:
        """Bytes of a token in all layers, what was measured, and how much the perplexity rose."""
        numbers = sum(n for _, n in self.parts(at, form, latent))
        ends = -(-numbers // BLOCK) * ENDS if bits < 16 else 0
        found = self._found(at, form, latent, bits)
        own = self._found(at, *self._own(self.models[at]), 16)
        return {
            "numbers": numbers,
            "bytes": self.models[at]["layers"] * (numbers * bits + ends) / 8,
            "found": found,
            "rise": [math.expm1(found[0]["loss"] - own[0]["loss"])] if found and own else [],
        }

    def compute(self) -> dict:
        model, latent = self.models[self.model], self.latent if self.form == "latent" else 0
        now = self._cost(self.model, self.form, latent, self.bits)
        whole = model["layers"] * 2 * model["heads"] * model["dim"] * 2
        return now | {
            "parts": self.parts(self.model, self.form, latent),
            "text": now["bytes"] * self.tokens,
            "less": whole / now["bytes"],
            "beside": self._cost(*self.held),
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
