"""Is it only a matter of training? Recall from the last state, with more updates and more width.

    python -m experiments.looking_back            42 runs, about six minutes on one CPU core
    python -m experiments.looking_back --quick    a few of them, in seconds

The task of chapter 02: a GRU reads a list of one to eight pairs of a name and a number, one pair a
step, then a name of the list, and the model says the number. It answers from the last state
alone, or from a lookup over the states after each pair, scored by their dot product with the last
state and one learned factor. Each budget of updates is a run of its own, with a cosine schedule,
and up to 2,000 updates each model also gets another learning rate.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from experiments import _record as record
from experiments._training import cosine, parameters

NAMES, NUMBERS, MOST, BATCH = 16, 10, 8, 64
RATE, RATES = 0.005, (0.002, 0.005)
MEASURED, HELD_OUT = (1, 2, 4, 8), 1000
UPDATES = (500, 2000, 8000)
MODELS = {("last state", 32): UPDATES, ("last state", 128): UPDATES, ("lookup", 32): UPDATES[:2]}
GROUP = ("model", "width", "updates", "rate")
SEEDS = (0, 1, 2)


def draw(count: int, pairs: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw lists: names (B, S), all different, numbers (B, S), and the place asked for (B, 1)."""
    names = torch.rand(count, NAMES, generator=generator).argsort(-1)[:, :pairs]
    numbers = torch.randint(NUMBERS, (count, pairs), generator=generator)
    place = torch.randint(pairs, (count, 1), generator=generator)
    return names, numbers, place


class Recall(nn.Module):
    """Read the pairs and the name asked for; answer from the last state or from a lookup.

    forward: names (B, S), numbers (B, S), place (B, 1) -> logits (B, NUMBERS).
    """

    def __init__(self, width: int, *, lookup: bool):
        super().__init__()
        self.name = nn.Embedding(NAMES, width)
        self.number = nn.Embedding(NUMBERS + 1, width)  # the last one is the question mark
        self.gru = nn.GRU(width, width, batch_first=True)
        self.answer = nn.Linear(width, NUMBERS)
        self.log_scale = nn.Parameter(torch.zeros(())) if lookup else None

    def forward(self, names: Tensor, numbers: Tensor, place: Tensor) -> Tensor:
        asked = self.name(names.gather(1, place)) + self.number.weight[NUMBERS]  # (B, 1, H)
        steps = torch.cat([self.name(names) + self.number(numbers), asked], 1)
        states, _ = self.gru(steps)  # (B, S + 1, H)
        pairs, last = states[:, :-1], states[:, -1:]
        if self.log_scale is not None:
            query = last * self.log_scale.exp()
            last = attnkit.scaled_dot_product_attention(query, pairs, pairs).output  # (B, 1, H)
        return self.answer(last[:, 0])


def train(setting: dict, device: torch.device) -> Recall:
    """Train one model."""
    torch.manual_seed(setting["seed"])
    model = Recall(setting["width"], lookup=setting["model"] == "lookup").to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=setting["rate"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine(setting["updates"]))
    generator = torch.Generator().manual_seed(setting["seed"])
    for update in range(setting["updates"]):
        data = [part.to(device) for part in draw(BATCH, 1 + update % MOST, generator)]
        _, numbers, place = data
        loss = F.cross_entropy(model(*data), numbers.gather(1, place)[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy by pairs."""
    start = time.process_time()
    model = train(setting, device)
    return {
        "parameters": parameters(model),
        "cpu_seconds": round(time.process_time() - start, 1),
        "accuracy": [round(_accuracy(model, pairs, device), 5) for pairs in MEASURED],
    }


@torch.no_grad()
def _accuracy(model: Recall, pairs: int, device: torch.device) -> float:
    generator = torch.Generator().manual_seed(1_000_000 + pairs)
    data = [part.to(device) for part in draw(HELD_OUT, pairs, generator)]
    _, numbers, place = data
    right = model(*data).argmax(-1) == numbers.gather(1, place)[:, 0]
    return right.float().mean().item()


def settings(quick: bool) -> list[dict]:
    """Every model, budget, rate and seed; with `quick`, two models and seeds, 160 updates."""
    if quick:
        chosen = [("last state", 32, 160, RATE), ("lookup", 32, 160, RATE)]
    else:
        chosen = [
            (*model, updates, rate)
            for model, budgets in MODELS.items()
            for updates in budgets
            for rate in RATES
            if rate == RATE or updates < UPDATES[-1]
        ]
    return [
        {**dict(zip(GROUP, one, strict=True)), "seed": seed}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for one in chosen
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each model, width, budget and rate: medians and intervals by pairs."""
    return [
        same
        | record.median_intervals(group, ["cpu_seconds"])
        | {
            "accuracy": {
                str(pairs): record.median_interval([run["accuracy"][place] for run in group])
                for place, pairs in enumerate(MEASURED)
            }
        }
        for same, group in record.grouped(runs, GROUP)
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("looking_back", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": {"names": NAMES, "numbers": NUMBERS, "most": MOST, "batch": BATCH},
            "held_out": HELD_OUT,
            "training": record.training(
                runs,
                ("model", "width"),
                score=lambda run: run["accuracy"][-1],
                of=f"right answers with {MEASURED[-1]} pairs",
                updates="updates",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
