"""Training with 1/sqrt(d), 1/d and no scale: the runs behind chapter 05.

    python -m experiments.scales            216 runs, about seven minutes of one CPU core
    python -m experiments.scales --quick    a few of them, in seconds

The task is a lookup with a known answer. Twelve pairs of a key symbol and a value symbol are
shown, then one of the keys; the model must name the value that stood beside it. One attention head
over learned embeddings, with learned query and key projections of width d, does it by finding the
equal key. Only d, the scale, the optimizer, its learning rate and the seed change between runs.
Every component of a query and of a key starts with variance 1, as in the argument for the scale.

A run ends when it arrives, at 95% of held-out lookups, or else after 2,000 updates, four times as
many as the slowest median needs. Accuracy at 500, 1,000 and 2,000 says whether those that did not
arrive were still on their way.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from experiments import _record as record
from experiments._training import parameters

SYMBOLS, PAIRS, EMBED_DIM, BATCH = 64, 12, 64, 64
UPDATES, HELD_OUT = 2000, 512
EVERY, LATE, LATER = 10, 500, 50  # measured after every 10 updates, and after every 50 from 500 on
AT = (500, 1000, 2000)
GOAL = 0.95
SCALES = {"none": lambda d: 1.0, "1/sqrt(d)": lambda d: d**-0.5, "1/d": lambda d: 1 / d}
RATES = {"adam": (0.001, 0.003, 0.01), "sgd": (0.1, 0.3, 1.0, 3.0, 10.0)}
DIMS = (16, 64, 256)
SEEDS = tuple(range(3))
GROUP = ("d", "optimizer", "rate", "scale")


def batch(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw lookups: asked-for key (B, 1), keys (B, S), values (B, S) and the answer (B,)."""
    keys = torch.rand(size, SYMBOLS, generator=generator).argsort(-1)[:, :PAIRS]  # (B, S)
    values = torch.randint(SYMBOLS, (size, PAIRS), generator=generator)  # (B, S)
    place = torch.randint(PAIRS, (size, 1), generator=generator)  # (B, 1)
    return keys.gather(1, place), keys, values, values.gather(1, place)[:, 0]


class Lookup(nn.Module):
    """Embed, project, attend once, read the answer out.

    forward: asked (B, 1), keys (B, S), values (B, S) -> logits (B, SYMBOLS), weights (B, 1, S).
    """

    def __init__(self, d: int, scale: float):
        super().__init__()
        self.scale = scale
        self.symbol, self.content = (nn.Embedding(SYMBOLS, EMBED_DIM) for _ in range(2))
        self.query, self.key = (nn.Linear(EMBED_DIM, d, bias=False) for _ in range(2))
        for projection in (self.query, self.key):
            nn.init.normal_(projection.weight, std=EMBED_DIM**-0.5)
        self.answer = nn.Linear(EMBED_DIM, SYMBOLS)

    def forward(self, asked: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        attended = attnkit.scaled_dot_product_attention(
            self.query(self.symbol(asked)),  # (B, 1, d)
            self.key(self.symbol(keys)),  # (B, S, d)
            self.content(values),  # (B, S, E)
            scale=self.scale,
            need_weights=True,
        )
        return self.answer(attended.output[:, 0]), attended.weights


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model and say how it started and how fast it learned, as `train` does."""
    torch.manual_seed(setting["seed"])
    model = Lookup(setting["d"], SCALES[setting["scale"]](setting["d"])).to(device)
    optimizer = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[setting["optimizer"]](
        model.parameters(), lr=setting["rate"], fused=True
    )
    return train(model, optimizer, setting, at=AT)


def train(
    model: Lookup, optimizer: torch.optim.Optimizer, setting: dict, *, at: tuple[int, ...]
) -> dict:
    """Train a model until it arrives, or for the updates of its setting.

    Returns `largest_weight` (mean largest attention weight before training), `query_gradient` (norm
    of the first gradient of the query projection), `updates_to_goal` (the first update measured
    with held-out accuracy of at least GOAL, where the run ends, or None), `accuracy` (held out, at
    each of `at`, from the end of the run on unchanged) and `parameters`.
    """
    device = model.answer.weight.device
    generator = torch.Generator().manual_seed(setting["seed"])
    held_out = batch(HELD_OUT, torch.Generator().manual_seed(1_000_000 + setting["seed"]))
    held_out = [part.to(device) for part in held_out]

    start, reached, measured = {}, None, {}
    for update in range(1, setting["updates"] + 1):
        *inputs, answer = (part.to(device) for part in batch(BATCH, generator))
        logits, weights = model(*inputs)
        loss = F.cross_entropy(logits, answer)
        optimizer.zero_grad()
        loss.backward()
        if update == 1:
            start = {
                "largest_weight": weights.max(-1).values.mean().item(),
                "query_gradient": model.query.weight.grad.norm().item(),
            }
        optimizer.step()
        if update % (EVERY if update <= LATE else LATER) == 0:
            measured[update] = _accuracy(model, held_out)
            if measured[update] >= GOAL:
                reached = update
                break
    last = max(measured)
    return {
        **start,
        "updates_to_goal": reached,
        "accuracy": {str(update): round(measured[min(update, last)], 5) for update in at},
        "parameters": parameters(model),
    }


@torch.no_grad()
def _accuracy(model: Lookup, data: list[Tensor]) -> float:
    *inputs, answer = data
    return (model(*inputs)[0].argmax(-1) == answer).float().mean().item()


def settings(quick: bool) -> list[dict]:
    """Every combination; with `quick`, one width, one learning rate each and two seeds."""
    rates = {"adam": (0.003,), "sgd": (0.3,)} if quick else RATES
    fixed = {"updates": 60 if quick else UPDATES}
    return [
        {"d": d, "optimizer": optimizer, "rate": rate, "scale": scale, "seed": seed, **fixed}
        for d in ((16,) if quick else DIMS)
        for optimizer in rates
        for rate in rates[optimizer]
        for scale in SCALES
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def summarise(runs: list[dict], by: tuple[str, ...] = GROUP) -> list[dict]:
    """One row for each group of settings: medians and intervals over seeds."""
    numbers = ("largest_weight", "query_gradient", "updates_to_goal")
    return [
        {
            **same,
            **record.median_intervals(group, numbers),
            "accuracy": record.median_intervals([run["accuracy"] for run in group]),
            "parameters": group[0]["parameters"],
            "reached": sum(run["updates_to_goal"] is not None for run in group),
        }
        for same, group in record.grouped(runs, by)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("scales", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": {"symbols": SYMBOLS, "pairs": PAIRS, "embed_dim": EMBED_DIM, "batch": BATCH},
            "updates": runs[0]["updates"],
            "every": EVERY,
            "training": record.training(
                [
                    {**run, "updates": at, "right": run["accuracy"][str(at)]}
                    for run in runs
                    for at in AT
                ],
                ("optimizer", "d", "scale"),
                score=lambda run: run["right"],
                of="held-out lookups right, a run that arrives ending there",
                updates="updates",
            ),
            "goal": GOAL,
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
