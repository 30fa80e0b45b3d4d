"""Does the answer depend on the name? The models of `looking_back`, asked for every name of a list.

    python -m experiments.asked_for            6 runs, about half a minute on one CPU core
    python -m experiments.asked_for --quick    two short ones, in seconds

A list of eight pairs has eight questions. Of each model after 500 updates: how many lists it
answers with the same number whatever the name, how many of its answers are a number most frequent
on the list, and how many are right. Of the model that looks back: the weight on the pair that is
asked for. The first list is kept with all weights and answers, for a figure.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import trace
from experiments import _record as record
from experiments import looking_back as task
from experiments._training import parameters

GROUP = ("model", "width", "updates", "rate")


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model and ask it for every name of many lists."""
    start = time.process_time()
    model = task.train(setting, device)
    took = {"parameters": parameters(model), "cpu_seconds": round(time.process_time() - start, 1)}
    return took | asked(setting["model"], model, device)


@torch.no_grad()
def asked(kind: str, model: task.Recall, device: torch.device) -> dict:
    """What a trained model says and weighs, asked for every name of many lists."""
    pairs = task.MOST
    generator = torch.Generator().manual_seed(1_000_000 + pairs)
    drawn = task.draw(task.HELD_OUT, pairs, generator)
    names, numbers = (part.to(device) for part in drawn[:2])
    places = [torch.full_like(names[:, :1], place) for place in range(pairs)]
    with trace.record() as calls:  # of the lookup, one for each name
        answers = [model(names, numbers, at).argmax(-1) for at in places]
    answers = torch.stack(answers, 1)  # (B, S)
    counts = F.one_hot(numbers, task.NUMBERS).sum(1)
    often = counts.gather(1, answers) == counts.max(1, keepdim=True).values
    found = {
        "right": _share(answers == numbers),
        "same": _share((answers == answers[:, :1]).all(1)),
        "often": _share(often),
        "list": {"names": names[0].tolist(), "numbers": numbers[0].tolist(),
                 "answers": answers[0].tolist()},
    }  # fmt: skip
    if kind == "lookup":
        looks = torch.cat([call["weights"] for call in calls], 1)  # (B, S, S)
        found["on_it"] = round(looks.diagonal(dim1=1, dim2=2).mean().item(), 5)
        found["list"]["weights"] = [[round(w, 4) for w in row] for row in looks[0].tolist()]
    return found


def _share(which: Tensor) -> float:
    return round(which.float().mean().item(), 5)


def settings(quick: bool) -> list[dict]:
    """Both models and every seed; with `quick`, two seeds and 160 updates."""
    return [
        {"model": model, "width": 32, "updates": 160 if quick else task.UPDATES[0],
         "rate": task.RATE, "seed": seed}
        for seed in (task.SEEDS[:2] if quick else task.SEEDS)
        for model in ("last state", "lookup")
    ]  # fmt: skip


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each model: medians and intervals, and the first seed's list."""
    return [
        same
        | record.median_intervals(
            group, [name for name in ("right", "same", "often", "on_it") if name in group[0]]
        )
        | {"list": group[0]["list"]}
        for same, group in record.grouped(runs, GROUP)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("asked_for", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "held_out": task.HELD_OUT,
            "training": record.training(
                runs,
                ("model", "width"),
                score=lambda run: run["right"],
                of=f"right answers with {task.MOST} pairs",
                updates="updates",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
