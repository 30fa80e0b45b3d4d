"""Accuracy of sequences."""

from collections.abc import Sequence

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
