"""The porter: how many names a memory of a given size keeps apart, the runs behind chapter 14.

    python -m experiments.porter            117 runs, an hour of one CPU core
    python -m experiments.porter --quick    two designs, a few updates, in seconds

A sequence has 64 places. Some hold a pair, a name and its number in one token; the rest are blank.
Then come 8 questions, each a name that was paired before, and the model must say its number.
Nothing in the task asks for an order, and the models have no positions. A batch has 4, 8, 16, 32 or
64 pairs, drawn anew for each; the test asks for each number of pairs by itself. Guessing gives one
in 16.

The designs differ in what their two layers keep of the past, and in nothing else: two heads with
keys and values of 16 numbers, the same feed-forward net, the same data. Only `3 gated delta, then
full` has four layers, in the ratio of large models, and `one full layer`, which `full_alone`
trains, has one. `chosen` reads each query's four best keys and keeps them all. A layer of the delta
rule has keys and queries of length 1, and gates that a token computes. `bytes` is what all layers
keep, in float32, after all 64 places.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import masks, scaled_dot_product_attention
from attnkit.efficient import (
    best_keys,
    gated_delta_segment,
    linear_attention,
    sliding_window_attention,
)
from attnkit.mechanisms import LatentAttention
from experiments import _record as record
from experiments._training import parameters

NUMBERS = 16
PLACES, QUESTIONS = 64, 8  # `porter_larger` has more places
EMBED_DIM, HEADS = 32, 2
DIM = EMBED_DIM // HEADS  # numbers of a key, and of a value, in each head
WINDOW, BEST, LATENT = 8, 4, 8
BATCH, HELD_OUT = 32, 256
SEEDS = tuple(range(3))
LOW, MIDDLE, HIGH = 0.005, 0.012, 0.03  # learning rates; at 0.002 every design is worse

# What each layer keeps: a kind, and the features of its keys where they are not DIM.
DESIGNS = {
    "full": ("full", "full"),
    "one full layer": ("full",),
    "window": ("window", "window"),
    "window, then full": ("window", "full"),
    "latent": ("latent", "latent"),
    "chosen": ("chosen", "chosen"),
    "linear": ("linear", "linear"),
    "linear, 64 features": ("linear 64", "linear 64"),
    "delta": ("delta", "delta"),
    "gated delta": ("gated", "gated"),
    "gated delta, 64 features": ("gated 64", "gated 64"),
    "gated delta, then full": ("gated", "full"),
    "3 gated delta, then full": ("gated", "gated", "gated", "full"),
}
# The learning rates that are tried, by design and updates. What answers everything after 400
# updates cannot rise; the others go on at the rate that served them best.
DONE = {400: (LOW, MIDDLE)}
RISING = {400: (LOW, MIDDLE, HIGH), 1600: (MIDDLE,)}
PLAN = {
    "full": DONE,
    "window": {400: (LOW, MIDDLE), 1600: (LOW,)},
    "window, then full": DONE,
    "latent": RISING,
    "chosen": DONE,
    "linear": RISING,
    "linear, 64 features": RISING,
    "delta": RISING,
    "gated delta": RISING,
    "gated delta, 64 features": RISING,
    "gated delta, then full": {400: (LOW, MIDDLE), 1600: (MIDDLE,)},
    "3 gated delta, then full": {400: (LOW, MIDDLE), 1600: (MIDDLE,)},
}


def names_of(places: int) -> int:
    """How many names there are: twice what the places could hold."""
    return 2 * places


def pairs_of(places: int) -> tuple[int, ...]:
    """The numbers of pairs that are drawn and asked for: the places, by halves four times."""
    return tuple(places >> halvings for halvings in (4, 3, 2, 1, 0))


def batch(
    size: int, pairs: int, generator: torch.Generator, *, places: int = PLACES
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw names (B, L), numbers (B, L) and answers (B, Q).

    The name after the last is a blank; number NUMBERS stands beside blanks and questions.
    """
    blank = names_of(places)
    drawn = torch.rand(size, blank, generator=generator).argsort(-1)[:, :pairs]  # (B, P)
    values = torch.randint(NUMBERS, (size, pairs), generator=generator)  # (B, P)
    taken = torch.rand(size, places, generator=generator).argsort(-1)[:, :pairs]  # (B, P)
    asked = torch.randint(pairs, (size, QUESTIONS), generator=generator)  # (B, Q)
    names = torch.full((size, places), blank).scatter(1, taken, drawn)
    numbers = torch.full((size, places), NUMBERS).scatter(1, taken, values)
    names = torch.cat([names, drawn.gather(1, asked)], 1)  # (B, L)
    numbers = F.pad(numbers, (0, QUESTIONS), value=NUMBERS)  # (B, L)
    return names, numbers, values.gather(1, asked)


