"""One roofline: what a call of a language model does for each byte it moves, on some card."""

from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook import releases
from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes

TOKENS = [2**power for power in range(7, 18)]
READERS = [2**power for power in range(11)]
BITS = [16, 8, 4]
PHASES = {"decode": "write a token", "prefill": "read the prompt"}
CROSSINGS = 4
"""How often a table of attention crosses to memory and back: scores and weights, both ways."""
EMBEDDINGS = {"llama-3.1-8b": 128_256 * 4096}
"""Parameters that a step only looks up, where the last matrix is another as large."""

PARTS = ("weights", "attention", "step")


class Roofline(Machine):
    r"""Operations a second against operations a byte, and the ceiling of a card over both.

    A call moves each weight once, and each key and value once; embeddings are looked up. For n
    tokens it takes two operations for each weight and token, those of the last matrix once for each
    text, and four for each feature of each query head and pair of tokens that see each other. With
    `table`, attention takes all pairs, and moves its table of 16 bits, four times. With I
    operations a byte, a card of peak P and bandwidth B does at most

    .. math:: \min(P, I B)

    operations a second (Williams, Waterman and Patterson, 2009). The step is both parts together,
    as if they overlapped; its time is that of `attnbook.releases.cost` without the embeddings.

    Args:
        model: the id of a model in `releases.toml` whose layers all are full.
        chip: the id of a card. A trait, as are the next five.
        phase: "decode" or "prefill".
        readers: texts at once, a power of two from 1 to 1,024.
        tokens: of each text, a power of two from 128 to 131,072.
        bits: of a weight, a key and a value: 16, 8 or 4. The arithmetic has 16.
        table: whether attention writes its table to memory.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> roof = Roofline(chip="h100", phase="decode", readers=1, tokens=128)
        >>> now = roof.compute()
        >>> round(now["ridge"]), round(now["weights"]["intensity"]), now["weights"]["bound"]
        (295, 1, 'bandwidth')
    """

    _about = (
        "Worked out, not measured, for one card that holds everything: embeddings and activations "
        "are left out, every other number crosses once. Cards as their makers promise, 16 bits, of "
        f"{releases.STAMP}."
    )
    _limits: ClassVar = {
        "chip": lambda _: list(releases.CHIPS),
        "phase": lambda _: list(PHASES),
        "readers": lambda _: READERS,
        "tokens": lambda _: TOKENS,
        "bits": lambda _: BITS,
        "table": None,
    }

    model = t.Dict().tag(sync=True)
    chips = t.List(t.Dict()).tag(sync=True)
    choices = t.Dict().tag(sync=True)
    chip = t.Unicode("h100").tag(sync=True)
    phase = t.Unicode("decode").tag(sync=True)
    readers = t.Int(1).tag(sync=True)
    tokens = t.Int(2048).tag(sync=True)
    bits = t.Int(16).tag(sync=True)
    table = t.Bool(False).tag(sync=True)

    def __init__(
        self,
        *,
        model: str = "llama-3.1-8b",
        readers: int = 1,
        tokens: int = 2048,
        bits: int = 16,
        **rest,
    ):
        found = releases.MODELS[model]
        layers = [layer for layer in found["layers"] for _ in layer["places"]]
        if {layer["kind"] for layer in layers} != {"full"}:
            checks.fail("model", "a model whose layers all are full", model)
        super().__init__(
            model={
                "name": found["name"],
                "parameters": 1e9 * found["parameters"],
                "embedding": EMBEDDINGS.get(model, 0),
                "kept": sum(layer["numbers"] for layer in layers),
                "work": sum(layer["work"] for layer in layers),
                "tables": _heads(model),
            },
            chips=list(releases.CHIPS.values()),
            choices={"readers": READERS, "tokens": TOKENS, "bits": BITS, "phases": PHASES},
            readers=checks.integer("readers", readers),
            tokens=checks.integer("tokens", tokens),
            bits=checks.integer("bits", bits),
            **rest,
        )

    def parts(self, readers: int) -> dict[str, tuple[float, float]]:
        """Operations and bytes of weights, attention and both, for so many readers."""
        model, whole = self.model, self.phase == "prefill"
        calls = readers * (self.tokens if whole else 1)  # tokens that go through the weights
        seen = (self.tokens if self.table else (self.tokens + 1) / 2) if whole else 1
        pairs = readers * self.tokens * seen
        read, last = model["parameters"] - model["embedding"], model["embedding"]
        weights = 2 * ((read - last) * calls + last * readers), read * self.bits / 8
        moved = readers * self.tokens * model["kept"] * self.bits / 8
        if self.table:
            moved += CROSSINGS * 2 * model["tables"] * pairs
        attention = model["work"] * pairs, moved
        both = tuple(a + b for a, b in zip(weights, attention, strict=True))
        return dict(zip(PARTS, (weights, attention, both), strict=True))

    def compute(self) -> dict:
        """Of each part what it does and moves, its intensity, the speed and the time that the card
        allows, and what bounds it; the `ridge` of the card; for each number of readers the
        intensity of a step; the seconds of the parts one after the other; and the bytes that the
        card must hold."""
        chip = releases.CHIPS[self.chip]
        peak, band = 1e12 * chip["compute"], 1e12 * chip["bandwidth"]
        found = {
            name: {
                "operations": done,
                "bytes": moved,
                "intensity": done / moved,
                "speed": min(peak, band * done / moved),
                "seconds": max(done / peak, moved / band),
                "bound": "bandwidth" if moved / band >= done / peak else "compute",
            }
            for name, (done, moved) in self.parts(self.readers).items()
        }
        trail = [self.parts(readers)["step"] for readers in READERS]
        kept = self.model["parameters"] + self.readers * self.tokens * self.model["kept"]
        return found | {
            "ridge": peak / band,
            "trail": [done / moved for done, moved in trail],
            "apart": found["weights"]["seconds"] + found["attention"]["seconds"],
            "held": kept * self.bits / 8,
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 3.6), self.title or "A roofline")
        now, chip = self.compute(), releases.CHIPS[self.chip]
        ends = [0.25, now["ridge"], 2**18]
        ax.plot(ends, [min(chip["compute"], chip["bandwidth"] * x) for x in ends], color="black")
        for name in PARTS:
            ax.plot(now[name]["intensity"], now[name]["speed"] / 1e12, "o", label=name)
        ax.set(xscale="log", yscale="log", xlabel="operations a byte", ylabel="TFLOP/s")
        ax.legend()
        return figure

    def _words(self) -> str:
        return (
            f"A roofline of {len(releases.CHIPS)} cards, and on it the weights, the attention and "
            f"a whole step of {self.model['name']}, by phase, readers, tokens and bits."
        )


def _heads(model: str) -> int:
    """Tables of attention in all layers: one for each query head."""
    entry = next(one for one in releases.DATA["models"] if one["id"] == model)
    return sum(
        times * sum(entry["layers"][letter]["heads"] for letter in run)
        for times, run in entry["order"]
    )
