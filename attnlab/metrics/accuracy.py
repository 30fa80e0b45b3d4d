"""Accuracy of sequences and of rankings."""

from collections.abc import Collection, Sequence

from torch import Tensor

from attnkit.guard import checks


def exact_match(*, predicted: Sequence[Sequence], expected: Sequence[Sequence]) -> list[bool]:
    """Whether each sequence is right as a whole.

    Raises:
        ValueError: there are not as many predicted as expected.

    >>> exact_match(predicted=["abc", "ab"], expected=["abc", "abc"])
    [True, False]
    """
    checks.same_number("predicted", predicted, "expected", expected)
    return [list(got) == list(want) for got, want in zip(predicted, expected, strict=True)]


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
    return sum(index in relevant for index in chosen) / k
