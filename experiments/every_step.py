"""The control of `bottleneck`: its one vector, which the decoder reads again at every step.

    python -m experiments.every_step            13 runs, about five minutes of one CPU core
    python -m experiments.every_step --quick    tiny, to see that it runs

All else is as for the fixed vector of `bottleneck`, which is there once, as the first state; what
looks back reads something at every step.
"""

from experiments import _record as record
from experiments import bottleneck

MODEL, TASK = "every step", "reverse"
BUDGETS = {500: bottleneck.RATES, 2000: (bottleneck.RATE,), 8000: (bottleneck.RATE,)}

measure = bottleneck.measure


def settings(quick: bool) -> list[dict]:
    """Every seed, number of updates and rate; the longest budget with one seed, as there."""
    sizes = {"longest": bottleneck.LONGEST, "most": 8 if quick else bottleneck.TESTED,
             "tested": 10 if quick else 500}  # fmt: skip
    return [
        {"task": TASK, "model": MODEL, "width": 16 if quick else bottleneck.WIDTH, "steps": steps,
         "rate": rate, "seed": seed, **sizes}
        for seed in ((0, 1) if quick else bottleneck.SEEDS)
        for steps, rates in ({3: (bottleneck.RATE,)} if quick else BUDGETS).items()
        for rate in rates
        if steps < 8000 or not seed
    ]  # fmt: skip


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("every_step", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "trained_to": runs[0]["longest"],
            "training": bottleneck.trained(runs),
            "rows": bottleneck.summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
