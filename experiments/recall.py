"""What cheap attention forgets: associative recall, the runs behind chapter 14.

    python -m experiments.recall            40 runs, about five minutes of one CPU core
    python -m experiments.recall --quick    two forms, two seeds, a few updates, in seconds

A sequence has 32 places. Some hold a pair, a name and its number in one token; the rest are blank.
Then come 8 questions, each a name that was paired before, and the model must say its number.
Nothing in the task asks for an order, and the models have no positions.

Two layers of two heads with 16 features each are trained with four forms of attention, alike in
everything else: `full`; `window`, 8 keys; `blocks`, block-sparse with blocks of 4, the own, the one
before and the first; and `linear`, with elu + 1. Each is trained and tested at one number of pairs.
Accuracy is measured on fresh sequences, by the distance from the question back to the pair.
Guessing gives one in 16.

How it was chosen: one run of each form with a seed that is not among these, 600 updates of 64
sequences, at 16 pairs. Updates and batch were then cut to fit five minutes, before any other run.
The cut costs the window most: `recall_longer` trains three times as long.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import masks, scaled_dot_product_attention
from attnkit.efficient import (
    block_sparse_attention,
    linear_attention,
    local_and_global_blocks,
    sliding_window_attention,
)
from experiments import _record as record

NAMES, NUMBERS = 64, 16
PLACES, QUESTIONS = 32, 8
EMBED_DIM, HEADS, LAYERS = 32, 2, 2
FEATURES = EMBED_DIM // HEADS  # of a query and a key in each head
WINDOW, BLOCK = 8, 4
PAIRS = {
    "full": (4, 16, 32),
    "window": (16,),
    "blocks": (16,),
    "linear": (4, 16, 32),
}
DISTANCES = ((1, 7), (8, 14), (15, 21), (22, 28), (29, 39))  # first and last, in tokens
UPDATES, BATCH, RATE, HELD_OUT = 400, 32, 0.005, 1024
SEEDS = tuple(range(5))


def batch(size: int, pairs: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Draw names (B, L), numbers (B, L), answers (B, Q) and distances (B, Q).

    Name NAMES is a blank; number NUMBERS stands beside blanks and questions.
    """
    drawn = torch.rand(size, NAMES, generator=generator).argsort(-1)[:, :pairs]  # (B, P)
    values = torch.randint(NUMBERS, (size, pairs), generator=generator)  # (B, P)
    places = torch.rand(size, PLACES, generator=generator).argsort(-1)[:, :pairs]  # (B, P)
    asked = torch.randint(pairs, (size, QUESTIONS), generator=generator)  # (B, Q)
    names = torch.full((size, PLACES), NAMES).scatter(1, places, drawn)
    numbers = torch.full((size, PLACES), NUMBERS).scatter(1, places, values)
    names = torch.cat([names, drawn.gather(1, asked)], 1)  # (B, L)
    numbers = F.pad(numbers, (0, QUESTIONS), value=NUMBERS)  # (B, L)
    distances = PLACES + torch.arange(QUESTIONS) - places.gather(1, asked)
    return names, numbers, values.gather(1, asked), distances


