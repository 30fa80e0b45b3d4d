"""Does additive attention look where its answer comes from? `reverse`, by encoder.

    python -m experiments.pointing            five seeds of each, about 8 minutes of one core
    python -m experiments.pointing --quick    tiny, to see that it runs

The right source place of every target place is known. For models that answer right, it counts by
how many places the largest weight misses it, and then changes the weights of one step at a time:
all weight on one place, or one place hidden and the others scaled up to sum to 1. The answers that
stay right say which state the decoder reads. Three encoders: one that reads in both directions, one
that reads forward only, and one that reads backward only.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from attnkit.functional import Attended
from attnlab import tasks
from attnlab.rnn import Seq2Seq, seq2seq
from attnlab.tasks import Batch, Batches
from experiments import _record as record
from experiments._training import fit, parameters

SEEDS, BATCH = (0, 1, 2, 3, 4), 64
EMBED_DIM, HIDDEN_DIM = 64, 100  # those of additive attention in `by_length`, as is all the rest
RATE, STEPS, LONGEST = 0.004, 1200, 10
CASES = ("both directions", "forward only", "backward only")
CHANGES = ("none", "only right", "only largest", "hide right", "hide largest")


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model of one seed, and see where it looks and what it reads."""
    case, seed, steps, longest = (setting[key] for key in ("case", "seed", "steps", "longest"))
    backward = case == "backward only"
    known = tasks.reverse(BATCH * steps, max_length=longest, seed=1000 + seed)
    new = tasks.reverse(setting["tested"], min_length=longest, max_length=longest, seed=5000 + seed)
    if backward:
        known, new = tasks.reverse_source(known), tasks.reverse_source(new)
    vocabs = tasks.vocabs([*known, *new])
    torch.manual_seed(seed)
    model = seq2seq(
        *(len(vocab) for vocab in vocabs), embed_dim=EMBED_DIM, hidden_dim=HIDDEN_DIM,
        bidirectional=case == "both directions",
    )  # fmt: skip
    batches = Batches(known, *vocabs, batch_size=BATCH, seed=seed)
    seconds = fit(model, batches, steps=steps, lr=RATE, seed=seed, device=device)
    (batch,) = Batches(new, *vocabs, batch_size=len(new), shuffle=False)
    place = torch.arange(longest).expand(len(new), -1)  # (B, T)
    found = look(model, batch.to(device), place if backward else place.flip(1))
    if backward:  # in the order of the source as it was
        found["shifts"] = {str(-int(shift)): n for shift, n in reversed(found["shifts"].items())}
    return {"parameters": parameters(model), "cpu_seconds": seconds, **found}


@torch.no_grad()
def look(model: Seq2Seq, batch: Batch, right: Tensor) -> dict:
    """Shifts of the largest weight, and answers that stay right under each change of one step.

    The model is told the right targets. `right` (B, T) are the source places to be read. Answers
    are counted over all steps, and over those whose largest weight is on another place ("missed").
    """
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_lengths))
    state = model.decoder.start(memory)
    shifts: Counter[int] = Counter()
    kept = {(change, which): 0 for change in CHANGES for which in ("all", "missed")}
    share = 0.0
    for t, place in enumerate(right.to(batch.source.device).unbind(1)):
        tokens, answer = batch.target_in[:, t : t + 1], batch.target_out[:, t]
        plain = model.decoder.run(tokens, state, memory, need_weights=True)
        weight, largest = plain.weights[:, 0].max(-1)  # (B,)
        share += weight.sum().item()
        shifts.update((largest - place).tolist())
        for change in CHANGES:
            what, _, where = change.partition(" ")
            chosen = place if where == "right" else largest
            logits = plain.logits
            if what != "none":
                with weights_changed(model.decoder.attention, CHANGED[what], chosen):
                    logits = model.decoder.run(tokens, state, memory, need_weights=True).logits
            same = logits[:, 0].argmax(-1) == answer  # (B,)
            kept[change, "all"] += int(same.sum())
            kept[change, "missed"] += int(same[largest != place].sum())
        state = plain.state
    steps = right.numel()
    missed = steps - shifts[0]
    return {
        "steps_looked_at": steps,
        "shifts": {str(shift): count for shift, count in sorted(shifts.items())},
        "missed": round(missed / steps, 5),
        "largest_weight": round(share / steps, 4),
        "answers": {
            change: {
                "all": round(kept[change, "all"] / steps, 5),
                "missed": round(kept[change, "missed"] / missed, 5) if missed else None,
            }
            for change in CHANGES
        },
    }


def only(weights: Tensor, place: Tensor) -> Tensor:
    """All weight (B, 1, S) on one place (B,) of each row."""
    return torch.zeros_like(weights).scatter(-1, place[:, None, None], 1.0)


def hide(weights: Tensor, place: Tensor) -> Tensor:
    """No weight on that place; the others keep their proportions and sum to 1."""
    weights = weights.scatter(-1, place[:, None, None], 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


CHANGED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"only": only, "hide": hide}


def weights_changed(attention: nn.Module, change: Callable, place: Tensor):
    """A context in which the attention returns the average of its values by changed weights."""

    def hook(module: nn.Module, inputs: tuple[Tensor, ...], attended: Attended) -> Attended:
        weights = change(attended.weights, place)  # (B, 1, S)
        return Attended(weights @ inputs[1], weights)  # keys are values

    return attention.register_forward_hook(hook)


def settings(quick: bool) -> list[dict]:
    """Every case and seed; seeds outermost, so that a first look comes early."""
    sizes = {
        "steps": 3 if quick else STEPS,
        "longest": 4 if quick else LONGEST,
        "tested": 20 if quick else 400,
    }
    return [
        {"case": case, "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for case in CASES
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row a case, over seeds, with intervals; and each run's numbers."""
    return [
        {
            **same,
            "parameters": group[0]["parameters"],
            **record.median_intervals(group, ("missed", "largest_weight", "cpu_seconds")),
            "answers": {
                change: record.median_intervals([run["answers"][change] for run in group])
                for change in CHANGES
            },
            "runs": group,
        }
        for same, group in record.grouped(runs, ("case",))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("pointing", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "longest": runs[0]["longest"],
            "steps": runs[0]["steps"],
            "tested": runs[0]["tested"],
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
