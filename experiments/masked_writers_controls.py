"""Two more writers that see their answers: one word too far, and with the padding in view as well.

    python -m experiments.masked_writers_controls            14 runs, a minute of one CPU core
    python -m experiments.masked_writers_controls --quick    tiny, to see that it runs

The writer without a mask of `masked_writers` falls silent. Does one whose mask reaches one word too
far? And one from which nothing at all is hidden, so that the last word too has something after it?
Each has the updates and the rate of the writers that are kept. With them goes what the first word
of a sentence costs whoever knows how often each begins one: no honest loss is below it.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import torch

from experiments import _record as record
from experiments import masked_writers as writers

SEEDS = range(7)


def settings(quick: bool) -> list[dict]:
    """Every seed of both writers."""
    sizes = {"known": 500, "tested": 20, "texts": 5} if quick else {"known": 8000, "tested": 300}
    steps, rate = (2 if quick else writers.SHIPPED[0]), writers.SHIPPED[1]
    return [
        {"writer": name, "steps": steps, "rate": rate, "seed": seed, **sizes}
        for name in writers.CONTROLS
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def first_words(sentences: Sequence[Sequence[str]]) -> dict:
    """How many there are, and their entropy in nats."""
    counts = Counter(sentence[0] for sentence in sentences)
    shares = torch.tensor(list(counts.values())).double() / len(sentences)
    return {"words": len(counts), "nats": round(-(shares * shares.log()).sum().item(), 4)}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("masked_writers_controls", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=partial(writers.measure, command=chosen.command, save=False),
        results=lambda runs: {
            "first_words": first_words(writers.corpus(runs[0]["known"], runs[0]["tested"])[1]),
            "length": runs[0]["length"],
            "training": writers.trained(runs),
            "rows": [
                {
                    **same,
                    "silent": [run["silent"] for run in group],
                    **record.median_intervals(group, ("usual", "honest", "written")),
                }
                for same, group in record.grouped(runs, ("writer",))
            ],
        },
    )


if __name__ == "__main__":
    main()
