"""What all-MiniLM-L6-v2, which people search with, makes of the order of words.

    python -m experiments.word_order            half a minute of one core
    python -m experiments.word_order --quick    a few sentences, in seconds

The model adds a learned vector for each position. It reads with that table as published, and with
zeros in its place, which takes the order away. Two things are asked: how alike "dog bites man" and
"man bites dog" are, and of all sentences "the A VERBS the B" of ten nouns and ten verbs, whether
the passive ("the B is VERBED by the A") is nearer to its own active than to the one with A and B
exchanged. The words were written down before anything was measured; a tie is a difference of 1e-5
at most, which is rounding.
"""

import itertools

import torch
from torch import Tensor

from attnlab.pretrained import Reader
from attnlab.pretrained.reader import mean_of_real
from experiments import _minilm as minilm
from experiments import _record as record

TABLES = ("as published", "all zeros")
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
EVENTS = [(one, verb, other) for one, other in itertools.permutations(NOUNS, 2) for verb in VERBS]
TIE = 1e-5


def told(event: tuple[str, str, str]) -> tuple[str, str, str]:
    """The active, the active with both exchanged, and the passive of the first."""
    one, verb, other = event
    return (
        f"the {one} {verb} the {other}",
        f"the {other} {verb} the {one}",
        f"the {other} is {VERBS[verb]} by the {one}",
    )


@torch.no_grad()
def vectors(reader: Reader, texts: list[str]) -> Tensor:
    """One vector of length 1 for each text, (N, E)."""
    tokens, lengths = reader.batch(texts)
    real = (torch.arange(tokens.shape[1]) < torch.tensor(lengths)[:, None])[:, None]  # (N, 1, L)
    states = reader.model.run(reader.model.embed(tokens), real).states[:, -1]
    return mean_of_real(states, lengths)


def measure(reader: Reader, events: list[tuple[str, str, str]]) -> dict:
    """All numbers of one table."""
    three = vectors(reader, list(SENTENCES))
    sides = zip(*map(told, events), strict=True)
    active, exchanged, passive = (vectors(reader, list(side)) for side in sides)
    nearer = (passive * (active - exchanged)).sum(-1)  # (N,)
    own = [event for event, by in zip(events, nearer, strict=True) if by > TIE]
    return {
        "alike": {
            "turned round": round((three[0] @ three[1]).item(), 4),
            "another event": round((three[0] @ three[2]).item(), 4),
        },
        "passive": {
            "nearer to its own": len(own),
            "nearer to the other": int((nearer < -TIE).sum()),
            "tie": int((nearer.abs() <= TIE).sum()),
            "nearer by": record.median_interval(nearer.tolist()),
            "own by verb": {verb: sum(event[1] == verb for event in own) for verb in VERBS},
        },
        "exchanged": record.median_interval((active * exchanged).sum(-1).tolist()),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("word_order", __doc__, argv)
    torch.set_num_threads(1)
    events = EVENTS[:4] if chosen.quick else EVENTS
    rows = []
    for name in TABLES:
        reader = minilm.reader("cpu")
        if name == "all zeros":
            reader.model.positions.data.zero_()
        rows.append({"table": name, **measure(reader, events)})
    results = {"events": len(events), "sentences": list(SENTENCES), "rows": rows}
    return record.write(
        chosen.out, command=chosen.command, seeds=[], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
