"""Scores for tasks with known answers: accuracy, alignment, entropy, text, ranking."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnkit import checks
from attnkit.intervals import Interval, wilson

Link = tuple[int, int]


def exact_match(*, predicted: Sequence[Sequence], expected: Sequence[Sequence]) -> list[bool]:
    """Say of each sequence whether all of it is right.

    Raises:
        ValueError: there are not as many predicted as expected.

    >>> exact_match(predicted=["abc", "ab"], expected=["abc", "abc"])
    [True, False]
    """
    _same_number("predicted", predicted, "expected", expected)
    return [list(got) == list(want) for got, want in zip(predicted, expected, strict=True)]


def token_accuracy(*, predicted: Sequence[Sequence], expected: Sequence[Sequence]) -> float:
    """Share of places that hold the right token, over all sequences together.

    A sequence that is too short or too long counts its missing or surplus places as wrong.

    Raises:
        ValueError: there are not as many predicted as expected, or no tokens at all.

    >>> token_accuracy(predicted=["abc", "ab"], expected=["abd", "abcd"])
    0.5714285714285714
    """
    _same_number("predicted", predicted, "expected", expected)
    right = total = 0
    for got, want in zip(predicted, expected, strict=True):
        right += sum(a == b for a, b in zip(got, want, strict=False))
        total += max(len(got), len(want))
    if not total:
        checks.fail("expected", "at least one token", "none")
    return right / total


def accuracy_by_length(
    correct: Sequence[bool], lengths: Sequence[int], *, confidence: float = 0.95
) -> dict[int, Interval]:
    """Share of right answers for each length, with its Wilson interval.

    Args:
        correct: for each example, whether it was right; what `exact_match` returns.
        lengths: the length of each example.
        confidence: of the interval.

    Raises:
        TypeError: something in `correct` is not a bool, or a length is not an int.
        ValueError: there are not as many lengths as answers.

    >>> accuracy_by_length([True, True, False, True], [3, 3, 5, 5])[5].estimate
    0.5
    """
    _same_number("lengths", lengths, "correct", correct)
    groups: dict[int, list[bool]] = defaultdict(list)
    for right, length in zip(correct, lengths, strict=True):
        groups[checks.integer("lengths", length, minimum=0)].append(checks.flag("correct", right))
    return {
        length: wilson(sum(group), len(group), confidence=confidence)
        for length, group in sorted(groups.items())
    }


def argmax_links(
    weights: Tensor,
    *,
    target_length: int | None = None,
    source_length: int | None = None,
    rows: Collection[int] | None = None,
) -> frozenset[Link]:
    """Link each target place to the source place it attends to most.

    Args:
        weights: (T, S), one row for each target token. Average or choose heads first.
        target_length: leave out later rows, such as that of the end mark and padding.
        source_length: leave out later columns.
        rows: only these target places.

    Returns:
        Links (target place, source place). A row of zeros, which attends to nothing, has none.

    Raises:
        TypeError: `weights` is not a floating tensor, or a length is not an int.
        ValueError: `weights` is not (T, S), holds NaN or a length does not fit.

    >>> sorted(argmax_links(torch.tensor([[0.1, 0.9], [0.7, 0.3], [0.0, 0.0]])))
    [(0, 1), (1, 0)]
    """
    checks.floating("weights", weights)
    if weights.dim() != 2:
        checks.fail("weights", "shape (T, S), one example and head", f"{checks.shape(weights)}")
    for dim, (name, length) in enumerate(
        (("target_length", target_length), ("source_length", source_length))
    ):
        if length is not None:
            checks.integer(name, length, minimum=1 - dim if dim else 0, maximum=weights.shape[dim])
    weights = weights[:target_length, :source_length].detach()
    if weights.isnan().any():
        checks.fail("weights", "numbers", "NaN")
    if not weights.numel():
        return frozenset()
    best, places = weights.max(-1)  # (T,)
    return frozenset(
        (row, place)
        for row, (weight, place) in enumerate(zip(best.tolist(), places.tolist(), strict=True))
        if weight > 0 and (rows is None or row in rows)
    )


def alignment_error_rate(
    links: Sequence[Collection[Link]],
    *,
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]],
) -> float:
    r"""Alignment error rate of a whole corpus, 0 to 1, less is better.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    over links A found, S sure and P possible (Och and Ney 2003, equation 20). Sure links count as
    possible too. One link a target word, as argmax gives it, cannot reach 0 when a word has two
    sure links.

    Args:
        links: for each example, the links found.
        sure: for each example, the sure gold links.
        possible: for each example, the possible gold links.

    Raises:
        ValueError: the three do not hold as many examples, or no links at all.

    >>> alignment_error_rate([{(0, 0), (1, 2)}], sure=[{(0, 0)}], possible=[{(0, 0), (1, 1)}])
    0.33333333333333337
    """
    _same_number("sure", sure, "links", links)
    _same_number("possible", possible, "links", links)
    hits = total = 0
    for found, certain, maybe in zip(links, sure, possible, strict=True):
        found, certain = set(found), set(certain)
        hits += len(found & certain) + len(found & (certain | set(maybe)))
        total += len(found) + len(certain)
    if not total:
        checks.fail("links", "at least one link, found or sure", "none")
    return 1 - hits / total


def entropy(weights: Tensor) -> Tensor:
    """Entropy of each row of weights in nats: H = -sum_j w_j ln w_j.

    0 when one key has all the weight, ln S when S keys share it evenly. Masked keys, with weight
    0, add nothing, and a row that sees nothing has entropy 0. Gradients are finite throughout.

    Args:
        weights: (..., S), non-negative. Computed in at least float32.

    Returns:
        (...), one number for each row.

    Raises:
        TypeError: `weights` is not a floating tensor.
        ValueError: it has no dimensions.

    >>> entropy(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    tensor([0.6931, 0.0000, 0.0000])
    """
    checks.floating("weights", weights)
    checks.dims("weights", weights, 1, "(..., S)")
    wide = weights.float() if weights.dtype in (torch.float16, torch.bfloat16) else weights
    logarithm = torch.where(wide == 0, 1.0, wide).log()  # ln 0 never arises, in the gradient too
    return (0.0 - (wide * logarithm).sum(-1)).clamp(min=0)  # (...)


def precision_at_k(scores: Tensor, relevant: Collection[int], k: int) -> float:
    """Share of the k highest scores that are among `relevant`; the first of equals counts first.

    Raises:
        TypeError: `scores` is not a floating tensor, or `k` is not an int.
        ValueError: `scores` is not one-dimensional, or `k` is not from 1 to its length.

    >>> precision_at_k(torch.tensor([0.1, 0.9, 0.5, 0.7]), {1, 2}, k=2)
    0.5
    """
    checks.floating("scores", scores)
    if scores.dim() != 1:
        checks.fail("scores", "one score for each sentence, (N,)", f"shape {checks.shape(scores)}")
    checks.integer("k", k, minimum=1, maximum=len(scores))
    chosen = scores.detach().sort(descending=True, stable=True).indices[:k].tolist()
    return sum(place in relevant for place in chosen) / k


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
    _same_number(second, other, first, one)
    if not len(one):
        checks.fail(first, "at least one sentence", "none")


def _same_number(name: str, values: Sequence, other: str, others: Sequence) -> None:
    if len(values) != len(others):
        checks.fail(name, f"as many as {other}, {len(others)}", str(len(values)))
