"""How linear attention sorts names when its state has fewer features than there are names.

    python -m experiments.drawers            12 runs, about a minute of one CPU core
    python -m experiments.drawers --quick    one width, two seeds, a few updates, in seconds

A sequence has twelve pairs of a name and a number, out of 16 names and 10 numbers, and then four
of the names again, for which the model must say the numbers. It is one layer of linear attention
with elu + 1 (Katharopoulos et al. 2020), whose keys have 4 or 16 features. What a name takes
from another is phi(query) . phi(key), divided by its sum over the sixteen names; a key is the mean
over the numbers. The drawer of a name is the feature that is largest in its key.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit.efficient import elu_features
from experiments import _record as record
from experiments._training import parameters

NAMES, NUMBERS, PAIRS, ASKED = 16, 10, 12, 4
EMBED_DIM, BATCH, RATE, HELD_OUT = 32, 64, 0.01, 2000
FEATURES, UPDATES, SEEDS = (4, 16), (500, 2000), (0, 1, 2)


def batch(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Names (B, L), numbers (B, L) and answers (B, ASKED); number NUMBERS stands at a question."""
    names = torch.rand(size, NAMES, generator=generator).argsort(-1)[:, :PAIRS]
    numbers = torch.randint(NUMBERS, (size, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (size, ASKED), generator=generator)
    names = torch.cat([names, names.gather(1, asked)], 1)  # (B, L)
    return names, F.pad(numbers, (0, ASKED), value=NUMBERS), numbers.gather(1, asked)


class Porter(nn.Module):
    """Names (B, L) and numbers (B, L) -> logits of a number at each place (B, L, NUMBERS)."""

    def __init__(self, features: int):
        super().__init__()
        self.name = nn.Embedding(NAMES, EMBED_DIM)
        self.number = nn.Embedding(NUMBERS + 1, EMBED_DIM)
        self.query = nn.Linear(EMBED_DIM, features)
        self.key = nn.Linear(EMBED_DIM, features)
        self.value = nn.Linear(EMBED_DIM, EMBED_DIM)
        self.answer = nn.Linear(EMBED_DIM, NUMBERS)

    def forward(self, names: Tensor, numbers: Tensor) -> Tensor:
        x = self.name(names) + self.number(numbers)  # (B, L, E)
        asked, keys = elu_features(self.query(x)), elu_features(self.key(x))
        shares = (asked @ keys.mT).tril()  # (B, L, L), the quadratic form: L is 16
        return self.answer(shares @ self.value(x) / shares.sum(-1, keepdim=True))

    @torch.no_grad()
    def shares(self) -> tuple[Tensor, Tensor]:
        """What each name takes from each when asked for (NAMES, NAMES), and its drawer (NAMES)."""
        blank, pairs = self.number.weight[NUMBERS], self.number.weight[:NUMBERS]
        asked = elu_features(self.query(self.name.weight + blank))  # (NAMES, features)
        keys = elu_features(self.key(self.name.weight[:, None] + pairs)).mean(1)
        taken = asked @ keys.T
        return taken / taken.sum(-1, keepdim=True), keys.argmax(-1)


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy on fresh sequences, and how its names are sorted."""
    torch.manual_seed(setting["seed"])
    model = Porter(setting["features"]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    generator = torch.Generator().manual_seed(setting["seed"])
    for _ in range(setting["updates"]):
        names, numbers, answers = (part.to(device) for part in batch(BATCH, generator))
        logits = model(names, numbers)[:, -ASKED:]
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    fresh = torch.Generator().manual_seed(1_000_000 + setting["seed"])
    names, numbers, answers = (part.to(device) for part in batch(HELD_OUT, fresh))
    with torch.no_grad():
        right = model(names, numbers)[:, -ASKED:].argmax(-1) == answers
    shares, drawers = (part.cpu() for part in model.shares())
    together = drawers[:, None] == drawers  # (NAMES, NAMES)
    return {
        "accuracy": round(right.double().mean().item(), 4),
        "parameters": parameters(model),
        "used": len(drawers.unique()),
        "own": round(shares.diagonal().mean().item(), 4),
        "drawer": round((shares * together).sum(-1).mean().item(), 4),
        "drawers": drawers.tolist(),
        "shares": [[round(x, 3) for x in row] for row in shares.tolist()],
    }


def settings(quick: bool) -> list[dict]:
    """Every width, number of updates and seed; with `quick`, a few of them."""
    return [
        {"features": features, "updates": updates, "seed": seed}
        for features in (FEATURES[:1] if quick else FEATURES)
        for updates in ((5,) if quick else UPDATES)
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def results(runs: list[dict]) -> dict:
    """A row for each width and number of updates, and the sorting of the first seed of each."""
    rows = [
        {
            **same,
            "parameters": group[0]["parameters"],
            **{
                name: record.median_interval([run[name] for run in group])
                for name in ("accuracy", "used", "own", "drawer")
            },
            "drawers": group[0]["drawers"],
            "shares": group[0]["shares"],
        }
        for same, group in record.grouped(runs, ("features", "updates"))
    ]
    task = {"names": NAMES, "numbers": NUMBERS, "pairs": PAIRS, "asked": ASKED}
    return {
        "task": task,
        "batch": BATCH,
        "training": record.training(
            [{**run, "rate": RATE} for run in runs],
            ("features",),
            score=lambda run: run["accuracy"],
            of="questions answered",
            updates="updates",
        ),
        "rows": rows,
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("drawers", __doc__, argv),
        settings=settings,
        measure=measure,
        results=results,
    )


if __name__ == "__main__":
    main()
