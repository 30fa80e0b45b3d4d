"""Attention that collapses in training, and what mends it.

    python -m experiments.collapse            30 runs, seven minutes of one core
    python -m experiments.collapse --quick    tiny, to see that it runs

The task is a lookup: eight tokens carry a key and a value each, a ninth carries one of the keys,
and the model names its value. Three pre-norm layers read without a causal mask. With a learning
rate that is too high the rows of attention become one-hot within a few updates (Zhai et al. 2023
call it entropy collapse). Against it stand four remedies: queries and keys of length sqrt(D) with
a learned factor (QK-norm, Henry et al. 2020), scores bent by a tanh so that none passes 5 (the soft
cap of Gemma 2), a penalty on rows with less than a minimum of entropy, and dropout of the weights.
Each is trained at the high rate and at one that is low enough without it. A rate stays as it is, so
one run passes through all its budgets.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.metrics import collapse
from experiments import _record as record
from experiments._training import parameters

SEEDS = (0, 1, 2)
SYMBOLS, PAIRS, WIDTH, HEADS, LAYERS, BATCH = 24, 8, 32, 4, 3, 64
LENGTH = PAIRS + 1
CAP, MINIMUM, STRENGTH, DROPOUT = 5.0, 0.5, 1.0, 0.1
HIGH, LOW = 0.04, 0.006
BUDGETS = (160, 640, 2560)  # updates
# What goes on from the second budget to the third, at the high rate: the others are at their end.
LONGEST = ("no remedy", "dropout")

# What changes, by name: options of `Attention` or of the loss.
CASES = {
    "no remedy": {},
    "QK-norm": {"qk_norm": True},
    "soft cap": {"cap": CAP},
    "entropy penalty": {"penalty": STRENGTH},
    "dropout": {"dropout": DROPOUT},
}


class Attention(nn.Module):
    """Multi-head self-attention with two remedies built in. x (B, L, E) -> output, weights."""

    def __init__(self, *, qk_norm: bool = False, cap: float | None = None, dropout: float = 0.0):
        super().__init__()
        self.project, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.factor = nn.Parameter(torch.ones(HEADS, 1, 1)) if qk_norm else None
        self.cap, self.dropout = cap, dropout

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.project(x).chunk(3, -1)
        )  # (B, H, L, D)
        if self.factor is not None:
            query, key = (F.rms_norm(part, part.shape[-1:]) for part in (query, key))
            query = self.factor * query
        scores = query @ key.mT / math.sqrt(query.shape[-1])  # (B, H, L, L)
        if self.cap is not None:
            scores = self.cap * torch.tanh(scores / self.cap)
        weights = scores.softmax(-1)
        kept = F.dropout(weights, self.dropout, self.training)
        return self.mix((kept @ value).transpose(1, 2).flatten(2)), weights


class Block(nn.Module):
    """A pre-norm layer around `Attention`."""

    def __init__(self, **options):
        super().__init__()
        self.attention = Attention(**options)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.feed = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        attended, weights = self.attention(self.norm1(x))
        x = x + attended
        return x + self.feed(self.norm2(x)), weights


class Model(nn.Module):
    """Keys and values (B, L, 2) -> logits of the answer (B, values), weights of each layer."""

    def __init__(self, **options):
        super().__init__()
        self.symbol = nn.Embedding(2 * SYMBOLS + 1, WIDTH)  # keys, values, and no value
        self.blocks = nn.ModuleList(Block(**options) for _ in range(LAYERS))
        self.norm, self.read = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, symbols: Tensor) -> tuple[Tensor, Tensor]:
        x, weights = self.symbol(symbols).sum(-2), []  # (B, L, E)
        for block in self.blocks:
            x, looked = block(x)
            weights.append(looked)
        return self.read(self.norm(x[:, -1])), torch.stack(weights)


def batch(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows of pairs, the key asked for last, (size, L, 2), and the values asked for (size,)."""
    keys = torch.rand(size, SYMBOLS, generator=generator).argsort(-1)[:, :PAIRS]
    values = torch.randint(SYMBOLS, (size, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (size, 1), generator=generator)
    pairs = torch.stack([keys, values + SYMBOLS], -1)  # (size, PAIRS, 2)
    last = torch.stack([keys.gather(1, asked), torch.full_like(asked, 2 * SYMBOLS)], -1)
    return torch.cat([pairs, last], 1), values.gather(1, asked)[:, 0]


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model: effective keys a row and largest score by update, loss and accuracy."""
    case = dict(CASES[setting["case"]])
    penalty = case.pop("penalty", 0.0)
    torch.manual_seed(setting["seed"])
    return train(Model(**case), setting, device=device, penalty=penalty)


def train(model: Model, setting: dict, *, device: torch.device, penalty: float = 0.0) -> dict:
    """Train this model as `measure` does."""
    generator = torch.Generator().manual_seed(1000 + setting["seed"])
    held_out = [part.to(device) for part in batch(500, torch.Generator().manual_seed(7))]
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setting["rate"], fused=True)
    curve = []
    for update in range(setting["steps"] + 1):
        if _is_scored(update) or update == setting["steps"]:
            curve.append({"update": update, **_score(model, *held_out)})
        symbols, answers = (part.to(device) for part in batch(BATCH, generator))
        logits, weights = model.train()(symbols)
        loss = F.cross_entropy(logits, answers)
        if penalty:
            loss = loss + penalty * collapse.low_entropy_penalty(weights, minimum=MINIMUM)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"parameters": parameters(model), "curve": curve}


def _is_scored(update: int) -> bool:
    """Every tenth update of the first budget, then every 40th, then every 160th."""
    return update % next((step for step, end in zip((10, 40), BUDGETS, strict=False)
                          if update <= end), 160) == 0  # fmt: skip


@torch.no_grad()
def _score(model: Model, symbols: Tensor, answers: Tensor) -> dict[str, float]:
    logits, weights = model.eval()(symbols)
    keys = collapse.entropy(weights).exp().mean()
    return {
        "keys": round(keys.item(), 4),
        "one_hot": round((weights.max(-1).values > 0.99).float().mean().item(), 4),
        "accuracy": round((logits.argmax(-1) == answers).float().mean().item(), 4),
        "loss": round(F.cross_entropy(logits, answers).item(), 4),
    }


def settings(quick: bool) -> list[dict]:
    """Every case, rate and seed; seeds outermost, so that a first look comes early."""
    return [
        {
            "case": case,
            "rate": rate,
            "seed": seed,
            "steps": 4 if quick else _steps(case, rate),
        }
        for seed in (SEEDS[:2] if quick else SEEDS)
        for rate in (HIGH, LOW)
        for case in CASES
    ]


def _steps(case: str, rate: float) -> int:
    if rate == LOW:  # where every case has learned by the first budget
        return BUDGETS[case == "no remedy"]
    return BUDGETS[1 + (case in LONGEST)]


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
            "cap": CAP,
            "minimum": MINIMUM,
            "dropout": DROPOUT,
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
