"""One sentence for a docstring: the closest to the mean, against the first.

    python -m experiments.docstrings            about a minute of one core
    python -m experiments.docstrings --quick    a few documents, to see that it runs

A document is a docstring of Python's standard library without its first line (`_docstrings`), and
the first line is the reference. Each method chooses one sentence, scored by ROUGE against it:

    lead        the first
    random      any, with equal chances (the mean over all)
    MiniLM      the largest weight when the document, as the mean of its sentences' vectors from
                all-MiniLM-L6-v2, attends to its sentences; nothing is trained here
    best        that with the highest ROUGE-1: no choice can be better

Intervals are bootstrap intervals (95%) over documents, and so are those of differences from "lead"
and from "random", document by document.
"""

import random
from collections.abc import Sequence
from statistics import fmean

import torch

from attnkit import scaled_dot_product_attention
from attnlab.pretrained import Reader
from experiments import _docstrings as docstrings
from experiments import _minilm as minilm
from experiments import _record as record
from experiments._docstrings import Source

KINDS, SAMPLES = ("rouge1", "rouge2", "rougeL"), 1000
Scores = list[list[dict[str, float]]]


def rouge_of(sources: Sequence[Source]) -> Scores:
    """ROUGE of every sentence of every document against the document's first line."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(KINDS), use_stemmer=False)
    return [
        [
            {kind: score.fmeasure for kind, score in scorer.score(source.summary, text).items()}
            for text in source.sentences
        ]
        for source in sources
    ]


def best_of(scores: Scores) -> list[int]:
    """Of each document the sentence with the highest ROUGE-1, the first of equals."""
    return [max(range(len(one)), key=lambda n: one[n]["rouge1"]) for one in scores]


def by_meaning(reader: Reader, sources: Sequence[Source]) -> list[int]:
    """Of each document the sentence with the largest weight when their mean asks."""
    lengths = [len(source.sentences) for source in sources]
    every = reader.embed([text for source in sources for text in source.sentences], batch_size=16)
    found = []
    for vectors in every.split(lengths):  # (N, E)
        query = vectors.mean(0, keepdim=True)  # (1, E)
        _, weights = scaled_dot_product_attention(query, vectors, vectors, need_weights=True)
        found.append(int(weights.argmax()))
    return found


def bootstrap(values: Sequence[float]) -> dict[str, float]:
    """The mean with its 95% interval over resampled documents."""
    draw = random.Random(0)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(SAMPLES))
    low, high = means[int(0.025 * SAMPLES)], means[int(0.975 * SAMPLES)]
    return {"mean": round(fmean(values), 5), "low": round(low, 5), "high": round(high, 5)}


def row(name: str, found: dict[str, dict[str, list[float]]]) -> dict:
    """What the file says of a method, from the ROUGE of every method and document."""
    own = found[name]
    return {
        "method": name,
        **{kind: bootstrap(values) for kind, values in own.items()},
        **{
            f"from_{rival}": bootstrap(
                [a - b for a, b in zip(own["rouge1"], found[rival]["rouge1"], strict=True)]
            )
            for rival in ("lead", "random")
        },
    }


def measure(reader: Reader, quick: bool) -> dict:
    """All numbers of the file."""
    test = docstrings.python_library(quick)
    test = test[:8] if quick else test
    scores = rouge_of(test)
    best = best_of(scores)
    every = {
        "lead": [0] * len(test),
        "random": None,
        "MiniLM": by_meaning(reader, test),
        "best": best,
    }
    found = {name: _per_document(scores, chosen) for name, chosen in every.items()}
    return {
        "documents": len(test),
        "sentences": sum(len(source.sentences) for source in test),
        "best_is_first": round(fmean(place == 0 for place in best), 5),
        "rows": [row(name, found) for name in found],
        "examples": [
            {
                "name": source.name,
                "summary": source.summary,
                "sentences": source.sentences,
                "lead": source.sentences[0],
                "MiniLM": source.sentences[place],
            }
            for source, place in list(zip(test, every["MiniLM"], strict=True))[:: len(test) // 8]
        ],
    }


def _per_document(scores: Scores, chosen: list[int] | None) -> dict[str, list[float]]:
    """ROUGE of each document; None stands for the mean over all sentences."""
    return {
        kind: [
            fmean(one[kind] for one in of) if chosen is None else of[chosen[n]][kind]
            for n, of in enumerate(scores)
        ]
        for kind in KINDS
    }


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("docstrings", __doc__, argv)
    torch.set_num_threads(1)
    results = measure(minilm.reader("cpu"), chosen.quick)
    return record.write(
        chosen.out,
        command=chosen.command,
        seeds=[0],
        device=torch.device("cpu"),
        results=results,
    )


if __name__ == "__main__":
    main()
