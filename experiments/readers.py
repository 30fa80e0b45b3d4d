"""One step of SmolLM2-135M-Instruct for several readers at once: how long, by their number?

    python -m experiments.readers            a minute of one core
    python -m experiments.readers --quick    fewer readers, in seconds

Each reader has a text of 256 tokens in caches of its own, and all take their next token in one
call. CPU seconds of one thread in float32; the least of a few steps, since whatever else runs on
the machine only adds.
"""

import time

import torch

from experiments import _record as record
from experiments import _smollm as smollm

LENGTH, STEPS = 256, 4
READERS = (1, 2, 4, 8, 16, 32)


def settings(quick: bool) -> list[dict]:
    """One for each number of readers and try."""
    return [
        {"readers": n, "length": 16 if quick else LENGTH, "seed": seed}
        for n in (READERS[:2] if quick else READERS)
        for seed in range(2 if quick else 3)
    ]


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Seconds of a step for all readers, and the bytes of all their caches."""
    model, length, readers = smollm.reader().model, setting["length"], setting["readers"]
    tokens = smollm.text(2 * setting["seed"], length + STEPS + 1)[1]
    rows = torch.zeros(readers, dtype=torch.long)
    caches = [each.select(rows) for each in smollm.after(tokens, length)]
    took = []
    for n in range(length, length + STEPS + 1):
        start = time.process_time()
        model(tokens[rows, n : n + 1], caches=caches)
        took.append(time.process_time() - start)
    # The first step makes room in the caches and is left out.
    return {"seconds": round(min(took[1:]), 4), "bytes": sum(each.nbytes for each in caches)}


def results(runs: list[dict]) -> dict:
    """Of each number of readers the seconds of a step."""
    weights = sum(p.nbytes for p in smollm.reader().model.parameters())
    return {
        "model": smollm.NAME,
        "weight_bytes": weights,
        "rows": [
            {
                **same,
                "bytes": group[0]["bytes"],
                "seconds": record.median_interval([run["seconds"] for run in group]),
            }
            for same, group in record.grouped(runs, ["readers", "length"])
        ],
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("readers", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
