"""The roof of one processor: how many operations a second, by the operations for each byte?

    python -m experiments.roofline            two minutes of one core
    python -m experiments.roofline --quick    small shapes, in seconds

A matrix of weights, larger than any cache of the processor, is multiplied with 1 to 256 vectors
at once: it is read once, and used once for each. And attention without a mask over texts of 256
to 4,096 words, 4 heads of 64 features: the plain three lines, tiles in ordinary PyTorch, PyTorch's
fused kernel. CPU seconds of one thread in float32; the least of a few rounds by turns, since
whatever else runs on the machine only adds, and the ratios are medians over the rounds.
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from attnkit.efficient import flash_attention
from experiments import _record as record

SIDE = 6144  # 144 MiB of weights
VECTORS = [2**power for power in range(9)]
LENGTHS = [256, 512, 1024, 2048, 4096]
HEADS, WIDTH, ROUNDS = 4, 64, 5


def settings(quick: bool) -> list[dict]:
    """One for each number of vectors or of words, and try."""
    vectors, lengths, tries = (VECTORS[:3], LENGTHS[:2], 2) if quick else (VECTORS, LENGTHS, 3)
    cases = [("weights", n, 512 if quick else SIDE) for n in vectors]
    cases += [("attention", n, WIDTH) for n in lengths]
    return [
        {"case": case, "count": n, "side": side, "seed": seed}
        for case, n, side in cases
        for seed in range(tries)
    ]


def plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention that holds its table."""
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value


FORMS = {"plain": plain, "tiles": flash_attention, "fused": F.scaled_dot_product_attention}


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of each call, least of all rounds; of attention also ratios to the fused kernel."""
    generator = torch.Generator().manual_seed(setting["seed"])
    n, side = setting["count"], setting["side"]
    if setting["case"] == "weights":
        weights = torch.rand(side, side, generator=generator)
        vectors = torch.rand(side, n, generator=generator)
        (took,) = rounds({"weights": lambda: weights @ vectors}).values()
        return {"seconds": {"weights": round(min(took), 6)}}
    q, k, v = torch.randn(3, 1, HEADS, n, side, generator=generator)
    took = rounds({name: lambda form=form: form(q, k, v) for name, form in FORMS.items()})
    return {
        "seconds": {name: round(min(each), 6) for name, each in took.items()},
        "ratios": {
            name: statistics.median(a / b for a, b in zip(each, took["fused"], strict=True))
            for name, each in took.items()
        },
    }


def rounds(calls: dict[str, Callable]) -> dict[str, list[float]]:
    """CPU seconds of each call in every round, after one that is not measured."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if number:
                took[name].append(time.process_time() - start)
    return took


def results(runs: list[dict]) -> dict:
    """Of each case and count: operations, the bytes that it must move, seconds, ratios."""
    rows = []
    for same, group in record.grouped(runs, ["case", "count", "side"]):
        n, side = same["count"], same["side"]
        if same["case"] == "weights":
            counted = {"operations": 2 * side * side * n, "bytes": 4 * (side * side + 2 * side * n)}
        else:
            # A table for each head: scores and weights are both written once and read once.
            given = 4 * HEADS * 4 * n * side
            table = 4 * HEADS * 4 * n * n
            counted = {"operations": 4 * HEADS * n * n * side, "bytes": given, "table": table}
        row = {**same, **counted}
        for kind in ("seconds", "ratios"):
            if kind in group[0]:
                names = group[0][kind]
                row[kind] = {
                    name: record.median_interval([run[kind][name] for run in group])
                    for name in names
                }
        rows.append(row)
    return {"heads": HEADS, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("roofline", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
