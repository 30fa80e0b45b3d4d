"""What a model keeps: a strip for each release, and what one of them costs on a machine."""

from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook import releases
from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes
from attnkit.viz.widget import expect

CONTEXTS = [2**power for power in range(10, 21)]
READERS = [2**power for power in range(11)]
BITS = [16, 8, 4]
PUBLISHED = 0
WORDS = releases.WORDS


class KeptMachine(Machine):
    """Strips of the models of `attnbook/releases.toml`, a bar a layer, beside a calculator.

    A bar is as tall as the layer's share of one reader's text; a line beside them, the cache in
    GB, at 16 bits a number. The layers of one model are drawn to scale, so that area is memory. The
    calculator shows how the memory of one kind of chip fills, and what a step has to read and to
    do; see `attnbook.releases.cost`. What no source says is unknown there as well.

    Args:
        model: the id of a model, or "own". A trait, as are the others: set them, the page follows.
        own: a model in words, or its config.json, as `attnbook.releases.own` reads them.
        chip: the id of what it runs on, of `releases.CHIPS`.
        context: tokens of a reader's text, a power of two from 1,024 to 1,048,576.
        readers: texts written at once, a power of two from 1 to 1,024.
        weight_bits: bits of a weight, 16, 8 or 4; 0 for weights as they were published.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> machine = KeptMachine(model="llama-3.1-70b", context=131072)
        >>> round(machine.compute()["cache"] / 1e9, 1), machine.compute()["chips"]
        (42.9, 3)
        >>> machine.model = "gpt-4"
        >>> machine.compute()["cache"] is None
        True
    """

    _about = (
        "Worked out, not measured: cards share all evenly and talk in no time, so speeds are "
        f"ceilings that no server reaches. List of {releases.STAMP}."
    )
    _limits: ClassVar = {
        "model": lambda _: [*releases.MODELS, "own"],
        "own": None,
        "chip": lambda _: list(releases.CHIPS),
        "context": lambda _: CONTEXTS,
        "readers": lambda _: READERS,
        "weight_bits": lambda _: [PUBLISHED, *BITS],
    }

    models = t.List(t.Dict()).tag(sync=True)
    chips = t.List(t.Dict()).tag(sync=True)
    choices = t.Dict().tag(sync=True)
    model = t.Unicode("llama-3.1-70b").tag(sync=True)
    own = t.Unicode(releases.OWN).tag(sync=True)
    chip = t.Unicode("h100").tag(sync=True)
    context = t.Int(131072).tag(sync=True)
    readers = t.Int(1).tag(sync=True)
    weight_bits = t.Int(PUBLISHED).tag(sync=True)

    def __init__(
        self,
        *,
        model: str = "llama-3.1-70b",
        own: str = releases.OWN,
        chip: str = "h100",
        context: int = 131072,
        readers: int = 1,
        weight_bits: int = PUBLISHED,
        **texts: str,
    ):
        super().__init__(
            models=[_known(one) for one in releases.MODELS.values()],
            chips=list(releases.CHIPS.values()),
            choices={
                "contexts": CONTEXTS,
                "readers": READERS,
                "bits": BITS,
                "config": releases.CONFIG,
            },
            model=model,
            own=own,
            chip=chip,
            context=checks.integer("context", context),
            readers=checks.integer("readers", readers),
            weight_bits=checks.integer("weight_bits", weight_bits),
            **texts,
        )

    @t.validate("own")
    def _short_enough(self, proposal):
        return expect(proposal, f"at most {WORDS} letters", len(proposal.value) <= WORDS)

    def rows(self) -> list[dict]:
        """The models of the list, and the reader's own."""
        return [*releases.MODELS.values(), releases.own(self.own)]

    def compute(self) -> dict:
        chip = releases.CHIPS[self.chip]
        rest = {"readers": self.readers, "weight_bits": self.weight_bits}
        # The `chip` of a snapshot is the setting: what `cost` calls chips is their number.
        rows = self.rows()
        model = next(one for one in rows if one["id"] == self.model)
        found = releases.cost(model, chip, context=self.context, **rest)
        caches = [releases.cost(one, chip, context=self.context)["cache"] for one in rows]
        return found | {"caches": caches}

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 5.6), self.title or "Cache of one reader")
        models = self.rows()
        caches = [cache or 0 for cache in self.compute()["caches"]]
        names = [
            f"{model['date'][:4]}  {model['name']}" + ("" if cache else " (unknown)")
            for model, cache in zip(models, caches, strict=True)
        ]
        ax.barh(names, [cache / 1e9 for cache in caches])
        ax.invert_yaxis()
        ax.set_xlabel(f"GB for {self.context:,} tokens, 16 bits a number")
        return figure

    def _words(self) -> str:
        return (
            f"A strip for each of {len(releases.MODELS)} language models, a bar for each layer: "
            "how much of the text it keeps; the layers of one model to scale; and a calculator of "
            "memory and time, for a model of the reader's own as well."
        )


def _known(model: dict) -> dict:
    """A model without what is unknown: a number that the page has not makes a sum no number."""
    layers = [
        {name: value for name, value in layer.items() if value is not None}
        for layer in model["layers"]
    ]
    return {name: value for name, value in model.items() if value is not None} | {"layers": layers}
