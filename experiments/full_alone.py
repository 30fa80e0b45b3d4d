"""The doubter's control of `porter`: its full layer with nothing below it.

    python -m experiments.full_alone            6 runs, half a minute of one CPU core
    python -m experiments.full_alone --quick    a few updates, in seconds

Two designs there have a layer that forgets below a full one. Here the full layer is alone, so what
it answers needs no other. It is trained as long as full attention there.
"""

from experiments import _record as record
from experiments import porter

DESIGN, UPDATES = "one full layer", 400
RATES = (porter.LOW, porter.MIDDLE)


def settings(quick: bool) -> list[dict]:
    """Every rate and seed; with `quick`, one rate and few updates."""
    return [
        {"design": DESIGN, "updates": 5 if quick else UPDATES, "rate": rate, "seed": seed}
        for seed in (porter.SEEDS[:2] if quick else porter.SEEDS)
        for rate in (RATES[:1] if quick else RATES)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("full_alone", __doc__, argv),
        settings=settings,
        measure=porter.measure,
        results=lambda runs: {
            "training": porter.trained(runs),
            "rows": porter.summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
