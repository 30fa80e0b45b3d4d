"""Is it the look? Two controls of `by_length`: one vector at every step; a look without a choice.

    python -m experiments.look_controls            six runs, about four minutes of one core
    python -m experiments.look_controls --quick    a few updates, to see that it runs

The fixed vector of `by_length` is there once, as the first state. Here it comes from an encoder
that reads in both directions, as that of attention does, and is joined to every step's input. The
other control is additive attention without its tanh: the query's part of the score is then the
same for every word, so the softmax cannot see it, and each sentence has one ranking of its words.
Data, updates, rate, size and tests are those of `by_length`.
"""

from functools import partial

from experiments import _record as record
from experiments import by_length

SEEDS, TASK = (0, 1, 2), "toy_french"

measure = partial(by_length.measure, command="", save=False)


def settings(quick: bool) -> list[dict]:
    """Both controls; seeds outermost."""
    return [
        setting | {"model": name}
        for setting in by_length.settings(TASK, quick)
        if setting["model"] == "additive" and setting["seed"] in SEEDS
        for name in by_length.CONTROLS
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("look_controls", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": TASK,
            "trained_to": by_length.LONGEST[TASK],
            "budget": by_length.PARAMETERS[TASK],
            "training": by_length.trained(runs),
            "rows": by_length.summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
