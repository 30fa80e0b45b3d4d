"""What the root does in chapter 05, one half at a time: a smaller start, or a smaller step.

    python -m experiments.scales_halves            150 runs, about two minutes of one CPU core
    python -m experiments.scales_halves --quick    a few of them, in seconds

The lookup and the model of `scales`, undivided, with SGD. To divide scores by sqrt(d) is to start
the query and key matrices smaller by a factor of d^(1/4) and to divide their learning rate by
sqrt(d): the same scores and the same updates. Here each half is done without the other. Beside
them are T5's start, which makes the query matrix smaller by sqrt(d) and nothing else, the whole
root, and neither half but gradients clipped to norm 1. A run that breaks does not come back in the
2,000 updates of `scales`, so these stop at 500.
"""

import torch
from torch import nn

from experiments import _record as record
from experiments import scales

HALVES = {
    "start": (0.25, 0.25, 0.0),
    "step": (0.0, 0.0, 0.5),
    "T5": (0.5, 0.0, 0.0),
    "root": (0.25, 0.25, 0.5),
    "clipped": (0.0, 0.0, 0.0),
}
"""By which power of d the start of W_q, that of W_k, and the learning rate of both are divided."""
DIMS, RATES = (16, 256), (0.3, 0.5, 0.7, 1.0, 3.0)
UPDATES, AT = 500, (250, 500)
GROUP = ("d", "half", "rate")


def halved(
    d: int, powers: tuple[float, float, float], rate: float
) -> tuple[scales.Lookup, torch.optim.Optimizer]:
    """A model that divides nothing, and its optimizer, by the powers of d of one of HALVES."""
    query, key, step = (d**-power for power in powers)
    model = scales.Lookup(d, 1.0)
    looking = [model.query.weight, model.key.weight]
    with torch.no_grad():
        for weight, factor in zip(looking, (query, key), strict=True):
            weight *= factor
    others = [p for p in model.parameters() if all(p is not weight for weight in looking)]
    groups = [{"params": looking, "lr": rate * step}, {"params": others}]
    return model, torch.optim.SGD(groups, lr=rate)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model with a part of the root, or clipped, and say what `scales.train` does."""
    torch.manual_seed(setting["seed"])
    model, optimizer = halved(setting["d"], HALVES[setting["half"]], setting["rate"])
    if setting["half"] == "clipped":

        def clip(*_) -> None:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)

        optimizer.register_step_pre_hook(clip)
    return scales.train(model.to(device), optimizer, setting, at=AT)


def settings(quick: bool) -> list[dict]:
    """Every width, half, learning rate and seed."""
    return [
        {"d": d, "half": half, "rate": rate, "seed": seed, "updates": 40 if quick else UPDATES}
        for d in (DIMS[:1] if quick else DIMS)
        for half in HALVES
        for rate in (RATES[:1] if quick else RATES)
        for seed in (scales.SEEDS[:2] if quick else scales.SEEDS)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("scales_halves", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "updates": runs[0]["updates"],
            "training": record.training(
                [
                    {**run, "updates": at, "right": run["accuracy"][str(at)]}
                    for run in runs
                    for at in AT
                ],
                ("d", "half"),
                score=lambda run: run["right"],
                of="held-out lookups right, a run that arrives ending there",
                updates="updates",
            ),
            "goal": scales.GOAL,
            "rows": scales.summarise(runs, GROUP),
        },
    )


if __name__ == "__main__":
    main()
