"""The cache of SmolLM2-135M-Instruct in bytes, and a token's time with it and without.

    python -m experiments.kv_cache            a minute of one core
    python -m experiments.kv_cache --quick    short texts, in seconds

The time of the next token after texts of several lengths: with a cache one token is read, without
one the whole text again. CPU seconds of one thread in float32; the mean of two tries.
"""

import statistics
import time

import torch

from experiments import _record as record
from experiments import _smollm as smollm

LENGTHS, TRIES = (16, 64, 256, 1024), 2


def settings(quick: bool) -> list[dict]:
    """One for each length and try."""
    lengths, tries = ((16, 64), 2) if quick else (LENGTHS, TRIES)
    return [{"length": length, "seed": seed} for length in lengths for seed in range(tries)]


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of the next token both ways, the bytes the cache then holds, and whether both say
    the same token."""
    model, length = smollm.reader().model, setting["length"]
    tokens = smollm.text(2 * setting["seed"], length + 1)[1]
    caches = smollm.after(tokens, length)
    model(tokens[:, :1])  # so that nothing is measured which the first call alone does
    start = time.process_time()
    with_cache = model(tokens[:, length:], caches=caches)
    middle = time.process_time()
    without = model(tokens)
    end = time.process_time()
    return {
        "with": round(middle - start, 4),
        "without": round(end - middle, 4),
        "bytes": sum(each.nbytes for each in caches),
        "same": bool(with_cache[0, -1].argmax() == without[0, -1].argmax()),
    }


def results(runs: list[dict]) -> dict:
    """Bytes a token, and for each length the seconds of a token both ways."""
    rows = []
    for same, group in record.grouped(runs, ["length"]):
        seconds = {name: statistics.median(run[name] for run in group) for name in
                   ("with", "without")}  # fmt: skip
        rows.append({
            **same,
            **seconds,
            "ratio": round(seconds["without"] / seconds["with"], 1),
            "bytes": group[0]["bytes"],
            "same": all(run["same"] for run in group),
        })  # fmt: skip
    a_token = 2 * smollm.LAYERS * smollm.HEAD_DIM * 4  # keys and values, in float32
    return {
        "model": smollm.NAME,
        "bytes_a_token": a_token * smollm.KV_HEADS,
        "bytes_a_token_ungrouped": a_token * smollm.HEADS,
        "rows": rows,
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("kv_cache", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