def attend(form: str, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """One form of causal attention: query, key (B, H, L, F), value (B, H, L, D) -> (B, H, L, D)."""
    length = query.shape[-2]
    causal = masks.causal(length, device=query.device)
    if form == "full":
        return scaled_dot_product_attention(query, key, value, mask=causal).output
    if form == "window":
        return sliding_window_attention(query, key, value, window=WINDOW).output
    if form == "linear":
        return linear_attention(query, key, value, causal=True).output
    pattern = local_and_global_blocks(-(-length // BLOCK), window=2, num_global=1, causal=True)
    return block_sparse_attention(
        query, key, value, pattern.to(query.device), block_size=BLOCK, mask=causal
    ).output


class Layer(nn.Module):
    """Attention and a feed-forward net, normalised before, added to what came in."""

    def __init__(self, form: str, features: int = FEATURES):
        super().__init__()
        self.form = form
        self.norm, self.norm2 = nn.LayerNorm(EMBED_DIM), nn.LayerNorm(EMBED_DIM)
        self.sizes = [HEADS * features, HEADS * features, EMBED_DIM]  # queries, keys, values
        self.project = nn.Linear(EMBED_DIM, sum(self.sizes))
        self.out = nn.Linear(EMBED_DIM, EMBED_DIM)
        self.feed = nn.Sequential(
            nn.Linear(EMBED_DIM, 2 * EMBED_DIM), nn.ReLU(), nn.Linear(2 * EMBED_DIM, EMBED_DIM)
        )

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # (B, H, L, F or D)
            for part in self.project(self.norm(x)).split(self.sizes, -1)
        )
        heads = attend(self.form, query, key, value)  # (B, H, L, D)
        x = x + self.out(heads.transpose(1, 2).flatten(2))  # (B, L, E)
        return x + self.feed(self.norm2(x))


class Reader(nn.Module):
    """Names (B, L) and numbers (B, L) -> logits of a number at each question (B, Q, NUMBERS)."""

    def __init__(self, form: str, features: int = FEATURES):
        super().__init__()
        self.name = nn.Embedding(NAMES + 1, EMBED_DIM)
        self.number = nn.Embedding(NUMBERS + 1, EMBED_DIM)
        self.layers = nn.Sequential(*(Layer(form, features) for _ in range(LAYERS)))
        self.norm, self.answer = nn.LayerNorm(EMBED_DIM), nn.Linear(EMBED_DIM, NUMBERS)

    def forward(self, names: Tensor, numbers: Tensor) -> Tensor:
        x = self.layers(self.name(names) + self.number(numbers))  # (B, L, E)
        return self.answer(self.norm(x[:, -QUESTIONS:]))


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy on fresh sequences, overall and by distance."""
    torch.manual_seed(setting["seed"])
    model = Reader(setting["form"], setting.get("features", FEATURES)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=setting["updates"] + 1
    )
    generator = torch.Generator().manual_seed(setting["seed"])
    for _ in range(setting["updates"]):
        names, numbers, answers, _ = (
            part.to(device) for part in batch(BATCH, setting["pairs"], generator)
        )
        loss = F.cross_entropy(model(names, numbers).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    fresh = torch.Generator().manual_seed(1_000_000 + setting["seed"])
    names, numbers, answers, distances = batch(HELD_OUT, setting["pairs"], fresh)
    with torch.no_grad():
        predicted = model(names.to(device), numbers.to(device)).argmax(-1).cpu()  # (B, Q)
    right = (predicted == answers).double()
    by_distance = {
        f"{first}-{last}": right[(distances >= first) & (distances <= last)].mean().item()
        for first, last in DISTANCES
    }
    return {"accuracy": right.mean().item(), "by_distance": by_distance}


def settings(quick: bool) -> list[dict]:
    """Every form, number of pairs and seed; with `quick`, a few of them."""
    return [
        {"form": form, "pairs": pairs, "seed": seed, "updates": 5 if quick else UPDATES}
        for form in (("window", "linear") if quick else PAIRS)
        for pairs in (PAIRS[form][:1] if quick else PAIRS[form])
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each form and number of pairs: medians and intervals over seeds."""
    return [
        {
            **same,
            "accuracy": record.median_interval([run["accuracy"] for run in group]),
            "by_distance": record.median_intervals([run["by_distance"] for run in group]),
        }
        for same, group in record.grouped(runs, ("form", "pairs"))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("recall", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": {
                "names": NAMES,
                "numbers": NUMBERS,
                "places": PLACES,
                "questions": QUESTIONS,
            },
            "model": {"embed_dim": EMBED_DIM, "heads": HEADS, "layers": LAYERS},
            "window": WINDOW,
            "block": BLOCK,
            "updates": runs[0]["updates"],
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
