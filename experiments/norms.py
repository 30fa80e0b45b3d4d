"""Does a post-norm Transformer need warm-up, and a pre-norm one not? Xiong et al. (2020) say so.

    python -m experiments.norms            60 runs, about 8 minutes of one core
    python -m experiments.norms --quick    tiny, to see that it runs

A Transformer of four layers a side learns to reverse sources of up to eight symbols. Norm before
or after each sublayer; the rate at once at its full height, or raised over the first fifth of the
updates; three rates. After the same number of updates: the loss on unseen sources, in nats a
token, given the right tokens before. And before the first update: the norm of the gradient of each
encoder and decoder layer, as a share of the largest.
"""

import math
from collections.abc import Sequence
from unittest import mock

import torch

from attnlab import tasks, training
from attnlab.tasks import Batches
from attnlab.training import loop
from attnlab.transformer import Transformer
from experiments import _record as record
from experiments._training import fit

SEEDS, BATCH, LONGEST = (0, 1, 2, 3, 4), 64, 8
NORMS, RATES = ("pre", "post"), (0.0005, 0.002, 0.005)
SIZES = {"embed_dim": 32, "num_heads": 2, "hidden_dim": 64, "dropout": 0.0}


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; how large gradients were before, and the loss afterwards."""
    seed, steps, layers = setting["seed"], setting["steps"], setting["layers"]
    known = tasks.reverse(BATCH * steps, max_length=LONGEST, seed=1000 + seed)
    new = tasks.reverse(setting["tested"], max_length=LONGEST, seed=2000 + seed)
    vocabs = tasks.vocabs([*known, *new])
    torch.manual_seed(seed)
    model = Transformer(
        *map(len, vocabs), num_layers=layers, norm_first=setting["norm"] != "post",
        norm="none" if setting["norm"] == "none" else "layer", **SIZES,
    ).to(device)  # fmt: skip
    batches = Batches(known, *vocabs, batch_size=BATCH, seed=seed)
    gradients = _gradients(model, next(iter(batches)).to(device))
    raise_over = max(1, steps // 5) if setting["warm_up"] else 1
    most = loop.MAX_GRAD_NORM if setting.get("clip", True) else math.inf
    with mock.patch.object(loop, "MAX_GRAD_NORM", most):
        fit(
            model, batches, steps=steps, lr=setting["rate"], seed=seed, device=device,
            warm_up=raise_over,
        )  # fmt: skip
    loss = training.evaluate(model, Batches(new, *vocabs, batch_size=100), device=device)
    return {"loss": round(loss, 5), "gradients": gradients}


def _gradients(model: Transformer, batch: tasks.Batch) -> dict[str, list[float]]:
    """Norm of the loss's gradient for each layer, from the input to the output of its stack."""
    model.zero_grad()
    training.sequence_loss(model, batch).mean().backward()
    norms = {
        side: [
            math.sqrt(sum(p.grad.square().sum().item() for p in layer.parameters()))
            for layer in stack.layers
        ]
        for side, stack in {"encoder": model.encoder, "decoder": model.decoder}.items()
    }
    model.zero_grad()
    largest = max(max(values) for values in norms.values())
    return {side: [round(v / largest, 5) for v in values] for side, values in norms.items()}


def settings(quick: bool) -> list[dict]:
    """Every norm, schedule, rate and seed; seeds outermost, so that a first look comes early."""
    sizes = {"steps": 4, "layers": 2, "tested": 20} if quick else {
        "steps": 300, "layers": 4, "tested": 500}  # fmt: skip
    return [
        {"norm": norm, "warm_up": warm_up, "rate": rate, "seed": seed, **sizes}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for norm in NORMS
        for warm_up in (False, True)
        for rate in RATES
    ]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each norm, schedule and rate, over seeds."""
    return [
        {
            **same,
            "loss": record.median_interval([run["loss"] for run in group]),
            "losses": [run["loss"] for run in group],
            "gradients": {
                side: [
                    record.median_interval(values)
                    for values in zip(*(run["gradients"][side] for run in group), strict=True)
                ]
                for side in ("encoder", "decoder")
            },
        }
        for same, group in record.grouped(runs, ("norm", "warm_up", "rate"))
    ]


def trained(runs: Sequence[dict], sides: Sequence[str] = ("norm", "warm_up")) -> list[dict]:
    """What the training behind the file was, by norm and schedule, at the best of the rates."""
    return record.training(
        runs,
        sides,
        score=lambda run: math.exp(-run["loss"]),
        of="probability of a right token, geometric mean",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("norms", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "layers": runs[0]["layers"],
            "steps": runs[0]["steps"],
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
