"""The model of chapter 13's race: three nursery rhymes by heart, each from its first word.

    python -m experiments.songs            three seeds, two budgets: two minutes of one core
    python -m experiments.songs --quick    tiny, to see that it runs

A decoder of Llama's form, of two layers, learns the beginnings of three rhymes of the public
domain, whole and in cuts that begin later, so that it cannot tell the next word by its place. It is
tested on those: how many words does it write as they stand, from the first word alone? Weights are
rounded to float16, which is what a page gets; seed 0 of the longer training is kept in `models/`.
"""

import itertools
import time
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import recorded
from attnlab import files
from attnlab.transformer import LanguageModel
from experiments import _record as record
from experiments._training import cosine, parameters

SEEDS, BUDGETS, RATE, LONGEST = (0, 1, 2), (400, 800), 0.004, 201
MODEL = {"embed_dim": 48, "num_heads": 4, "num_layers": 2, "hidden_dim": 96, "dropout": 0.0,
         "norm": "rms", "gated": True, "activation": "silu", "bias": False}  # fmt: skip
FILE = "songs"
LINE = "/"
"""The word that ends a line."""

NUMBERS = ["ten", "nine", "eight", "seven", "six", "five", "four", "three", "two", "one", "no"]
DAYS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]
GIFTS = ("a partridge in a pear tree", "two turtle doves", "three french hens",
         "four calling birds", "five gold rings", "six geese laying", "seven swans swimming",
         "eight maids milking")  # fmt: skip
WHO = ("malt", "rat", "cat", "dog", "cow with the crumpled horn", "maiden all forlorn",
       "man all tattered and torn", "priest all shaven and shorn")  # fmt: skip
DID = ("lay in", "ate", "killed", "worried", "tossed", "milked", "kissed", "married")


def bottles() -> Iterator[str]:
    """Lines of "Ten green bottles"."""
    for now, then in itertools.pairwise(NUMBERS):
        several, left = ("bottle" if n == "one" else "bottles" for n in (now, then))
        yield from [f"{now} green {several} hanging on the wall"] * 2
        yield "and if one green bottle should accidentally fall"
        yield f"there will be {then} green {left} hanging on the wall"


def christmas() -> Iterator[str]:
    """Lines of "The twelve days of Christmas"."""
    for n, day in enumerate(DAYS):
        yield f"on the {day} day of christmas my true love gave to me"
        yield from reversed(GIFTS[1 : n + 1])
        yield f"and {GIFTS[0]}" if n else GIFTS[0]


def jack() -> Iterator[str]:
    """Lines of "The house that Jack built"."""
    chain = "the house that jack built"
    yield f"this is {chain}"
    for who, did in zip(WHO, DID, strict=True):
        chain = f"the {who} that {did} {chain}"
        yield f"this is {chain}"


SONGS = {
    "Ten green bottles": bottles,
    "The twelve days of Christmas": christmas,
    "The house that Jack built": jack,
}


def words() -> list[list[str]]:
    """The first `LONGEST` words of each song, with `LINE` at the end of each line."""
    return [
        [word for line in lines() for word in (*line.split(), LINE)][:LONGEST]
        for lines in SONGS.values()
    ]


def encoded() -> tuple[list[str], Tensor]:
    """The vocabulary in its order, and the songs (3, `LONGEST`)."""
    songs = words()
    vocab = sorted({word for song in songs for word in song})
    return vocab, torch.tensor([[vocab.index(word) for word in song] for song in songs])


def measure(setting: dict, *, device: torch.device, command: str, save: bool) -> dict:
    """Train and round one model; count the words that it writes as they stand."""
    seed, steps = setting["seed"], setting["steps"]
    vocab, songs = encoded()
    torch.manual_seed(seed)
    model = LanguageModel(len(vocab), **MODEL).to(device)
    songs = songs.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine(steps, warm_up=50))
    start = time.process_time()
    for step in range(steps):
        cut = songs[:, torch.randint(LONGEST // 2, ()).item() :] if step % 2 else songs
        logits = model(cut[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), cut[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    seconds = round(time.process_time() - start, 1)
    model = model.eval().cpu().half().float()
    songs = songs.cpu()
    written = model.generate(songs[:, :1], LONGEST - 1, temperature=0).tokens
    right = (written == songs[:, 1:]).sum(1)
    if save and (seed, steps) == (SEEDS[0], BUDGETS[-1]):
        about = {"seed": seed, "steps": steps, "rate": RATE, "command": command}
        told = dict(zip(SONGS, words(), strict=True))
        state = {"vocab": vocab, "songs": told, "heads": MODEL["num_heads"], "about": about}
        weights = {name: x.half() for name, x in model.state_dict().items() if name[:3] != "out"}
        files.save_tensors(recorded.model_file(FILE), weights, state)
    return {
        "parameters": parameters(model),
        "cpu_seconds": seconds,
        "words": LONGEST - 1,
        "right": dict(zip(SONGS, right.tolist(), strict=True)),
    }


def settings(quick: bool) -> list[dict]:
    """All seeds, each with both budgets."""
    seeds, budgets = (SEEDS[:2], (3,)) if quick else (SEEDS, BUDGETS)
    return [{"seed": seed, "steps": steps} for seed in seeds for steps in budgets]


def summarise(runs: Sequence[dict]) -> list[dict]:
    """One row for each number of updates: the words of each song that are right."""
    return [
        {
            **same,
            "words": group[0]["words"],
            "right": {
                song: record.median_interval([run["right"][song] for run in group])
                for song in SONGS
            },
        }
        for same, group in record.grouped(runs, ("steps",))
    ]


def main(argv: list[str] | None = None) -> dict:
    """Run everything and write the results file; return what was written."""
    chosen = record.options("songs", __doc__, argv)
    return record.run(
        chosen,
        settings=settings,
        measure=record.keeping(measure, chosen),
        results=lambda runs: {
            "training": record.training(
                [run | {"rate": RATE, "songs": len(SONGS)} for run in runs],
                ("songs",),
                score=lambda run: sum(run["right"].values()) / (len(SONGS) * run["words"]),
                of="words written as the songs have them, from the first word alone",
            ),
            "rows": summarise(runs),
        },
    )


if __name__ == "__main__":
    main()
