"""Three forms of one attention: with its table, in tiles, and by PyTorch's fused kernel.

    python -m experiments.three_forms            two minutes of one core
    python -m experiments.three_forms --quick    small shapes, in seconds

Without a mask, over texts of 256 to 4,096 words, 4 heads of 64 features. CPU seconds of one thread
in float32; the least of a few rounds by turns, since whatever else runs on the machine only adds,
and the ratios are medians over the rounds.
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from attnkit.efficient import flash_attention
from experiments import _record as record

LENGTHS = [256, 512, 1024, 2048, 4096]
HEADS, WIDTH, ROUNDS = 4, 64, 5


def settings(quick: bool) -> list[dict]:
    """One for each number of words and try."""
    lengths, tries = (LENGTHS[:2], 2) if quick else (LENGTHS, 3)
    return [{"count": n, "seed": seed} for n in lengths for seed in range(tries)]


def plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention that holds its table."""
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value


FORMS = {"plain": plain, "tiles": flash_attention, "fused": F.scaled_dot_product_attention}


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of each form, least of all rounds, and ratios to the fused kernel."""
    generator = torch.Generator().manual_seed(setting["seed"])
    q, k, v = torch.randn(3, 1, HEADS, setting["count"], WIDTH, generator=generator)
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
    """Of each number of words: seconds and ratios."""
    rows = [
        same | {kind: record.median_intervals([run[kind] for run in group])
                for kind in ("seconds", "ratios")}
        for same, group in record.grouped(runs, ["count"])
    ]  # fmt: skip
    return {"heads": HEADS, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("three_forms", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
