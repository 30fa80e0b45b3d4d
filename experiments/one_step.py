"""One step of SmolLM2-135M-Instruct with a cache: how much of it is reading the weights?

    python -m experiments.one_step            a minute of one core
    python -m experiments.one_step --quick    the same once

Timed beside the step: its matrix products alone, for one token and for 64; and adding up the same
weights, which reads them and does little else. CPU seconds of one thread in float32; the least of a
few, since whatever else runs on the machine only adds.
"""

import time
from collections.abc import Callable

import torch
from torch.nn.functional import linear

from experiments import _record as record
from experiments import _smollm as smollm

LENGTH, TRIES, MANY = 256, 8, 64


def settings(quick: bool) -> list[dict]:
    """One for each try."""
    return [{"length": 16 if quick else LENGTH, "seed": seed} for seed in range(1 if quick else 5)]


def least(call: Callable[[], object]) -> float:
    """CPU seconds of the fastest of a few calls; the first is left out."""
    took = []
    for _ in range(TRIES + 1):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took[1:])


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of a step, of its products, of those for `MANY` tokens, and of a sum of the weights.

    The table of the tokens is also the matrix of the logits, and stands once.
    """
    model, length = smollm.reader().model, setting["length"]
    tokens = smollm.text(2 * setting["seed"], length + 1)[1]
    caches = smollm.after(tokens, length)
    matrices = [p for p in model.parameters() if p.dim() == 2]

    def products(rows: int) -> Callable[[], object]:
        x = {width: torch.randn(rows, width) for width in {p.shape[1] for p in matrices}}
        return lambda: [linear(x[p.shape[1]], p) for p in matrices]

    calls = {
        "step": lambda: model(tokens[:, length:], caches=caches),
        "products": products(1),
        "products_of_many": products(MANY),
        "sum": lambda: [p.sum() for p in matrices],
    }
    return {name: round(least(call), 4) for name, call in calls.items()}


def results(runs: list[dict]) -> dict:
    """Of each the seconds, over the tries."""
    parts = ("step", "products", "products_of_many", "sum")
    return {
        "model": smollm.NAME,
        "many": MANY,
        "rows": [
            {"part": name, "seconds": record.median_interval([run[name] for run in runs])}
            for name in parts
        ],
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("one_step", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
