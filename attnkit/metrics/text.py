"""BLEU of translations and ROUGE of summaries, by the libraries that define them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from attnkit import checks


class Bleu(NamedTuple):
    """A BLEU score from 0 to 100, sacrebleu's signature for it, and the score's make-up."""

    score: float
    signature: str
    details: str


def bleu(*, hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Bleu:
    """Corpus BLEU (Papineni et al. 2002) by sacrebleu (Post 2018), with its signature.

    The arguments have names because BLEU with the two swapped gives a plausible wrong number.

    Args:
        hypotheses: what the system said, as plain text, one string for each sentence.
        references: what it should have said, one string for each.
        tokenize: sacrebleu's tokenizer; leave it at "13a" to compare with others.

    Raises:
        ImportError: sacrebleu is not installed.
        TypeError: something is not a string.
        ValueError: there are not as many hypotheses as references, or none.

    >>> bleu(hypotheses=["the cat sat down"], references=["the cat sat down"]).score
    100.00000000000004
    """
    _texts(hypotheses=hypotheses, references=references)
    metric = _library("sacrebleu").BLEU(tokenize=tokenize)
    score = metric.corpus_score(list(hypotheses), [list(references)])
    return Bleu(score.score, str(metric.get_signature()), str(score))


def rouge(*, hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Mean ROUGE-1, ROUGE-2 and ROUGE-L F-measures (Lin 2004), 0 to 1, by rouge-score.

    Arguments and errors are those of `bleu`. Words are not stemmed.

    >>> rouge(hypotheses=["the cat sat"], references=["the cat sat down"])["rouge1"]
    0.8571428571428571
    """
    _texts(hypotheses=hypotheses, references=references)
    kinds = ("rouge1", "rouge2", "rougeL")
    scorer = _library("rouge_score.rouge_scorer").RougeScorer(list(kinds), use_stemmer=False)
    scores = [
        scorer.score(reference, hypothesis)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return {kind: sum(score[kind].fmeasure for score in scores) / len(scores) for kind in kinds}


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0].replace("_", "-")
        raise ImportError(
            f"{package}: expected to be installed (pip install 'attnkit[metrics]'), got {error}"
        ) from error


def _texts(**given: Sequence[str]) -> None:
    for name, texts in given.items():
        if isinstance(texts, str):
            checks.fail(name, "a list of strings, one a sentence", "one string", TypeError)
        for text in texts:
            if not isinstance(text, str):
                checks.fail(name, "plain strings", f"{type(text).__name__} {text!r}", TypeError)
    (first, one), (second, other) = given.items()
    checks.same_number(second, other, first, one)
    if not len(one):
        checks.fail(first, "at least one sentence", "none")
