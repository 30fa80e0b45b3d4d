"""What all-MiniLM-L6-v2, which people search with, makes of the order of words.

    python -m experiments.word_order            half a minute of one core
    python -m experiments.word_order --quick    a few sentences, in seconds

The model adds a learned vector for each position. It reads with that table as published, with zeros
in its place, and with the mean vector of the first 32 positions at every position, which takes the
order away and leaves what all positions have in common. Three things are asked: how alike "dog
bites man" and "man bites dog" are; of a hundred sentences "the A VERBS the B", whether the passive
("the B is VERBED by the A") is nearer to its own active than to the one with A and B exchanged; and
of the 150 pairs of `similar`, how many find each other. The words were written down before anything
was measured; a tie is a difference of 1e-5 at most, which is rounding.
"""

import random

import torch
from torch import Tensor

from attnlab.pretrained import Reader
from attnlab.pretrained.reader import mean_of_real
from experiments import _minilm as minilm
from experiments import _record as record
from experiments.similar import PAIRS, SEED, pairs

TABLES = ("as published", "zeros", "the mean everywhere")
SENTENCES = ("dog bites man", "man bites dog", "cat eats fish")
NOUNS = ("dog", "man", "woman", "child", "wolf", "king", "teacher", "driver", "soldier", "nurse")
VERBS = {
    "bites": "bitten",
    "follows": "followed",
    "helps": "helped",
    "hates": "hated",
    "calls": "called",
    "kills": "killed",
    "loves": "loved",
    "hires": "hired",
    "fears": "feared",
    "saves": "saved",
}
EVENTS, FIRST, TIE = 100, 32, 1e-5


def events(count: int) -> list[tuple[str, str, str]]:
    """So many different (A, verb, B)."""
    drawn, generator = [], random.Random(SEED)
    while len(drawn) < count:
        event = (*generator.sample(NOUNS, 2), generator.choice(list(VERBS)))
        if event not in drawn:
            drawn.append(event)
    return [(one, verb, other) for one, other, verb in drawn]


def told(event: tuple[str, str, str]) -> tuple[str, str, str]:
    """The active, the active with both exchanged, and the passive of the first."""
    one, verb, other = event
    return (
        f"the {one} {verb} the {other}",
        f"the {other} {verb} the {one}",
        f"the {other} is {VERBS[verb]} by the {one}",
    )


def shuffled(text: str, seed: int) -> str:
    """The words of a text in another order, without its full stop."""
    words = text.rstrip(".!?").split()
    random.Random(seed).shuffle(words)
    return " ".join(words)


def with_table(reader: Reader, name: str) -> None:
    """Put one of TABLES into the model, which is to have the published one."""
    table = reader.model.positions.data
    if name == "zeros":
        table.zero_()
    elif name != "as published":
        table.copy_(table[:FIRST].mean(0).expand_as(table))


@torch.no_grad()
def vectors(reader: Reader, texts: list[str]) -> Tensor:
    """One vector of length 1 for each text, (N, E)."""
    tokens, lengths = reader.batch(texts)
    real = (torch.arange(tokens.shape[1]) < torch.tensor(lengths)[:, None])[:, None]  # (N, 1, L)
    states = reader.model.run(reader.model.embed(tokens), real).states[:, -1]
    return mean_of_real(states, lengths)


def measure(reader: Reader, count: int, texts: list[tuple[str, str]]) -> dict:
    """All numbers of one table."""
    three = vectors(reader, list(SENTENCES))
    sides = zip(*(told(event) for event in events(count)), strict=True)
    active, exchanged, passive = (vectors(reader, list(side)) for side in sides)
    nearer = (passive * (active - exchanged)).sum(-1)  # (N,)
    one, other = (vectors(reader, list(side)) for side in zip(*texts, strict=True))
    likeness = one @ other.T
    found = (likeness.argmax(-1) == torch.arange(len(texts))).sum()
    plain = vectors(reader, [text.rstrip(".!?") for text, _ in texts])
    mixed = vectors(reader, [shuffled(text, n) for n, (text, _) in enumerate(texts)])
    return {
        "alike": {
            "turned round": round((three[0] @ three[1]).item(), 4),
            "another event": round((three[0] @ three[2]).item(), 4),
        },
        "passive": {
            "nearer to its own": int((nearer > TIE).sum()),
            "nearer to the other": int((nearer < -TIE).sum()),
            "tie": int((nearer.abs() <= TIE).sum()),
        },
        "exchanged": record.median_interval((active * exchanged).sum(-1).tolist()),
        "exchanged above 0.9": int(((active * exchanged).sum(-1) > 0.9).sum()),
        "shuffled": record.median_interval((plain * mixed).sum(-1).tolist()),
        "found": int(found),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("word_order", __doc__, argv)
    torch.set_num_threads(1)
    count, texts = (4, pairs(6, SEED)) if chosen.quick else (EVENTS, pairs(PAIRS, SEED))
    rows = []
    for name in TABLES:
        reader = minilm.reader("cpu")
        with_table(reader, name)
        rows.append({"table": name, **measure(reader, count, texts)})
    results = {"events": count, "pairs": len(texts), "sentences": list(SENTENCES), "rows": rows}
    return record.write(
        chosen.out, command=chosen.command, seeds=[SEED], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
