"""The porter of `porter` with four times the places: up to 256 names to keep apart.

    python -m experiments.porter_larger            39 runs, two hours of one CPU core
    python -m experiments.porter_larger --quick    two designs, a few updates, in seconds

256 places hold 16 to 256 pairs of 512 names. A state keeps as many bytes as before, and a cache
four times as many. After 1,600 updates only full attention has learned the task, at the rate that
served it best in `porter`; so what keeps something of every pair is given four times as many, and
one full layer alone is the doubter's control of the mixtures.
"""

from experiments import _record as record
from experiments import porter

PLACES = 256
ONCE, LONGER = 1600, 6400
# The learning rates that are tried, by design and updates.
PLAN = {
    "full": {ONCE: (porter.MIDDLE,)},
    "one full layer": dict.fromkeys((ONCE, LONGER), (porter.LOW, porter.MIDDLE)),
    "window, then full": dict.fromkeys((ONCE, LONGER), (porter.LOW,)),
    "latent": dict.fromkeys((ONCE, LONGER), (porter.LOW,)),
    "linear": {ONCE: (porter.MIDDLE,)},
    "gated delta": {ONCE: (porter.MIDDLE,)},
    "gated delta, then full": dict.fromkeys((ONCE, LONGER), (porter.MIDDLE,)),
}


def settings(quick: bool) -> list[dict]:
    """Every design, budget, rate and seed, seeds outermost; with `quick`, two designs."""
    plan = {one: {5: (porter.MIDDLE,)} for one in ("full", "gated delta")} if quick else PLAN
    return [
        {"design": design, "rate": rate, "seed": seed, "places": 32 if quick else PLACES,
         "updates": updates}
        for seed in (porter.SEEDS[:2] if quick else porter.SEEDS)
        for design, budgets in plan.items()
        for updates, rates in budgets.items()
        for rate in rates
    ]  # fmt: skip


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("porter_larger", __doc__, argv),
        settings=settings,
        measure=porter.measure,
        results=lambda runs: {
            "task": porter.task(runs[0]["places"]),
            "training": porter.trained(runs),
            "rows": porter.summarise(runs, runs[0]["places"]),
        },
    )


if __name__ == "__main__":
    main()
