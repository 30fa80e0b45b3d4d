"""One sentence for a docstring: attention, trained and published, against the first sentence.

    python -m experiments.docstrings            about 5 minutes of one core
    python -m experiments.docstrings --quick    a few documents, to see that it runs

A document is a docstring of Python's standard library without its first line (`_docstrings`), and
the first line is the reference. Each method chooses one sentence, scored by ROUGE against it:

    lead        the first
    random      any, with equal chances (the mean over all)
    longest     that with the most words
    MiniLM      the largest weight when the document, as the mean of its sentences' vectors from
                all-MiniLM-L6-v2, attends to its sentences; nothing is trained here
    trained     a `Summarizer`, trained on docstrings of other packages to choose the best sentence
    numbered    the same, when each sentence begins with its number, so that order can be learned
    salient     a `Summarizer`, trained on the documents of `tasks.salient`
    best        that with the highest ROUGE-1: no choice can be better

Intervals of methods without seeds are bootstrap intervals (95%) over documents, and so are those of
differences from "lead" and from "random", document by document; a trained method's score of a
document is its mean over seeds.
"""

import random
import warnings
from collections.abc import Sequence
from functools import cache
from statistics import fmean

import torch

from attnkit import scaled_dot_product_attention
from attnlab import Summarizer, tasks, training
from attnlab.applications import summary_loss
from attnlab.pretrained import Reader
from attnlab.tasks import Document, DocumentBatches, Vocab, tokenize
from experiments import _docstrings as docstrings
from experiments import _minilm as minilm
from experiments import _record as record
from experiments._docstrings import Source

SEEDS, KINDS, SAMPLES = (0, 1, 2, 3, 4), ("rouge1", "rouge2", "rougeL"), 1000
SIZES = {"embed_dim": 32, "num_heads": 4, "num_layers": 1, "dropout": 0.1}
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


def trained_on(known: Sequence[Document], seed: int, steps: int) -> Summarizer:
    """A summarizer that has learned these documents; words seen once are unknown."""
    lines = [sentence for document in known for sentence in document.sentences]
    vocab = Vocab.build(lines, min_count=2)
    torch.manual_seed(seed)
    model = Summarizer(vocab, **SIZES)
    batches = DocumentBatches(known, vocab, batch_size=16, seed=seed)
    training.fit(
        model, batches, steps=steps, lr=3e-3, loss=summary_loss, seed=seed, device="cpu",
        progress=False,
    )  # fmt: skip
    return model


def as_documents(sources: Sequence[Source]) -> list[Document]:
    """The documents in which only the best sentence matters."""
    best = best_of(rouge_of(sources))
    return [
        Document(tuple(tuple(tokenize(text)) for text in source.sentences), (place,), ())
        for source, place in zip(sources, best, strict=True)
    ]


def numbered(documents: Sequence[Document]) -> list[Document]:
    """The documents with the number of each sentence as its first word, counted from 0."""
    return [
        document._replace(
            sentences=tuple((f"#{n}", *words) for n, words in enumerate(document.sentences))
        )
        for document in documents
    ]


def picks(model: Summarizer, items: Sequence[Document]) -> list[int]:
    """The sentence that the model scores highest in each document."""
    documents = [document.sentences for document in items]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of words that it does not know: they are counted here
        return [summary.chosen[0] for summary in model.summarize_all(documents, 1)]


@cache
def corpora(quick: bool) -> tuple[list[Source], list[Source]]:
    """The documents to test on, and those to train on."""
    library = docstrings.python_library(quick)
    return (library[:8], library[8:24]) if quick else (library, docstrings.packages())


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
    test, known = corpora(quick)
    scores = rouge_of(test)
    steps, seeds = (4, SEEDS[:2]) if quick else (150, SEEDS)
    made_up = tasks.salient(64 if quick else 1600, seed=1000)
    learned, asked = as_documents(known), as_documents(test)
    ours = [picks(trained_on(learned, seed, steps), asked) for seed in seeds]
    placed = [picks(trained_on(numbered(learned), seed, steps), numbered(asked)) for seed in seeds]
    others = [picks(trained_on(made_up, seed, steps), asked) for seed in seeds[:3]]
    every = {
        "lead": [[0] * len(test)],
        "random": None,
        "longest": [[_longest(source.sentences) for source in test]],
        "MiniLM": [by_meaning(reader, test)],
        "trained": ours,
        "numbered": placed,
        "salient": others,
        "best": [best_of(scores)],
    }
    found = {name: _per_document(scores, chosen) for name, chosen in every.items()}
    best = best_of(scores)
    return {
        "documents": len(test),
        "sentences": sum(len(source.sentences) for source in test),
        "trained_on": len(known),
        "steps": steps,
        "best_is_first": round(fmean(place == 0 for place in best), 5),
        "unknown": round(_unknown(test, known), 5),
        "unknown_to_salient": round(_unknown(test, made_up), 5),
        "rows": [row(name, found) for name in found],
        "examples": [
            {
                "name": source.name,
                "summary": source.summary,
                "sentences": source.sentences,
                "lead": source.sentences[0],
                "MiniLM": source.sentences[place],
            }
            for source, place in list(zip(test, every["MiniLM"][0], strict=True))[:: len(test) // 8]
        ],
    }


def _longest(sentences: Sequence[str]) -> int:
    return max(range(len(sentences)), key=lambda n: len(sentences[n].split()))


def _per_document(scores: Scores, chosen: list[list[int]] | None) -> dict[str, list[float]]:
    """ROUGE of each document, the mean over the runs; None stands for every sentence in turn."""
    return {
        kind: [
            fmean(one[kind] for one in of)
            if chosen is None
            else fmean(of[run[n]][kind] for run in chosen)
            for n, of in enumerate(scores)
        ]
        for kind in KINDS
    }


def _unknown(test: Sequence[Source], known: Sequence[Source | Document]) -> float:
    """Share of the words of `test` that stand less than twice in `known`."""
    lines = [
        tokenize(line) if isinstance(line, str) else line
        for item in known
        for line in item.sentences
    ]
    vocab = Vocab.build(lines, min_count=2)
    words = [word for source in test for text in source.sentences for word in tokenize(text)]
    return fmean(word not in vocab for word in words)


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("docstrings", __doc__, argv)
    torch.set_num_threads(1)
    results = measure(minilm.reader("cpu"), chosen.quick)
    return record.write(
        chosen.out,
        command=chosen.command,
        seeds=SEEDS[:2] if chosen.quick else SEEDS,
        device=torch.device("cpu"),
        results=results,
    )


if __name__ == "__main__":
    main()
