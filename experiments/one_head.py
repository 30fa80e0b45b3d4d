"""One head after all? What a second layer does for it, and a small network: controls of chapter 08.

    python -m experiments.one_head            24 runs, about three minutes on one CPU core
    python -m experiments.one_head --quick    four of them, in seconds

The task and the training are those of `experiments.heads`. In a reader of two layers, what a word
has brought in the first is set to zero: at "not", everywhere else, or everywhere. Its rows of
weights are averaged over new pairs without "let", whose commands stand around "not" alike. The
small network is one hidden layer between the one head and its read-outs, which are then no longer
linear.
"""

import torch
from torch import Tensor

from attnkit import trace
from experiments import _record as record
from experiments import heads
from experiments._training import parameters

VARIANTS = {
    "two layers": {"heads": 1, "layers": 2},
    "a small network": {"heads": 1, "hidden": 64},
}
PLAN = {"two layers": heads.RATES[2:], "a small network": heads.RATES}
UPDATES, SEEDS = (400, 1600), (0, 1, 2)
OFF = ("nothing", "the first look of not", "all other first looks", "the first layer")
ROW = ("variant", "updates", "rate")


def settings(quick: bool) -> list[dict]:
    """Every variant, budget, rate and seed."""
    return [
        {"variant": variant, "seed": seed, "updates": updates, "rate": rate}
        for updates in ((20,) if quick else UPDATES)
        for variant, rates in PLAN.items()
        for rate in (rates[-1:] if quick else rates)
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


@torch.no_grad()
def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return the shares of sentences with both commands named correctly, and of
    two layers what is left without parts of the first, and where they look."""
    given = words, commands, at_not, held_out, _ = heads.corpus(device)
    with torch.enable_grad():
        model = heads.train(given, setting, VARIANTS[setting["variant"]])

    def right(rows: Tensor) -> float:
        hit = model(words[rows], at_not[rows]).argmax(-1) == commands[rows]  # (B, 2)
        return hit.all(-1).float().mean().item()

    found = {
        "parameters": parameters(model),
        "known": right(~held_out),
        "held_out": right(held_out),
    }
    if setting["variant"] == "two layers":
        found["without"] = {off: right_without(model, right, at_not, held_out, off) for off in OFF}
        plain = held_out & (commands != heads.VERBS.index("let")).all(-1)
        found["looks"] = looks(model, words[plain], at_not[plain])
    return found


def right_without(model, right, at_not: Tensor, held_out: Tensor, off: str) -> float:
    """`right` of the held-out sentences with a part of what the first layer brings set to zero."""
    at = at_not[held_out][:, None, None]  # (B, 1, 1)

    def cut(_, __, attended):
        here = torch.arange(attended.output.shape[1])[None, :, None].to(at) == at  # (B, L, 1)
        gone = {OFF[0]: here & False, OFF[1]: here, OFF[2]: ~here, OFF[3]: here | True}[off]
        return attended._replace(output=attended.output.masked_fill(gone, 0.0))

    handle = model.attention[0].register_forward_hook(cut)
    left = right(held_out)
    handle.remove()
    return left


def looks(model, words: Tensor, at_not: Tensor) -> dict:
    """Mean weights: of the left command on the right one in the first layer, of "not" on the left
    one in the second. The left command stands two words before "not", the right one right after."""
    with trace.record(model) as calls:
        model(words, at_not)
    first, second = (call["weights"][:, 0] for call in calls)  # (B, L, L)
    every = torch.arange(len(words))
    return {
        "left on right, first layer": first[every, at_not - 2, at_not + 1].mean().item(),
        "not on left, second layer": second[every, at_not, at_not - 2].mean().item(),
    }


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each variant, budget and rate."""
    rows = []
    for row, group in record.grouped(runs, ROW):
        row["parameters"] = group[0]["parameters"]
        row |= record.median_intervals(group, ("known", "held_out"))
        for name in ("without", "looks"):
            if name in group[0]:
                row[name] = record.median_intervals([run[name] for run in group])
        rows.append(row)
    return rows


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("one_head", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "training": record.training(
                runs,
                ("variant",),
                score=lambda run: run["held_out"],
                of="held-out sentences with both readings right",
                updates="updates",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
