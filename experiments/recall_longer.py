"""The recall of chapter 14, trained three times as long: does what was not learned come late?

    python -m experiments.recall_longer            15 runs, about six minutes of one CPU core
    python -m experiments.recall_longer --quick    two forms, two seeds, a few updates, in seconds

On the budget of `recall` the window and the blocks answer only part of what they see directly. Here
the same models are trained on the same task with the same seeds for three times the updates, at 16
pairs; full attention, which answered everything before, is left out.
"""

from experiments import _record as record
from experiments import recall

FORMS, PAIRS, UPDATES = ("window", "blocks", "linear"), 16, 3 * recall.UPDATES


def settings(quick: bool) -> list[dict]:
    """Every form and seed; with `quick`, a few of them."""
    return [
        {"form": form, "pairs": PAIRS, "seed": seed, "updates": 5 if quick else UPDATES}
        for form in (FORMS[:2] if quick else FORMS)
        for seed in (recall.SEEDS[:2] if quick else recall.SEEDS)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("recall_longer", __doc__, argv),
        settings=settings,
        measure=recall.measure,
        results=lambda runs: {
            "updates": runs[0]["updates"],
            "rows": recall.summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
