"""Does a weight say whether a text answers, when it does so twice, or in another crowd?

    python -m experiments.company            about three minutes of one core
    python -m experiments.company --quick    a few claims, in seconds

The pairs, texts and numbers are those of `answered`: a claim, and a text of eight sentences that
says it in other words or does not. Here the sentence that says it stands there *twice*, as in a
thread whose replies quote what they reply to. The controls: a claim that is not said meets a text
in which the stranger that has the place stands there twice; and a claim that is said once meets a
text in which a stranger stands there twice.

A weight is a share, so it also depends on how many share it. "crowds" has texts of 2, 8, 32 and 128
sentences, said and not said, and how often, of a claim that is said among 128 and one that is not
said among 2, the said one has the larger number.
"""

import random

import torch

from attnlab.pretrained import Reader
from experiments import _minilm as minilm
from experiments import _record as record
from experiments import answered, similar

CROWDS = (2, 8, 32, 128)
NUMBERS = ("cosine", "weight")


def twice(text: list[str]) -> dict[str, list[str]]:
    """A text of `answered.texts` with one of its sentences twice, by what that says of the claim.

    Example:
        >>> twice(list("abcd"))["said twice"], twice(list("abcd"))["said, a stranger twice"]
        (['a', 'a', 'b'], ['a', 'b', 'b'])
        >>> twice(list("abcd"))["not said, a stranger twice"]
        ['d', 'd', 'b']
    """
    own, *others, instead = text
    return {
        "said twice": [own, own, *others[:-1]],
        "not said, a stranger twice": [instead, instead, *others[:-1]],
        "said, a stranger twice": [own, others[0], *others[:-1]],
    }


def crowd(pairs: list[tuple[str, str]], size: int, seed: int) -> list[list[str]]:
    """Of each pair its first sentence and `size` of other pairs."""
    draw, firsts = random.Random(seed), [first for first, _ in pairs]
    drawn = (draw.sample([n for n in range(len(pairs)) if n != own], size)
             for own in range(len(pairs)))  # fmt: skip
    return [[firsts[own], *(firsts[n] for n in others)] for own, others in enumerate(drawn)]


def measure(reader: Reader, count: int) -> dict:
    """All numbers of the file."""
    pairs = similar.pairs(count, answered.SEED)
    claims = [claim for _, claim in pairs]
    every = sorted({text for pair in pairs for text in pair}, key=len)  # little padding
    vectors = dict(zip(every, reader.embed(every), strict=True))

    def found(texts: list[list[str]]) -> dict[str, list[float]]:
        rows = (answered.numbers(*case, vectors)[:2] for case in zip(claims, texts, strict=True))
        return dict(zip(NUMBERS, map(list, zip(*rows, strict=True)), strict=True))

    def parted(one: dict, other: dict) -> dict:
        return {name: answered.parted(one[name], other[name]) for name in NUMBERS}

    changed = [twice(text) for text in answered.texts(pairs, answered.SEED)]
    rows = {kind: found([one[kind] for one in changed]) for kind in changed[0]}
    stranger = rows["not said, a stranger twice"]
    sizes, crowds = [size for size in CROWDS if size < len(pairs)], {}
    for size in sizes:
        texts = crowd(pairs, size, answered.SEED)
        crowds[size] = found([one[:-1] for one in texts]), found([one[1:] for one in texts])
    least, most = sizes[0], sizes[-1]
    return {
        "pairs": len(pairs),
        "sentences": answered.SENTENCES,
        "scale": answered.SCALE,
        "rows": [{"kind": kind, "claims": len(claims)} | row for kind, row in rows.items()],
        "parted": {
            "said twice": parted(rows["said twice"], stranger),
            "said, a stranger twice": parted(rows["said, a stranger twice"], stranger),
        },
        "crowds": [{"sentences": size} | parted(*crowds[size]) for size in sizes],
        "mixed": {"said": most, "not said": least} | parted(crowds[most][0], crowds[least][1]),
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("company", __doc__, argv)
    torch.set_num_threads(1)
    results = measure(minilm.reader("cpu"), 24 if chosen.quick else answered.EVERY)
    return record.write(
        chosen.out,
        command=chosen.command,
        seeds=[answered.SEED],
        device=chosen.device,
        results=results,
    )


if __name__ == "__main__":
    main()
