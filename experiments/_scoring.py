"""Scores of answers and alignments shared by several experiments."""

from collections.abc import Collection, Sequence

from attnlab import metrics
from attnlab.tasks import Pair


def exact(predicted: Sequence[Sequence[str]], pairs: Sequence[Pair]) -> list[bool]:
    """Return whether each answer is an exact match."""
    return metrics.exact_match(predicted=predicted, expected=[pair.target for pair in pairs])


def error_rate(links: Sequence[Collection[tuple[int, int]]], pairs: Sequence[Pair]) -> float:
    """Alignment error rate of links (target index, source index), from 0 to 1; lower is better."""
    sure, possible = [pair.sure for pair in pairs], [pair.possible for pair in pairs]
    return round(metrics.alignment_error_rate(links, sure=sure, possible=possible), 5)


def reaches(run: dict, share: float = 0.9) -> int:
    """The longest length up to which at least `share` of the answers are exact, at every length.

    `run["by_length"]` starts with how many were tested and how many were exact, for each length.
    """
    reached = 0
    for n in sorted(map(int, run["by_length"])):
        tested, right = run["by_length"][str(n)][:2]
        if right < share * tested:
            break
        reached = n
    return reached
