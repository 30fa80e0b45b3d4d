"""The recall of chapter 14 with states of other sizes: does a larger state hold more?

    python -m experiments.recall_states            10 runs, about two minutes of one CPU core
    python -m experiments.recall_states --quick    one size, two seeds, a few updates, in seconds

Linear attention keeps, in each head, a state of F x 16 + F numbers for keys of F features. Here the
models of `recall` learn to recall all of 32 pairs with keys of 4 and of 64 features; `recall` has
those of 16. Everything else is as wide as there, the values too, and the budget is the same.
"""

from experiments import _record as record
from experiments import recall

FEATURES, PAIRS, UPDATES = (4, 64), 32, recall.UPDATES


def settings(quick: bool) -> list[dict]:
    """Every number of features and seed; with `quick`, a few of them."""
    return [
        {
            "form": "linear",
            "features": features,
            "pairs": PAIRS,
            "seed": seed,
            "updates": 5 if quick else UPDATES,
        }
        for features in (FEATURES[:1] if quick else FEATURES)
        for seed in (recall.SEEDS[:2] if quick else recall.SEEDS)
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each number of features: size of the state, median and interval over seeds."""
    value_dim = recall.EMBED_DIM // recall.HEADS
    return [
        {
            **same,
            "state": same["features"] * (value_dim + 1),
            "accuracy": record.median_interval([run["accuracy"] for run in group]),
        }
        for same, group in record.grouped(runs, ("features", "pairs"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("recall_states", __doc__, argv),
        settings=settings,
        measure=recall.measure,
        results=lambda runs: {"updates": runs[0]["updates"], "rows": summarise(runs)},
    )


if __name__ == "__main__":
    main()
