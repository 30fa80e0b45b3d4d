"""What SmolLM2-135M-Instruct loses when its rotary positions are moved, spread or taken away.

    python -m experiments.turned            five minutes of one core
    python -m experiments.turned --quick    two texts, in half a minute

Fifty texts of 96 tokens. Their positions are moved by 7,000, spread by 2 and by 8, or left out; and
the pairs of features that are turned together are taken as "half" in place of "interleaved", which
is what a loader does that trusts the wrong convention.
"""

import torch

from attnkit.positions import rotary
from experiments import _record as record
from experiments import _smollm as smollm

TEXTS, LENGTH = 50, 96
CHANGES = {
    "plain": "own",
    "moved by 7,000": smollm.shifted(7000),
    "spread by 2": smollm.spread(2),
    "spread by 8": smollm.spread(8),
    "none": None,
    "halves": lambda x, offset: rotary(x, offset, base=smollm.BASE, layout="half"),
}


def settings(quick: bool) -> list[dict]:
    """One for each text; the seed is the text's number."""
    return [{"seed": text} for text in range(2 if quick else TEXTS)]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Mean nats a token under each change."""
    kind, tokens = smollm.text(setting["seed"], LENGTH)
    found = {"kind": kind}
    for name, rotate in CHANGES.items():
        states = smollm.read(tokens, rotate=rotate).states[:, -1]
        found[name] = round(smollm.losses(states, tokens).mean().item(), 6)
    return found


def results(runs: list[dict]) -> dict:
    """Nats under each change, and the largest difference to the plain reading."""
    rows = []
    for name in CHANGES:
        nats = [run[name] for run in runs]
        away = [run[name] - run["plain"] for run in runs]
        rows.append({
            "positions": name,
            "nats": record.median_interval(nats),
            "mean": round(sum(nats) / len(nats), 4),
            "more": record.median_interval(away),
            "farthest": round(max(map(abs, away)), 6),
            "worse": sum(each > 0 for each in away),
        })  # fmt: skip
    return {"model": smollm.NAME, "texts": len(runs), "length": LENGTH, "rows": rows}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("turned", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
