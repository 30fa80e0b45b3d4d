"""Is it only a matter of training? Recall from the last state, with more updates and more width.

    python -m experiments.looking_back            20 runs, about five minutes on one CPU core
    python -m experiments.looking_back --quick    a few of them, in seconds

The task of chapter 02: a GRU reads a list of one to eight pairs of a name and a number, one pair a
step, then a name of the list, and the model says the number. It answers from the last state
alone, or from a lookup over the states after each pair, scored by their dot product with the last
state and one learned factor. Held-out accuracy is taken at several points of the same run.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from experiments import _record as record

NAMES, NUMBERS, MOST, BATCH, RATE = 16, 10, 8, 64, 5e-3
MEASURED, HELD_OUT = (1, 2, 4, 8), 1000
AT = (500, 1000, 2000, 4000)
MODELS = (("last state", 32), ("last state", 64), ("last state", 128), ("lookup", 32))
SEEDS = tuple(range(5))


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


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy by pairs after each number of updates asked for."""
    torch.manual_seed(setting["seed"])
    model = Recall(setting["width"], lookup=setting["model"] == "lookup").to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    generator = torch.Generator().manual_seed(setting["seed"])
    accuracy = {}
    for update in range(setting["at"][-1]):
        data = [part.to(device) for part in draw(BATCH, 1 + update % MOST, generator)]
        _, numbers, place = data
        loss = F.cross_entropy(model(*data), numbers.gather(1, place)[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update + 1 in setting["at"]:
            accuracy[update + 1] = [_accuracy(model, pairs, device) for pairs in MEASURED]
    return {"accuracy": accuracy}


@torch.no_grad()
def _accuracy(model: Recall, pairs: int, device: torch.device) -> float:
    generator = torch.Generator().manual_seed(1_000_000 + pairs)
    data = [part.to(device) for part in draw(HELD_OUT, pairs, generator)]
    _, numbers, place = data
    right = model(*data).argmax(-1) == numbers.gather(1, place)[:, 0]
    return right.float().mean().item()


def settings(quick: bool) -> list[dict]:
    """Every model and seed; with `quick`, the two at width 32, two seeds, a few updates."""
    return [
        {"model": model, "width": width, "seed": seed, "at": [24, 160] if quick else list(AT)}
        for model, width in (MODELS if not quick else (MODELS[0], MODELS[-1]))
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each model, width, number of updates and of pairs: median and interval."""
    found = [
        {**run, "updates": int(at), "pairs": pairs, "accuracy": accuracy}
        for run in runs
        for at, measured in run["accuracy"].items()
        for pairs, accuracy in zip(MEASURED, measured, strict=True)
    ]
    return [
        same | record.median_intervals(group, ["accuracy"])
        for same, group in record.grouped(found, ("model", "width", "updates", "pairs"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("looking_back", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": {"names": NAMES, "numbers": NUMBERS, "most": MOST, "batch": BATCH},
            "rate": RATE,
            "held_out": HELD_OUT,
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