def features(kind: str) -> int:
    """Numbers of a key in each head."""
    return int(kind.split()[1]) if " " in kind else DIM


def bytes_kept(kind: str, tokens: int) -> int:
    """What a layer of this kind keeps of `tokens` tokens, in float32."""
    if kind in ("full", "chosen"):
        numbers = 2 * EMBED_DIM * tokens
    elif kind == "window":
        numbers = 2 * EMBED_DIM * min(WINDOW, tokens)
    elif kind == "latent":
        numbers = LATENT * tokens
    else:  # a state, and in linear attention the sum of the keys
        numbers = HEADS * features(kind) * (DIM + kind.startswith("linear"))
    return 4 * numbers


class Memory(nn.Module):
    """The attention of one layer: x (B, L, E) -> (B, A, E), of the last A, each of the tokens up
    to it. The last layer answers only the questions, since nothing else of it is read."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.sizes = [HEADS * features(kind), HEADS * features(kind), EMBED_DIM]
        self.project = nn.Linear(EMBED_DIM, sum(self.sizes))
        self.out = nn.Linear(EMBED_DIM, EMBED_DIM)
        if kind.startswith(("delta", "gated")):
            self.write = nn.Linear(EMBED_DIM, HEADS)
        if kind.startswith("gated"):
            self.keep = nn.Linear(EMBED_DIM, HEADS)
            nn.init.constant_(self.keep.bias, 4.0)  # at first, next to nothing fades

    def forward(self, x: Tensor, asked: int) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # (B, H, L, F or D)
            for part in self.project(x).split(self.sizes, -1)
        )
        heads = self.read(x, query, key, value, asked)  # (B, H, A, D)
        return self.out(heads.transpose(1, 2).flatten(2))

    def read(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor, asked: int) -> Tensor:
        """What each head reads out of what it keeps: (B, H, A, D)."""
        if self.kind.startswith("linear"):
            return linear_attention(query, key, value, causal=True).output[..., -asked:, :]
        if self.kind.startswith(("delta", "gated")):
            query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
            write = self.write(x).sigmoid().mT  # (B, H, L)
            fade = F.logsigmoid(self.keep(x)).mT if self.kind.startswith("gated") else None
            return gated_delta_segment(query, key, value, write, fade)[0][..., -asked:, :]
        query, before = query[..., -asked:, :], x.shape[1] - asked
        if self.kind == "window":
            return sliding_window_attention(
                query, key, value, window=WINDOW, offset=before, backend="blocks"
            ).output
        mask = masks.causal(asked, x.shape[1], offset=before, device=x.device)
        if self.kind == "chosen":
            mask = best_keys(query @ key.mT, BEST, mask=mask)
        return scaled_dot_product_attention(query, key, value, mask=mask).output


class Latent(nn.Module):
    """Latent attention as a layer's memory."""

    def __init__(self):
        super().__init__()
        self.attention = LatentAttention(EMBED_DIM, HEADS, latent_dim=LATENT, bias=True)

    def forward(self, x: Tensor, asked: int) -> Tensor:
        mask = masks.causal(asked, x.shape[1], offset=x.shape[1] - asked, device=x.device)
        return self.attention(x[:, -asked:], x, mask=mask).output


class Layer(nn.Module):
    """A memory and a feed-forward net, normalised before, added to what came in."""

    def __init__(self, kind: str):
        super().__init__()
        self.memory = Latent() if kind == "latent" else Memory(kind)
        self.norm, self.norm2 = nn.LayerNorm(EMBED_DIM), nn.LayerNorm(EMBED_DIM)
        self.feed = nn.Sequential(
            nn.Linear(EMBED_DIM, 2 * EMBED_DIM), nn.ReLU(), nn.Linear(2 * EMBED_DIM, EMBED_DIM)
        )

    def forward(self, x: Tensor, asked: int) -> Tensor:
        x = x[:, -asked:] + self.memory(self.norm(x), asked)  # (B, A, E)
        return x + self.feed(self.norm2(x))


