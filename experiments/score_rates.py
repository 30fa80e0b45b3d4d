"""Is it the score or the learning rate? Five models of `by_length`, at every rate of one grid.

    python -m experiments.score_rates            30 runs, about 20 minutes of one core
    python -m experiments.score_rates --quick    a few updates, to see that it runs

`by_length` trains each of its recurrent models at one rate. Here those with attention get the other
rates of the grid, on `toy_french`; all else is `by_length`: models, data, updates and tests.
"""

from functools import partial

from attnbook import recorded
from experiments import _record as record
from experiments import by_length

RATES, SEEDS = (0.002, 0.004, 0.008), (0, 1, 2)
MODELS = ("dot", "general", "concat", "additive", "dot, input feeding")
TASK = "toy_french"

measure = partial(by_length.measure, command="", save=False)


def settings(quick: bool) -> list[dict]:
    """All models, seeds, and rates that `by_length` does not have; seeds outermost."""
    return [
        setting | {"rate": rate}
        for setting in by_length.settings(TASK, quick)
        if setting["model"] in MODELS and setting["seed"] in SEEDS
        for rate in RATES
        if rate != by_length.RATES.get(setting["model"], by_length.RATE)
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each model and rate, with its runs."""
    return [same | {"runs": group} for same, group in record.grouped(runs, ("model", "rate"))]


def trained(runs: list[dict], *, quick: bool) -> list[dict]:
    """Over all rates: that of `by_length` comes from its file."""
    rows = [] if quick else recorded.results(f"by_length_{TASK}")["rows"]
    usual = [
        run for row in rows if row["model"] in MODELS for run in row["runs"] if run["seed"] in SEEDS
    ]
    return by_length.trained([*runs, *usual])


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("score_rates", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": TASK,
            "training": trained(runs, quick=chosen.quick),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
