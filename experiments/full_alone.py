"""The doubter's control of `porter`: its full layer with nothing below it.

    python -m experiments.full_alone            6 runs, a minute of one CPU core
    python -m experiments.full_alone --quick    one run of a few updates, in seconds

Two designs of `porter` have a layer that forgets below a full one. Here the full layer is alone, so
what it answers needs no other.
"""

from experiments import _record as record
from experiments import porter

DESIGN, UPDATES = "one full layer", 400


def settings(quick: bool) -> list[dict]:
    """Every rate and seed, seeds outermost; with `quick`, one rate and few updates."""
    return [
        {"design": DESIGN, "updates": 5 if quick else UPDATES, "rate": rate, "seed": seed}
        for seed in porter.SEEDS
        for rate in ((porter.LOW,) if quick else porter.DONE[UPDATES])
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("full_alone", __doc__, argv),
        settings=settings,
        measure=porter.measure,
        results=lambda runs: {
            "task": porter.task(porter.PLACES),
            "training": porter.trained(runs),
            "rows": porter.summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
