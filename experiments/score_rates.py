"""Is it the score or the learning rate? Dot and general at the rate that the other one had.

    python -m experiments.score_rates            10 runs, about four minutes of one core
    python -m experiments.score_rates --quick    a few updates, to see that it runs

`by_length` trains general at half the rate of the others. Here dot and general each get the rate
that they did not have there, on `toy_french`; all else is `by_length`: models, data, updates and
tests.
"""

from unittest.mock import patch

import torch

from experiments import _record as record
from experiments import by_length

RATES = {"dot": 0.002, "general": 0.004}
TASK = "toy_french"


def settings(quick: bool) -> list[dict]:
    """Both scores and all seeds; seeds outermost."""
    return [
        setting | {"rate": RATES[setting["model"]]}
        for setting in by_length.settings(TASK, quick)
        if setting["model"] in RATES
    ]


def measure(setting: dict, *, device: torch.device) -> dict:
    """As `by_length`, at another rate."""
    with patch.dict(by_length.RATES, {setting["model"]: setting["rate"]}):
        return by_length.measure(setting, device=device, command="", save=False)


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each score, with its runs."""
    return [same | {"runs": group} for same, group in record.grouped(runs, ("model", "rate"))]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("score_rates", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {"task": TASK, "rows": summarise(runs)},
    )


if __name__ == "__main__":
    main()
