"""`MultiHeadAttention` against `nn.MultiheadAttention` with the same weights, as ratios.

Rounds are interleaved, so that whatever else the machine does hits both alike, and the ratio is
taken inside each round. Above 1 ours is faster. Run: `python -m benchmarks.multihead`.
"""

import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from tqdm import tqdm

from attnkit import MultiHeadAttention, masks

# B, L, E, H. The last is small enough for every check to be felt.
SHAPES = [(8, 128, 256, 8), (32, 32, 128, 4), (16, 64, 64, 4), (2, 512, 256, 8), (4, 16, 64, 4)]
ROUNDS = 25
SHORTEST = 0.002  # seconds: a shorter measurement says more of the clock


def cases(B: int, L: int, E: int, H: int) -> dict[str, tuple[Callable, Callable]]:
    """Pairs of calls (theirs, ours) that compute the same thing."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(E, H, batch_first=True)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(B, L, E)
    padded = torch.zeros(B, L, dtype=torch.bool)
    padded[:, -L // 8 :] = True
    mask = masks.from_torch_padding(padded)

    def without(f: Callable) -> Callable:
        return torch.no_grad()(f)

    def backward(f: Callable) -> Callable:
        return lambda: f().sum().backward()

    plain = lambda: theirs(x, x, x, need_weights=False)[0], lambda: ours(x).output
    weights = (
        lambda: theirs(x, x, x, average_attn_weights=False),
        lambda: ours(x, need_weights=True),
    )
    return {
        "weights off": plain,
        "weights off, padding": (
            lambda: theirs(x, x, x, key_padding_mask=padded, need_weights=False),
            lambda: ours(x, mask=mask),
        ),
        "weights off, no grad": tuple(map(without, plain)),
        "weights off, forward and backward": tuple(map(backward, plain)),
        "weights on": weights,
        "weights on, no grad": tuple(map(without, weights)),
    }


def seconds(call: Callable, times: int = 1) -> float:
    """Of one call, from `times` in a row."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def compare(theirs: Callable, ours: Callable) -> dict[str, float]:
    """Median of the rounds' ratios, their quartiles, and the best time of each."""
    theirs(), ours()
    calls = max(1, round(SHORTEST / seconds(theirs)))
    times = [(seconds(theirs, calls), seconds(ours, calls)) for _ in range(ROUNDS)]
    low, median, high = statistics.quantiles([a / b for a, b in times], n=4)
    best = [min(column) * 1e3 for column in zip(*times, strict=True)]
    return {
        "ratio": round(median, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "best_ratio": round(best[0] / best[1], 3),
        "theirs_ms": round(best[0], 3),
        "ours_ms": round(best[1], 3),
    }


def run() -> dict[str, dict[str, dict[str, float]]]:
    """Results by shape and case, on the CPU with as many threads as torch was given."""
    results = {}
    for shape in tqdm(SHAPES, desc="shapes"):
        name = "B{} L{} E{} H{}".format(*shape)
        results[name] = {case: compare(*pair) for case, pair in cases(*shape).items()}
    return results


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({"threads": 1, "torch": torch.__version__, "results": run()}, indent=1))
