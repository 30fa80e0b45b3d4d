"""BLEU, chrF and ROUGE, by the libraries that define them."""

from collections.abc import Sequence
from typing import NamedTuple

from attnkit.guard import checks


class Bleu(NamedTuple):
    """A BLEU score from 0 to 100, sacrebleu's signature for it, and the score's make-up."""

    score: float
    signature: str
    details: str


class Chrf(NamedTuple):
    """A chrF score from 0 to 100, and sacrebleu's signature for it."""

    score: float
    signature: str


References = Sequence[str] | Sequence[Sequence[str]]


def bleu(
    *,
    hypotheses: Sequence[str],
    references: References,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Bleu:
    """Corpus BLEU (Papineni et al. 2002) by sacrebleu (Post 2018), with its signature.

    The arguments have names because BLEU with the two swapped gives a plausible wrong number.

    Args:
        hypotheses: the system's output as plain text, one string for each sentence.
        references: the right output: one string for each, or a list of strings for each,
            any of which is right, as `tasks.references` makes them.
        tokenize: sacrebleu's tokenizer; leave it at "13a" to compare with others.
        lowercase: score in lower case on both sides.

    Raises:
        ImportError: sacrebleu is not installed.
        TypeError: something is not a string.
        ValueError: there are not as many hypotheses as references, or none, or a sentence has no
            reference.

    >>> bleu(hypotheses=["the cat sat down"], references=["the cat sat down"]).score
    100.00000000000004
    >>> several = [["a cat sat on the mat", "The cat sat down"]]
    >>> bleu(hypotheses=["the cat sat down"], references=several, lowercase=True).score
    100.00000000000004
    """
    checks.flag("lowercase", lowercase)
    columns = _columns(hypotheses, references)
    metric = checks.installed("sacrebleu", "metrics").BLEU(tokenize=tokenize, lowercase=lowercase)
    score = metric.corpus_score(list(hypotheses), columns)
    return Bleu(score.score, str(metric.get_signature()), str(score))


def chrf(*, hypotheses: Sequence[str], references: References, lowercase: bool = False) -> Chrf:
    """Corpus chrF (Popovic 2015), an F-score of runs of characters, by sacrebleu.

    It gives credit for half a word, such as the right verb in the wrong form. Arguments and
    errors are those of `bleu`.

    >>> round(chrf(hypotheses=["the cats sat"], references=["the cat sat"]).score)
    75
    """
    checks.flag("lowercase", lowercase)
    columns = _columns(hypotheses, references)
    metric = checks.installed("sacrebleu", "metrics").CHRF(lowercase=lowercase)
    score = metric.corpus_score(list(hypotheses), columns)
    return Chrf(score.score, str(metric.get_signature()))


def rouge(*, hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Mean ROUGE-1, ROUGE-2 and ROUGE-L F-measures (Lin 2004), 0 to 1, by rouge-score.

    Arguments and errors are those of `bleu`. Words are not stemmed.

    >>> rouge(hypotheses=["the cat sat"], references=["the cat sat down"])["rouge1"]
    0.8571428571428571
    """
    _texts(hypotheses, references)
    kinds = ("rouge1", "rouge2", "rougeL")
    library = checks.installed("rouge_score.rouge_scorer", "metrics")
    scorer = library.RougeScorer(list(kinds), use_stemmer=False)
    scores = [
        scorer.score(reference, hypothesis)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return {kind: sum(score[kind].fmeasure for score in scores) / len(scores) for kind in kinds}


def _columns(hypotheses: Sequence[str], references: References) -> list[list[str | None]]:
    """Check both sides, and return the references as sacrebleu wants them: the first of every
    sentence, then the second of every one, with None where there is none."""
    if isinstance(references, str):
        _plain("references", references)
    several = [[given] if isinstance(given, str) else given for given in references]
    for given in several:
        _plain("references", given)
        if not len(given):
            checks.fail("references", "at least one for each sentence", "none for one of them")
    _texts(hypotheses, [given[0] for given in several])
    most = max(map(len, several))
    rows = [[*given, *[None] * (most - len(given))] for given in several]
    return [list(column) for column in zip(*rows, strict=True)]


def _texts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    _plain("hypotheses", hypotheses)
    _plain("references", references)
    checks.same_number("references", references, "hypotheses", hypotheses)
    checks.not_empty("hypotheses", hypotheses, "at least one sentence")


def _plain(name: str, texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        checks.fail(name, "a list of strings, one a sentence", "one string", TypeError)
    for text in texts:
        if not isinstance(text, str):
            checks.fail(name, "plain strings", checks.described(text), TypeError)
