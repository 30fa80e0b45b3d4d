"""The experiment of `norms` at more depths: does post-norm need warm-up once there are many layers?

    python -m experiments.norms_deeper            72 runs, about 25 minutes of one core
    python -m experiments.norms_deeper --quick    tiny, to see that it runs

The same task, width, updates and middle rate as in `norms`, with 2, 6, 12 and 18 layers a side, and
besides with no norm at all.
"""

from collections.abc import Sequence

from experiments import _record as record
from experiments import norms

DEPTHS, SEEDS, RATE = (2, 6, 12, 18), (0, 1, 2), 0.002
NORMS = (*norms.NORMS, "none")
GROUP = ("layers", "norm", "warm_up")


def settings(quick: bool) -> list[dict]:
    """Every depth, norm, schedule and seed; with `quick`, the smallest depths and few updates."""
    sizes = {"steps": 4, "tested": 20} if quick else {"steps": 300, "tested": 500}
    return [
        {"layers": layers, "norm": norm, "warm_up": warm_up, "rate": RATE, "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for layers in ((1, 2) if quick else DEPTHS)
        for norm in NORMS
        for warm_up in (False, True)
    ]


def summarise(runs: Sequence[dict], names: Sequence[str] = GROUP) -> list[dict]:
    """One row for each setting of these names, over seeds."""
    return [
        {
            **same,
            "loss": record.median_interval([run["loss"] for run in group]),
            "losses": [run["loss"] for run in group],
        }
        for same, group in record.grouped(runs, names)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("norms_deeper", __doc__, argv),
        settings=settings,
        measure=norms.measure,
        results=lambda runs: {
            "steps": runs[0]["steps"],
            "rate": RATE,
            "training": norms.trained(runs, GROUP),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
