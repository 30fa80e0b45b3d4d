"""Who is to be hanged? Small models told "A not B", alike in everything but their positions.

    python -m experiments.orders            48 runs, about five minutes of one core
    python -m experiments.orders --quick    two kinds, two seeds, a few updates, in seconds

One layer of self-attention with one head of 16 features reads "*do this* not *do that*", and at
*not* it must say which of twelve things to do; "last", without positions too, is read at the last
word instead. About a quarter of the pairs are kept out of training, both ways round. "mirrored" are
those held-out sentences that are another one read backwards, since both things are single words.
The other models of seed 0 after 800 updates are kept in the results file, rounded to float16: they
are the ones in the machine of chapter 07, and `kept` of the file says what `OrderMachine` needs.
"""

import base64
import itertools
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnbook.machines.order_machine import KINDS, LONGEST, SLOPE
from attnkit import masks, positions
from experiments import _record as record
from experiments._training import parameters

DEEDS = (
    "hang them",
    "let them go",
    "stay",
    "leave",
    "sing",
    "wait",
    "feed them",
    "send them home",
    "call them back",
    "pay them now",
    "sit",
    "run",
)
WORDS = tuple(sorted({"not"} | {word for deed in DEEDS for word in deed.split()}))
FILLER, WIDTH, HELD_OUT = len(WORDS), 16, 16  # held out: pairs, both ways round
UPDATES, KEPT, RATE, DECAY, SEEDS = (200, 800, 3200), 800, 0.01, 0.1, (0, 1, 2)
LONGER = ("none", "alibi")  # those that do not obey after 800


def sentence(do: int, other: int) -> list[str]:
    """The words of "do this not that"."""
    return f"{DEEDS[do]} not {DEEDS[other]}".split()


def sentences() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What is held out, the book's own pair first, and what is learned: pairs, both ways round."""
    pairs = list(itertools.combinations(range(len(DEEDS)), 2))
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))
    pairs = sorted((pairs[place] for place in order), key=(0, 1).__ne__)
    ways = [way for one, other in pairs for way in ((one, other), (other, one))]
    return ways[: 2 * HELD_OUT], ways[2 * HELD_OUT :]


def tensors(orders: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Words (N, L) with filler behind, and what to do (N,)."""
    words = torch.full((len(orders), LONGEST), FILLER)
    for row, way in enumerate(orders):
        ids = [WORDS.index(word) for word in sentence(*way)]
        words[row, : len(ids)] = torch.tensor(ids)
    return words, torch.tensor([do for do, _ in orders])


class Judge(nn.Module):
    """One head of self-attention, read at one word: (B, L) words to (B, deeds)."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.word = nn.Embedding(len(WORDS) + 1, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.deed = nn.Linear(WIDTH, len(DEEDS))
        self.place = positions.LearnedPositions(LONGEST, WIDTH) if kind == "learned" else None

    def read(self, words: Tensor) -> Tensor:
        """The outputs of all words, (B, L, WIDTH)."""
        length, x = words.shape[1], self.word(words)
        if self.kind == "sinusoidal":
            x = positions.SinusoidalPositions(WIDTH)(x)
        if self.place is not None:
            x = self.place(x)
        query, key = self.query(x), self.key(x)
        if self.kind == "rotary":
            query, key = positions.rotary(query), positions.rotary(key)
        may = (words != FILLER)[:, None]  # (B, 1, S)
        if self.kind == "causal":
            may = may & masks.causal(length, device=words.device)
        ahead = positions.relative_positions(length, device=words.device)
        bias = -SLOPE * ahead.abs() if self.kind == "alibi" else None
        return attnkit.scaled_dot_product_attention(
            query, key, self.value(x), mask=may, bias=bias
        ).output

    def forward(self, words: Tensor) -> Tensor:
        at = words == WORDS.index("not")
        if self.kind == "last":
            at = F.one_hot((words != FILLER).sum(-1) - 1, words.shape[1]).bool()
        return self.deed(self.read(words)[at])


@torch.no_grad()
def right(model: Judge, orders: list[tuple[int, int]], device: torch.device) -> float:
    """The share of sentences that are obeyed."""
    words, do = (part.to(device) for part in tensors(orders))
    return (model(words).argmax(-1) == do).float().mean().item()


def packed(model: Judge) -> str:
    """Its numbers as float16 in base64, in the order in which `OrderMachine` takes them: words,
    query, key, value, (vectors of places,) answers and their biases; matrices from row to column.
    """
    parts = [model.word.weight[:FILLER]]
    parts += [part.weight.T for part in (model.query, model.key, model.value)]
    parts += [] if model.place is None else [model.place.weight]
    parts += [model.deed.weight.T, model.deed.bias]
    flat = torch.cat([part.detach().flatten() for part in parts]).cpu()
    return base64.b64encode(flat.numpy().astype(np.float16).tobytes()).decode()


def measure(setting: dict, *, device: torch.device) -> dict:
    """Train one model of one seed; return what share it obeys, and its numbers."""
    held_out, known = sentences()
    mirrored = [way for way in held_out if all(" " not in DEEDS[deed] for deed in way)]
    torch.manual_seed(setting["seed"])
    model = Judge(setting["kind"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    words, do = (part.to(device) for part in tensors(known))
    start = time.process_time()
    for _ in range(setting["updates"]):
        loss = F.cross_entropy(model(words), do)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.process_time() - start
    shares = {"learned": known, "held out": held_out, "mirrored": mirrored}
    with torch.no_grad():
        chances = model(tensors([(0, 1), (1, 0)])[0].to(device)).softmax(-1)[:, :2].tolist()
    return {
        "right": {name: right(model, part, device) for name, part in shares.items()},
        "chances": chances,
        "parameters": parameters(model),
        "cpu_seconds": round(seconds, 1),
        "packed": packed(model),
    }


def settings(quick: bool) -> list[dict]:
    """Every kind, number of updates and seed."""
    every = ("none", "last", *KINDS[1:])
    kinds, counts = (("none", "learned"), (3,)) if quick else (every, UPDATES)
    return [
        {"kind": kind, "updates": updates, "seed": seed}
        for seed in SEEDS[: 2 if quick else None]
        for updates in counts
        for kind in kinds
        if updates <= KEPT or kind in LONGER
    ]


def summarise(runs: list[dict]) -> list[dict]:
    """One row for each kind and number of updates."""
    return [
        {
            **same,
            "right": record.median_intervals([run["right"] for run in group]),
            "chances": [run["chances"] for run in group],
        }
        for same, group in record.grouped(runs, ("kind", "updates"))
    ]


def results(runs: list[dict]) -> dict:
    """All that the file says."""
    held_out, known = sentences()
    first = [run for run in runs if run["seed"] == 0 and run["updates"] <= KEPT]
    kept = {run["kind"]: run["packed"] for run in first if run["kind"] != "last"}  # the longest
    return {
        "sentences": {"learned": len(known), "held out": len(held_out)},
        "training": record.training(
            [{**run, "rate": RATE} for run in runs],
            ("kind",),
            score=lambda run: run["right"]["held out"],
            of="held-out sentences obeyed",
            updates="updates",
        ),
        "rows": summarise(runs),
        "kept": {"words": list(WORDS), "deeds": list(DEEDS), "width": WIDTH, "models": kept},
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("orders", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
