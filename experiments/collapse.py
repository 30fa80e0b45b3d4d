"""Attention whose rows close in training: which weights must not learn too fast, and what helps.

    python -m experiments.collapse            30 runs, five minutes of one core
    python -m experiments.collapse --quick    tiny, to see that it runs

The task is a lookup: eight tokens carry a key and a value each, a ninth carries one of the keys,
and the model names its value. Three pre-norm layers read without a causal mask. With a learning
rate that is too high the rows of attention become one-hot within a few updates (Zhai et al. 2023
call it entropy collapse). To see where the harm is, the weights that make queries and keys get a
rate of their own: the low one while all others get the high one, and the reverse. Two remedies
keep the high rate for all: a rate that rises in a line over the first updates (warm-up), and
queries and keys of length sqrt(D) with a learned factor (QK-norm, Henry et al. 2020). Runs at one
rate differ between seeds and between machines, so all were made on one.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.metrics import collapse
from experiments import _record as record
from experiments._training import parameters

SEEDS = (0, 1, 2, 3, 4)
SYMBOLS, PAIRS, WIDTH, HEADS, LAYERS, BATCH = 24, 8, 32, 4, 3, 64
LENGTH = PAIRS + 1
HIGH, LOW = 0.04, 0.006
BUDGETS = (160, 640)  # updates
WARM = 160  # updates until a warm-up reaches its rate

# What changes, by name: the rate of all weights, and that of queries and keys; then, of what else.
CASES = {
    "high": {"rate": HIGH, "looking": HIGH},
    "queries and keys low": {"rate": HIGH, "looking": LOW},
    "queries and keys high": {"rate": LOW, "looking": HIGH},
    "warm-up": {"rate": HIGH, "looking": HIGH, "warm": WARM},
    "QK-norm": {"rate": HIGH, "looking": HIGH, "qk_norm": True},
    "low": {"rate": LOW, "looking": LOW},
}


class Attention(nn.Module):
    """Multi-head self-attention, QK-norm at choice. x (B, L, E) -> output, weights, values."""

    def __init__(self, *, qk_norm: bool = False):
        super().__init__()
        self.look = nn.Linear(WIDTH, 2 * WIDTH)  # queries and keys
        self.value, self.mix = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.factor = nn.Parameter(torch.ones(HEADS, 1, 1)) if qk_norm else None

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in (*self.look(x).chunk(2, -1), self.value(x))
        )  # (B, H, L, D)
        if self.factor is not None:
            query, key = (F.rms_norm(part, part.shape[-1:]) for part in (query, key))
            query = self.factor * query
        weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)  # (B, H, L, L)
        return self.mix((weights @ value).transpose(1, 2).flatten(2)), weights, value


class Block(nn.Module):
    """A pre-norm layer around `Attention`."""

    def __init__(self, **options):
        super().__init__()
        self.attention = Attention(**options)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        attended, *looked = self.attention(self.norm1(x))
        x = x + attended
        return x + self.feed(self.norm2(x)), *looked


class Model(nn.Module):
    """Keys and values (B, L, 2) -> logits of the answer (B, values), and of each layer the weights,
    the values and the states that enter it."""

    def __init__(self, **options):
        super().__init__()
        self.symbol = nn.Embedding(2 * SYMBOLS + 1, WIDTH)  # keys, values, and no value
        self.blocks = nn.ModuleList(Block(**options) for _ in range(LAYERS))
        self.norm, self.read = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, symbols: Tensor) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        x, layers = self.symbol(symbols).sum(-2), []  # (B, L, E)
        for block in self.blocks:
            entered = x
            x, *looked = block(x)
            layers.append((*looked, entered))
        return self.read(self.norm(x[:, -1])), layers


def batch(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows of pairs, the key asked for last, (size, L, 2), and the values asked for (size,)."""
    keys = torch.rand(size, SYMBOLS, generator=generator).argsort(-1)[:, :PAIRS]
    values = torch.randint(SYMBOLS, (size, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (size, 1), generator=generator)
    pairs = torch.stack([keys, values + SYMBOLS], -1)  # (size, PAIRS, 2)
    last = torch.stack([keys.gather(1, asked), torch.full_like(asked, 2 * SYMBOLS)], -1)
    return torch.cat([pairs, last], 1), values.gather(1, asked)[:, 0]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model: effective keys a row, loss and accuracy by update, and the signs at last."""
    case = dict(CASES[setting["case"]])
    rate, looking, warm = case.pop("rate"), case.pop("looking"), case.pop("warm", 1)
    torch.manual_seed(setting["seed"])
    model = Model(**case).to(device)
    generator = torch.Generator().manual_seed(1000 + setting["seed"])
    held_out = [part.to(device) for part in batch(500, torch.Generator().manual_seed(7))]
    groups: dict[float, list[nn.Parameter]] = {rate: [], looking: []}
    for name, weight in model.named_parameters():
        groups[looking if ".look." in name else rate].append(weight)
    optimizer = torch.optim.AdamW(
        [{"params": weights, "lr": lr} for lr, weights in groups.items()], fused=True
    )
    rising = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: min(1, (done + 1) / warm))
    curve = []
    for update in range(setting["steps"] + 1):
        if update % (10 if update <= BUDGETS[0] else 40) == 0 or update == setting["steps"]:
            curve.append({"update": update, **_score(model, *held_out)})
        symbols, answers = (part.to(device) for part in batch(BATCH, generator))
        loss = F.cross_entropy(model.train()(symbols)[0], answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rising.step()
    return {
        "parameters": parameters(model),
        "curve": curve,
        "signs": [_signs(*layer) for layer in model.eval()(held_out[0])[1]],
    }


@torch.no_grad()
def _score(model: Model, symbols: Tensor, answers: Tensor) -> dict[str, float]:
    logits, layers = model.eval()(symbols)
    keys = torch.stack([collapse.entropy(weights).exp().mean() for weights, *_ in layers]).mean()
    return {
        "keys": round(keys.item(), 4),
        "accuracy": round((logits.argmax(-1) == answers).float().mean().item(), 4),
        "loss": round(F.cross_entropy(logits, answers).item(), 4),
    }


@torch.no_grad()
def _signs(weights: Tensor, values: Tensor, states: Tensor) -> dict:
    """What the page's `signs` says of one layer: three lists, a number a head, and one number."""
    column, place = weights.mean(-2).max(-1)  # (B, H)
    lengths = values.norm(dim=-1)  # (B, H, L)
    heads = {
        "keys": collapse.entropy(weights).exp().mean(-1),
        "column": column,
        "value": lengths.gather(-1, place[..., None])[..., 0] / lengths.mean(-1),
    }
    return {
        **{name: [round(x, 4) for x in one.mean(0).tolist()] for name, one in heads.items()},
        "difference": round(collapse.rank_one_residual(states).mean().item(), 4),
    }


def settings(quick: bool) -> list[dict]:
    """Every case and seed; seeds outermost, so that a first look comes early."""
    return [
        {
            "case": case,
            "rate": CASES[case]["rate"],
            "seed": seed,
            # Both of these have learned by the first budget.
            "steps": 4 if quick else BUDGETS[0] * 2 if case.endswith("low") else BUDGETS[1],
        }
        for seed in (SEEDS[:2] if quick else SEEDS)
        for case in CASES
    ]


def at_budgets(runs: list[dict]) -> list[dict]:
    """A run for each budget that a run has passed through, with its scores there."""
    return [
        {**run, "steps": point["update"], **point}
        for run in runs
        for point in run["curve"]
        if point["update"] in {*BUDGETS, run["steps"]}
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each case and rate: medians over seeds at each budget, and the curves."""
    return [
        {
            **same,
            "at": [
                {**budget, **record.median_intervals(alike, ("keys", "accuracy", "loss"))}
                for budget, alike in record.grouped(at_budgets(group), ("steps",))
            ],
            "curves": [run["curve"] for run in group],
            "signs": [run["signs"] for run in group],
        }
        for same, group in record.grouped(runs, ("case", "rate"))
    ]


def trained(runs: list[dict]) -> list[dict]:
    """What the training behind the file was, by case and rate."""
    return record.training(
        at_budgets(runs),
        ("case", "rate"),
        score=lambda run: run["accuracy"],
        of="right answers",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("collapse", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": {"symbols": SYMBOLS, "pairs": PAIRS, "tokens": LENGTH, "batch": BATCH},
            "model": {"layers": LAYERS, "heads": HEADS, "width": WIDTH},
            "rates": {"low": LOW, "high": HIGH},
            "warm": WARM,
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
