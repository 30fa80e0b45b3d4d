"""Which parts of a Transformer layer can be left out, and for how long: the runs of chapter 09.

    python -m experiments.parts            126 runs, about ten minutes of one core
    python -m experiments.parts --quick    two models, two seeds, a few updates, in seconds

A model reads eight digits and gives for each the sum of that digit and the one before, modulo ten.
It is an encoder of two pre-norm layers, whole or with one part taken out: attention, positions,
residual connections, feed-forward networks, or norms. Each is trained for 50, 250 and 1,000
updates, every time from the start and with the rate falling to zero at the end, at each of two
rates; the best rate of a row is so at that number of updates, by the median of the seeds.
After 1,000 three of the six answer everything; the others have 3,000 as well.
"""

import itertools
import time
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnkit.positions import SinusoidalPositions
from experiments import _record as record
from experiments._training import cosine, parameters

PLACES, DIGITS, SIZE, LAYERS, HEADS = 8, 10, 32, 2, 2
BATCH, TESTED = 64, 1000
PARTS = ("nothing", "norms", "feed-forward", "residuals", "positions", "attention")
UPDATES, MORE, RATES, SEEDS = (50, 250, 1000), (3000,), (0.003, 0.01), (0, 1, 2)
FAILING = ("residuals", "positions", "attention")  # they get MORE


class Partial(nn.Module):
    """A pre-norm layer (B, L, E) -> (B, L, E), from which parts can be left out."""

    def __init__(self, without: str, size: int):
        super().__init__()
        self.without = without
        self.norm1 = self.norm2 = None
        if "norms" not in without:
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        if without != "attention":
            self.attention = attnkit.MultiHeadAttention(size, HEADS)
        if "feed-forward" not in without:
            self.feed_forward = nn.Sequential(
                nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size)
            )

    def add(self, x: Tensor, norm: nn.Module | None, sublayer) -> Tensor:
        """What the sublayer makes of `x`, added to it unless residuals are left out."""
        new = sublayer(x if norm is None else norm(x))
        return new if self.without == "residuals" else x + new

    def forward(self, x: Tensor) -> Tensor:
        if self.without != "attention":
            x = self.add(x, self.norm1, lambda y: self.attention(y).output)
        if "feed-forward" not in self.without:
            x = self.add(x, self.norm2, self.feed_forward)
        return x


class Adder(nn.Module):
    """Digits (B, L) -> logits of a sum at each place (B, L, DIGITS)."""

    def __init__(self, without: str, size: int = SIZE):
        super().__init__()
        self.digit = nn.Embedding(DIGITS, size)
        self.place = nn.Identity() if without == "positions" else SinusoidalPositions(size)
        last = nn.Identity() if "norms" in without else nn.LayerNorm(size)
        self.layers = nn.Sequential(*(Partial(without, size) for _ in range(LAYERS)), last)
        self.answer = nn.Linear(size, DIGITS)

    def forward(self, digits: Tensor) -> Tensor:
        return self.answer(self.layers(self.place(self.digit(digits))))


def sums(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw digits (B, L) and the answers (B, L); the first place has nothing before it."""
    digits = torch.randint(DIGITS, (count, PLACES), generator=generator)
    before = F.pad(digits, (1, 0))[:, :-1]
    return digits, (digits + before) % DIGITS


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its share of right answers on new digits, its size and CPU time."""
    updates, rate = setting["updates"], setting["rate"]
    torch.manual_seed(setting["seed"])
    model = Adder(setting["without"], setting.get("size", SIZE)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    generator = torch.Generator().manual_seed(setting["seed"])
    schedule = cosine(updates, warm_up=40)
    start = time.process_time()
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = rate * schedule(update)
        digits, answers = (part.to(device) for part in sums(BATCH, generator))
        loss = F.cross_entropy(model(digits).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.process_time() - start
    digits, answers = (part.to(device) for part in sums(TESTED, torch.Generator().manual_seed(99)))
    with torch.no_grad():
        right = model.eval()(digits).argmax(-1) == answers
    return {
        "right": round(right.double().mean().item(), 5),
        "parameters": parameters(model),
        "cpu_seconds": round(seconds, 2),
    }


def settings(quick: bool) -> list[dict]:
    """Every seed, model, rate and number of updates; seeds outermost, for an early first look."""
    parts, updates, rates, seeds = (
        (PARTS[:2], (5, 10), RATES[:1], SEEDS[:2]) if quick else (PARTS, UPDATES, RATES, SEEDS)
    )
    return [
        {"without": without, "updates": count, "rate": rate, "seed": seed}
        for seed, without, rate in itertools.product(seeds, parts, rates)
        for count in updates + (MORE if without in FAILING else ())
    ]


def summarise(runs: Sequence[dict], names: Sequence[str] = ("without",)) -> list[dict]:
    """One row for each model and number of updates: the best rate, and the seeds at every rate."""
    rows = []
    for same, group in record.grouped(runs, (*names, "updates")):
        by_rate = {
            one["rate"]: [run["right"] for run in own]
            for one, own in record.grouped(group, ("rate",))
        }
        interval = {rate: record.median_interval(right) for rate, right in by_rate.items()}
        best = max(interval, key=lambda rate: interval[rate]["median"])
        seconds = record.median_interval([run["cpu_seconds"] for run in group])
        rows.append(
            {
                **same,
                "parameters": group[0]["parameters"],
                "cpu_seconds": seconds["median"],
                "rate": best,
                "right": {str(rate): right for rate, right in by_rate.items()},
                "interval": interval[best],
            }
        )
    return rows


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("parts", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "training": record.training(
                runs,
                ("without",),
                score=lambda run: run["right"],
                of="share of right answers",
                updates="updates",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