class Porter(nn.Module):
    """Names (B, L) and numbers (B, L) -> logits of a number at each question (B, Q, NUMBERS)."""

    def __init__(self, design: str, *, places: int = PLACES):
        super().__init__()
        self.name = nn.Embedding(names_of(places) + 1, EMBED_DIM)
        self.number = nn.Embedding(NUMBERS + 1, EMBED_DIM)
        self.layers = nn.ModuleList(map(Layer, DESIGNS[design]))
        self.norm, self.answer = nn.LayerNorm(EMBED_DIM), nn.Linear(EMBED_DIM, NUMBERS)

    def forward(self, names: Tensor, numbers: Tensor) -> Tensor:
        x = self.name(names) + self.number(numbers)  # (B, L, E)
        for layer in self.layers:
            x = layer(x, QUESTIONS if layer is self.layers[-1] else x.shape[1])
        return self.answer(self.norm(x))  # of the questions alone


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model; return its accuracy on fresh sequences, for each number of pairs."""
    torch.manual_seed(setting["seed"])
    rate, places = setting["rate"], setting.get("places", PLACES)
    model, counts = Porter(setting["design"], places=places).to(device), pairs_of(places)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=setting["updates"] + 1
    )
    generator = torch.Generator().manual_seed(setting["seed"])
    start = time.process_time()
    for _ in range(setting["updates"]):
        pairs = counts[int(torch.randint(len(counts), (), generator=generator))]
        drawn = batch(BATCH, pairs, generator, places=places)
        names, numbers, answers = (part.to(device) for part in drawn)
        loss = F.cross_entropy(model(names, numbers).flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    seconds = time.process_time() - start
    model.eval()
    fresh = torch.Generator().manual_seed(1_000_000 + setting["seed"])
    right = {}
    for pairs in counts:
        drawn = batch(HELD_OUT, pairs, fresh, places=places)
        names, numbers, answers = (part.to(device) for part in drawn)
        with torch.no_grad():
            right[str(pairs)] = (model(names, numbers).argmax(-1) == answers).double().mean().item()
    return {
        "accuracy": sum(right.values()) / len(right),
        "by_pairs": right,
        "parameters": parameters(model),
        "cpu_seconds": round(seconds, 1),
    }


def settings(quick: bool) -> list[dict]:
    """Every design, budget, rate and seed, seeds outermost; with `quick`, two designs."""
    plan = {one: {5: (MIDDLE,)} for one in ("window", "gated delta")} if quick else PLAN
    return [
        {"design": design, "updates": updates, "rate": rate, "seed": seed}
        for seed in (SEEDS[:2] if quick else SEEDS)
        for design, budgets in plan.items()
        for updates, rates in budgets.items()
        for rate in rates
    ]


def summarise(runs: list[dict], places: int = PLACES) -> list[dict]:
    """One row for each design, budget and rate: medians and intervals over seeds.

    `best` marks the rate that serves the design best at that budget, and `bytes` is what all layers
    keep.
    """
    rows = []
    for same, group in record.grouped(runs, ("design", "updates", "rate")):
        accuracy = [run["accuracy"] for run in group]
        rows.append(
            {
                **same,
                "parameters": group[0]["parameters"],
                "bytes": sum(bytes_kept(kind, places) for kind in DESIGNS[same["design"]]),
                "cpu_seconds": record.median_interval([run["cpu_seconds"] for run in group])[
                    "median"
                ],
                "accuracy": record.median_interval(accuracy),
                "by_pairs": record.median_intervals([run["by_pairs"] for run in group]),
            }
        )
    for row in rows:
        rivals = [
            other["accuracy"]["median"]
            for other in rows
            if (other["design"], other["updates"]) == (row["design"], row["updates"])
        ]
        row["best"] = row["accuracy"]["median"] == max(rivals)
    return rows


def task(places: int) -> dict:
    """The sizes of the task, for a results file."""
    return {
        "names": names_of(places),
        "numbers": NUMBERS,
        "places": places,
        "questions": QUESTIONS,
        "pairs": list(pairs_of(places)),
    }


def trained(runs: list[dict]) -> dict:
    """How every design was trained, for a results file."""
    return record.training(
        runs,
        ("design",),
        score=lambda run: run["accuracy"],
        of="questions answered, over the numbers of pairs",
        updates="updates",
    )


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    return record.run(
        record.options("porter", __doc__, argv),
        settings=settings,
        measure=measure,
        results=lambda runs: {
            "task": task(PLACES),
            "model": {"embed_dim": EMBED_DIM, "heads": HEADS, "layers": 2},
            "window": WINDOW,
            "chosen": BEST,
            "latent": LATENT,
            "training": trained(runs),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
