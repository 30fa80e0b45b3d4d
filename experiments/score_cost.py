"""What a score costs: dot, general, concat and additive attention, timed against each other.

    python -m experiments.score_cost            about three minutes of one core
    python -m experiments.score_cost --quick    a few rounds, to see that it runs

One attention layer, from queries, keys and values to its output, at three shapes: a decoder that
takes one step at a time, a decoder that reads a whole target in one go, and texts of 256 tokens.
In the first the keys are projected beforehand, as a decoder does. "additive, broadcast" is the
same layer kept from working tile by tile. Times depend on the machine, so only their ratio to
"dot" is written, taken within each interleaved round.
"""

from collections.abc import Callable

import torch

import attnkit
from attnkit.mechanisms.scored import ScoredAttention
from benchmarks import _harness as harness
from experiments import _record as record

HIDDEN = 128
SHAPES = {
    "one step": {"batch": 64, "queries": 1, "keys": 30},
    "a whole target": {"batch": 64, "queries": 30, "keys": 30},
    "256 tokens": {"batch": 8, "queries": 256, "keys": 256},
}
INTERVAL = (
    "time of a layer divided by that of dot in the same round: median of the rounds, with quartiles"
)


class Broadcast(attnkit.AdditiveAttention):
    """Additive attention that always holds a hidden vector for every pair."""

    attend = ScoredAttention.attend


LAYERS: dict[str, Callable[[], ScoredAttention]] = {
    "dot": lambda: attnkit.LuongAttention(HIDDEN, HIDDEN, "dot"),
    "general": lambda: attnkit.LuongAttention(HIDDEN, HIDDEN, "general"),
    "concat": lambda: attnkit.LuongAttention(HIDDEN, HIDDEN, "concat"),
    "additive": lambda: attnkit.AdditiveAttention(HIDDEN, HIDDEN, HIDDEN),
    "additive, broadcast": lambda: Broadcast(HIDDEN, HIDDEN, HIDDEN),
}


def call(
    name: str, batch: int, queries: int, keys: int, *, backward: bool, device: torch.device
) -> Callable[[], object]:
    """One pass of a layer over random queries and keys, forward alone or both ways."""
    torch.manual_seed(0)
    layer = LAYERS[name]().to(device)
    query, key = (torch.randn(batch, n, HIDDEN, device=device) for n in (queries, keys))
    options = {}
    if queries == 1:
        with torch.no_grad():
            options["projected_key"] = layer.project_key(key)

    def forward() -> object:
        with torch.no_grad():
            return layer(query, key, **options)

    inputs = [query.requires_grad_(backward), key.requires_grad_(backward)]
    learned = [parameter for parameter in layer.parameters() if queries > 1]

    def both() -> object:
        output = layer(query, key, **options).output
        return torch.autograd.grad(output.sum(), [*inputs, *learned])

    return both if backward else forward


def measure(name: str, *, backward: bool, quick: bool, device: torch.device) -> dict:
    """Ratios of all layers to dot at one shape."""
    calls = {
        layer: call(layer, **SHAPES[name], backward=backward, device=device) for layer in LAYERS
    }
    rounds, budget = (3, 0.5) if quick else (31, 40.0)
    found = harness.compare(calls, rounds=rounds, budget=budget, device=device.type)
    ratios = {
        layer: {key: numbers[key] for key in ("ratio", "low", "high")}
        for layer, numbers in found.items()
        if layer != "dot"
    }
    return {"rounds": found["dot"]["rounds"], "ratios": ratios}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("score_cost", __doc__, argv)
    torch.set_num_threads(1)
    rows = [
        {"shape": name, **SHAPES[name], "hidden": HIDDEN, "backward": backward}
        | measure(name, backward=backward, quick=chosen.quick, device=chosen.device)
        for name in (list(SHAPES)[:1] if chosen.quick else SHAPES)
        for backward in (False, True)
    ]
    return record.write(
        chosen.out,
        command=chosen.command,
        seeds=[0],
        device=chosen.device,
        results={"interval": INTERVAL, "rows": rows},
    )


if __name__ == "__main__":
    main()
