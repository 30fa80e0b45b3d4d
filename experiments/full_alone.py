"""The doubter's control of `porter` and `porter_larger`: their full layer with nothing below it.

    python -m experiments.full_alone            12 runs, ten minutes of one CPU core
    python -m experiments.full_alone --quick    a few updates, in seconds

Two designs there have a layer that forgets below a full one. Here the full layer is alone, so what
it answers needs no other. Both lengths are trained as long as there.
"""

from collections.abc import Callable

from experiments import _record as record
from experiments import porter, porter_larger

DESIGN = "one full layer"
UPDATES = {porter.PLACES: 400, porter_larger.PLACES: porter_larger.UPDATES}
RATES = (porter.LOW, porter.MIDDLE)


def settings(quick: bool) -> list[dict]:
    """Every length, rate and seed, seeds outermost; with `quick`, one rate and few updates."""
    budgets, rates = ({16: 5, 32: 5}, RATES[:1]) if quick else (UPDATES, RATES)
    return [
        {"design": DESIGN, "places": places, "updates": updates, "rate": rate, "seed": seed}
        for seed in (porter.SEEDS[:2] if quick else porter.SEEDS)
        for places, updates in budgets.items()
        for rate in rates
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("full_alone", __doc__, argv),
        settings=settings,
        measure=porter.measure,
        results=lambda runs: {
            "training": by_places(runs, lambda group, _: porter.trained(group)),
            "rows": by_places(runs, porter.summarise),
        },
    )


def by_places(runs: list[dict], told: Callable[[list[dict], int], list[dict]]) -> list[dict]:
    """What is `told` of the runs of each length, with that length."""
    return [
        same | entry
        for same, group in record.grouped(runs, ("places",))
        for entry in told(group, same["places"])
    ]


if __name__ == "__main__":
    main()
