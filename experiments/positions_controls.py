"""Which clocks the rotary models of `positions` count with, and what their base does.

    python -m experiments.positions_controls            60 runs, about ten minutes of one core
    python -m experiments.positions_controls --quick    tiny, to see that it runs

The base of rotary positions (`rope_theta` in configurations) sets how slow the slow clocks are. It
is varied on all tasks in the models of `positions`, whose heads have eight clocks each. One layer
with a single head of 32 clocks learns `back` as well: at the same base, more of them are fast.

In models trained at a base of 10,000 clocks are silenced, which means that their features of
queries and keys are set to 0, and the accuracy is measured again. Of eight clocks, counted from 0,
2 to 4 show new angles in longer texts; 0 and 1 are the fastest. And for `back` it is counted how
often the last answer in a long text is the symbol so many places back.
"""

import torch
from torch import Tensor, nn

from experiments import _record as record
from experiments import positions

BASES, USUAL = (100.0, 10_000.0, 500_000.0), 10_000.0
TWO_LAYERS = {name: positions.SIZES[f"num_{name}"] for name in ("layers", "heads")}
WIDE = {"task": "back", "layers": 1, "heads": 1, "base": USUAL}
SILENCED = {"none": (), "2 to 4": (2, 3, 4), "all but 0 and 1": range(2, 32), "0 and 1": (0, 1),
            "all but 0 to 3": range(4, 32), "0 to 3": range(4)}  # fmt: skip
UPDATES = (300, 1200)
LONG, DRAWN = 64, 1024  # tokens, and texts, for what the answers are
ROW = ("task", "layers", "heads", "base", "updates", "rate")


def silence(model: positions.Reader, clocks: tuple[int, ...]) -> torch.utils.hooks.RemovableHandle:
    """Set these clocks of all heads to 0 until the handle is removed."""

    def cut(rotary: nn.Module, given: tuple, turned: Tensor) -> Tensor:  # (B, H, L, D)
        pairs = turned.unflatten(-1, (-1, 2)).clone()
        pairs[..., [clock for clock in clocks if clock < pairs.shape[-2]], :] = 0
        return pairs.flatten(-2)

    return model.scheme.rotary.register_forward_hook(cut)


@torch.no_grad()
def named(model: positions.Reader, seed: int, device: torch.device) -> list[float]:
    """How often the last answer in a long text is the symbol 0, 1, 2, ... places back."""
    generator = torch.Generator().manual_seed(3_000_000 + seed)
    symbols, _ = (part.to(device) for part in positions.batch("back", DRAWN, LONG, generator))
    answer = model(symbols)[:, -1].argmax(-1, keepdim=True)  # (B, 1)
    return (symbols == answer).float().mean(0).flip(0).tolist()


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy by what is silenced and by length, and its answers."""
    model, seconds = positions.trained({"positions": "rotary", **setting}, device=device)
    found = {"cpu_seconds": seconds, "accuracy": {}}
    for name in SILENCED if setting["base"] == USUAL else ("none",):
        handle = silence(model, SILENCED[name])
        found["accuracy"][name] = positions.accuracies(model, setting, device=device)
        handle.remove()
    if setting["task"] == "back":
        found["named"] = named(model, setting["seed"], device)
    return found


def settings(quick: bool) -> list[dict]:
    """Every seed, number of updates, base and task, and the wide head."""
    cases = [{"task": task, **TWO_LAYERS, "base": base}
             for task in positions.TASKS for base in BASES] + [WIDE]  # fmt: skip
    return [
        {**case, "updates": updates, "rate": positions.RATE, "seed": seed}
        for updates in ((10,) if quick else UPDATES)
        for seed in (positions.SEEDS[:2] if quick else positions.SEEDS)
        for case in (cases[-2:] if quick else cases)
    ]


def row(same: dict, group: list[dict]) -> dict:
    """The medians of one group's accuracy by what is silenced, and of its answers by distance."""
    found = {
        name: record.median_intervals([run["accuracy"][name] for run in group])
        for name in group[0]["accuracy"]
    }
    answers = [run["named"] for run in group if "named" in run]
    back = [record.median_interval(shares)["median"] for shares in zip(*answers, strict=True)]
    return {**same, "accuracy": found, "named": back}


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("positions_controls", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "training": record.training(
                [{**run, "at": run["accuracy"]["none"][str(LONG)]} for run in runs],
                ("task", "layers", "heads", "base"),
                score=lambda run: run["at"],
                of=f"right at length {LONG}",
                updates="updates",
            ),
            "rows": [row(same, group) for same, group in record.grouped(runs, ROW)],
        },
    )


if __name__ == "__main__":
    main()
