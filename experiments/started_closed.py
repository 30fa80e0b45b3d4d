"""Whether rows that are closed before training starts still learn where to look.

    python -m experiments.started_closed            six runs, three minutes of one core
    python -m experiments.started_closed --quick    tiny, to see that it runs

The lookup and the model of `collapse`, without a remedy, at the rate that is low enough. What
differs is the start: the weights and biases that make queries and keys are multiplied by a factor,
so that scores are its square times as large and the rows closed before the first update.
"""

import torch

from experiments import _record as record
from experiments import collapse

FACTORS = {4: 640, 8: 2560}
"""Of queries and keys, each with its updates: the first is at its end by then."""


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model from larger queries and keys: effective keys a row and accuracy by update."""
    torch.manual_seed(setting["seed"])
    model = collapse.Model()
    with torch.no_grad():
        for block in model.blocks:
            for part in block.attention.project.parameters():
                part[: 2 * collapse.WIDTH] *= setting["factor"]  # queries and keys, not values
    return collapse.train(model, setting, device=device)


def settings(quick: bool) -> list[dict]:
    """Every factor and seed."""
    return [
        {"factor": factor, "rate": collapse.LOW, "seed": seed, "steps": 4 if quick else steps}
        for seed in (collapse.SEEDS[:2] if quick else collapse.SEEDS)
        for factor, steps in FACTORS.items()
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each factor: medians over seeds at each budget, and the curves."""
    return [
        {
            **same,
            "at": [
                {**budget, **record.median_intervals(alike, ("keys", "accuracy", "loss"))}
                for budget, alike in record.grouped(collapse.at_budgets(group), ("steps",))
            ],
            "curves": [run["curve"] for run in group],
        }
        for same, group in record.grouped(runs, ("factor", "rate"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("started_closed", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "rate": collapse.LOW,
            "training": record.training(
                collapse.at_budgets(runs),
                ("factor", "rate"),
                score=lambda run: run["accuracy"],
                of="right answers",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
