"""Three forms of one attention: with its table, in tiles, and by PyTorch's fused kernel.

    python -m experiments.three_forms            two minutes of one core, on Linux
    python -m experiments.three_forms --quick    small shapes, in seconds

Without a mask, over texts of 256 to 4,096 words, 4 heads of 64 features. CPU seconds of one thread
in float32; the least of a few rounds by turns, since whatever else runs on the machine only adds,
and the ratios are medians over the rounds.

The C library gives a large block back to the system when it is freed, and the next call pays for
its pages again: cleared, one fault each. So all is measured twice, the second time with the memory
kept, and the faults are counted.
"""

import ctypes
import resource
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from attnkit.efficient import flash_attention
from experiments import _record as record

LENGTHS = [256, 512, 1024, 2048, 4096]
HEADS, WIDTH, ROUNDS = 4, 64, 9


def settings(quick: bool) -> list[dict]:
    """One for each number of words and try, first of all those that do not keep their memory."""
    lengths, tries = (LENGTHS[:2], 2) if quick else (LENGTHS, 3)
    return [
        {"kept": kept, "count": n, "seed": seed}
        for kept in (False, True)
        for n in lengths
        for seed in range(tries)
    ]


def keep() -> None:
    """Let this process keep all memory that it ever had."""
    mmap_max, trim_threshold = -4, -1  # as malloc.h numbers them
    library = ctypes.CDLL(None)
    library.mallopt(mmap_max, 0)
    library.mallopt(trim_threshold, 2**31 - 1)


def plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention that holds its table, and goes over it no more often than it must."""
    return (query / query.shape[-1] ** 0.5 @ key.mT).softmax(-1) @ value


FORMS = {"plain": plain, "tiles": flash_attention, "fused": F.scaled_dot_product_attention}


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of each form, least of all rounds, ratios to the fused kernel, and page faults."""
    if setting["kept"]:
        keep()
    generator = torch.Generator().manual_seed(setting["seed"])
    q, k, v = torch.randn(3, 1, HEADS, setting["count"], WIDTH, generator=generator)
    took, faults = rounds({name: lambda form=form: form(q, k, v) for name, form in FORMS.items()})
    return {
        "seconds": {name: round(min(each), 6) for name, each in took.items()},
        "ratios": {
            name: statistics.median(a / b for a, b in zip(each, took["fused"], strict=True))
            for name, each in took.items()
        },
        "faults": {name: statistics.median(each) for name, each in faults.items()},
    }


def rounds(calls: dict[str, Callable]) -> tuple[dict[str, list[float]], dict[str, list[int]]]:
    """CPU seconds and page faults of each call in every round, after one that is not measured."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    faults: dict[str, list[int]] = {name: [] for name in calls}
    for number in range(ROUNDS + 1):
        for name, call in calls.items():
            before, start = faulted(), time.process_time()
            call()
            if number:
                took[name].append(time.process_time() - start)
                faults[name].append(faulted() - before)
    return took, faults


def faulted() -> int:
    """Pages that the system had to find for this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def results(runs: list[dict]) -> dict:
    """Of each number of words: seconds, ratios and page faults."""
    rows = [
        same | {kind: record.median_intervals([run[kind] for run in group])
                for kind in ("seconds", "ratios", "faults")}
        for same, group in record.grouped(runs, ["kept", "count"])
    ]  # fmt: skip
    return {"heads": HEADS, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("three_forms", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
