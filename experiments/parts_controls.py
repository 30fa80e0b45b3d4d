"""The models of `parts` without feed-forward networks, made as large as the whole one, or without
norms as well.

    python -m experiments.parts_controls            24 runs, about two minutes of one core
    python -m experiments.parts_controls --quick    tiny, to see that it runs

Without feed-forward networks a model of `parts` has a third of the numbers to learn; with 54
features instead of 32 it has as many as the whole one, to 3%. And without norms, of attention
nothing but the softmax is left that is not linear in what it reads.
"""

from experiments import _record as record
from experiments import parts

MODELS = (("feed-forward", 54), ("feed-forward and norms", parts.SIZE))
UPDATES = (250, 1000)


def settings(quick: bool) -> list[dict]:
    """Every seed, model, rate and number of updates."""
    return [
        {"without": without, "size": size, "updates": updates, "rate": rate, "seed": seed}
        for seed in (parts.SEEDS[:2] if quick else parts.SEEDS)
        for without, size in MODELS
        for rate in parts.RATES
        for updates in ((5, 10) if quick else UPDATES)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("parts_controls", __doc__, argv),
        settings=settings,
        measure=parts.measure,
        results=lambda runs: {
            "training": record.training(
                runs,
                ("without", "size"),
                score=lambda run: run["right"],
                of="share of right answers",
                updates="updates",
            ),
            "rows": parts.summarise(runs, ("without", "size")),
        },
    )


if __name__ == "__main__":
    main()
