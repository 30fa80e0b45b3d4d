"""Does the closest sentence say whether a text answers at all, or says what is claimed of it?

    python -m experiments.answered            about two minutes of one core
    python -m experiments.answered --quick    a few claims, in seconds

The pairs are those of `similar`: English sentences with the same French translation in Tatoeba. A
text is eight first sentences of pairs, and a claim the second of a pair. It is *said* when the text
holds the first of its pair, and *not said* when another has its place. Where the claim has one
auxiliary and no *not*, a *not* is put after it: the text then says the opposite, *denied*. The
control for that edit is a *really* in the same place, which changes nothing: *stressed*.

all-MiniLM-L6-v2 gives a vector to each sentence. Of every claim there are the largest cosine with a
sentence of the text and the largest weight of the softmax of 20 times the cosines; and, as the
baseline without a model, the largest share of the claim's words that a sentence has. "parted" says
how often, of two claims, one that is said and one of another kind, the said one has the larger
number: 0.5 is a coin. Its interval is a bootstrap interval (95%) over claims.
"""

import random
import re

import torch

from attnlab.pretrained import Reader
from experiments import _minilm as minilm
from experiments import _record as record
from experiments import similar

SEED, SENTENCES, SCALE, SAMPLES = 0, 8, 20.0, 200
EVERY = 10**9  # all pairs that there are
AUXILIARY = re.compile(
    r"\b(am|is|are|was|were|can|could|will|would|should|must|may|might|'m|'re|'ll)\b", re.IGNORECASE
)
NEGATED = re.compile(r"\b(not|never|no|nothing|nobody|none|cannot|hardly)\b|n't", re.IGNORECASE)
NUMBERS = ("cosine", "weight", "words")


def with_word(claim: str, word: str) -> str | None:
    """The claim with a word after its auxiliary; None for a question, a denial, or without one.

    Example:
        >>> with_word("The tea is cold.", "not")
        'The tea is not cold.'
        >>> with_word("Is the tea cold?", "not"), with_word("It isn't.", "not")
        (None, None)
    """
    found = list(AUXILIARY.finditer(claim))
    if len(found) != 1 or claim.endswith("?") or NEGATED.search(claim):
        return None
    at = found[0].end()
    return f"{claim[:at]} {word}{claim[at:]}"


def texts(pairs: list[tuple[str, str]], seed: int) -> list[list[str]]:
    """Of each pair a text of `SENTENCES` first sentences, of which the first is the pair's own and
    the last stands in its place where the claim is not said."""
    draw, firsts = random.Random(seed), [first for first, _ in pairs]
    found = []
    for own in range(len(pairs)):
        others = draw.sample([n for n in range(len(pairs)) if n != own], SENTENCES)
        found.append([firsts[own], *(firsts[n] for n in others)])
    return found


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w']+", text.lower()))


def numbers(claim: str, sentences: list[str], vectors: dict[str, torch.Tensor]) -> list[float]:
    """The largest cosine, weight and share of words, of one claim and one text."""
    cosines = torch.stack([vectors[one] for one in sentences]) @ vectors[claim]
    shares = [len(words(claim) & words(one)) / len(words(claim)) for one in sentences]
    found = (cosines.max(), (SCALE * cosines).softmax(-1).max(), max(shares))
    return [round(float(value), 4) for value in found]


def parted(said: list[float], other: list[float]) -> dict[str, float]:
    """How often the said one has the larger number, a tie for half; with its interval."""
    one, two = torch.tensor(said), torch.tensor(other)

    def share(a: torch.Tensor, b: torch.Tensor) -> float:
        return ((a[:, None] > b).double() + (a[:, None] == b).double() / 2).mean().item()

    generator, drawn = torch.Generator().manual_seed(0), []
    for _ in range(SAMPLES):
        rows = torch.randint(len(one), (len(one),), generator=generator)
        columns = torch.randint(len(two), (len(two),), generator=generator)
        drawn.append(share(one[rows], two[columns]))
    drawn.sort()
    low, high = drawn[int(0.025 * SAMPLES)], drawn[int(0.975 * SAMPLES) - 1]
    return {"share": round(share(one, two), 4), "low": round(low, 4), "high": round(high, 4)}


def measure(reader: Reader, count: int) -> dict:
    """All numbers of the file."""
    pairs = similar.pairs(count, SEED)
    edited = {
        word: {n: text for n, (_, b) in enumerate(pairs) if (text := with_word(b, word))}
        for word in ("not", "really")
    }
    every = [text for pair in pairs for text in pair]
    every += [text for found in edited.values() for text in found.values()]
    every = sorted(set(every), key=len)  # little padding
    vectors = dict(zip(every, reader.embed(every), strict=True))
    made, kinds = texts(pairs, SEED), {}
    kinds["said"] = [(b, made[n][:-1]) for n, (_, b) in enumerate(pairs)]
    kinds["not said"] = [(b, made[n][1:]) for n, (_, b) in enumerate(pairs)]
    kinds["denied"] = [(text, made[n][:-1]) for n, text in edited["not"].items()]
    kinds["stressed"] = [(text, made[n][:-1]) for n, text in edited["really"].items()]
    found = {
        kind: torch.tensor([numbers(*case, vectors) for case in cases]).T.tolist()
        for kind, cases in kinds.items()
    }
    return {
        "pairs": len(pairs),
        "sentences": SENTENCES,
        "scale": SCALE,
        "rows": [
            {
                "kind": kind,
                "claims": len(kinds[kind]),
                "example": {"claim": kinds[kind][0][0], "of": kinds[kind][0][1][0]},
                **dict(zip(NUMBERS, ([round(v, 4) for v in row] for row in rows), strict=True)),
            }
            for kind, rows in found.items()
        ],
        "parted": {
            "said from not said": {
                name: parted(found["said"][at], found["not said"][at])
                for at, name in enumerate(NUMBERS)
            },
            "stressed from denied": {
                name: parted(found["stressed"][at], found["denied"][at])
                for at, name in enumerate(NUMBERS)
            },
        },
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("answered", __doc__, argv)
    torch.set_num_threads(1)
    results = measure(minilm.reader("cpu"), 24 if chosen.quick else EVERY)
    return record.write(
        chosen.out, command=chosen.command, seeds=[SEED], device=chosen.device, results=results
    )


if __name__ == "__main__":
    main()
