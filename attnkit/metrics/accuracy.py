"""Accuracy of sequences and of rankings."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from torch import Tensor

from attnkit import checks
from attnkit.metrics.intervals import Interval, wilson


def exact_match(*, predicted: Sequence[Sequence], expected: Sequence[Sequence]) -> list[bool]:
    """Say of each sequence whether all of it is right.

    Raises:
        ValueError: there are not as many predicted as expected.

    >>> exact_match(predicted=["abc", "ab"], expected=["abc", "abc"])
    [True, False]
    """
    checks.same_number("predicted", predicted, "expected", expected)
    return [list(got) == list(want) for got, want in zip(predicted, expected, strict=True)]


def token_accuracy(*, predicted: Sequence[Sequence], expected: Sequence[Sequence]) -> float:
    """Share of places that hold the right token, over all sequences together.

    A sequence that is too short or too long counts its missing or surplus places as wrong.

    Raises:
        ValueError: there are not as many predicted as expected, or no tokens at all.

    >>> token_accuracy(predicted=["abc", "ab"], expected=["abd", "abcd"])
    0.5714285714285714
    """
    checks.same_number("predicted", predicted, "expected", expected)
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
    checks.same_number("lengths", lengths, "correct", correct)
    groups: dict[int, list[bool]] = defaultdict(list)
    for right, length in zip(correct, lengths, strict=True):
        groups[checks.integer("lengths", length, minimum=0)].append(checks.flag("correct", right))
    return {
        length: wilson(sum(group), len(group), confidence=confidence)
        for length, group in sorted(groups.items())
    }


def precision_at_k(scores: Tensor, relevant: Collection[int], k: int) -> float:
    """Share of the k highest scores that are among `relevant`; the first of equals counts first.

    Raises:
        TypeError: `scores` is not a floating tensor, or `k` is not an int.
        ValueError: `scores` is not one-dimensional, or `k` is not from 1 to its length.

    >>> import torch
    >>> precision_at_k(torch.tensor([0.1, 0.9, 0.5, 0.7]), {1, 2}, k=2)
    0.5
    """
    checks.floating("scores", scores)
    if scores.dim() != 1:
        checks.fail("scores", "one score for each sentence, (N,)", f"shape {checks.shape(scores)}")
    checks.integer("k", k, minimum=1, maximum=len(scores))
    chosen = scores.detach().sort(descending=True, stable=True).indices[:k].tolist()
    return sum(place in relevant for place in chosen) / k
