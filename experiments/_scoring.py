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


def aligned(target: Sequence[str], written: Sequence[str]) -> list[int]:
    """The places of `target` that keep their letter when `written` is aligned with it.

    The alignment is a longest common subsequence: it may skip letters on both sides and changes no
    order; of several it is the one that keeps what comes first in `target`.

    Example:
        >>> aligned("dcba", "dba")
        [0, 2, 3]
    """
    # best[t][w]: the most letters that target[t:] and written[w:] have in common, in order.
    best = [[0] * (len(written) + 1) for _ in range(len(target) + 1)]
    for t in reversed(range(len(target))):
        for w in reversed(range(len(written))):
            same = target[t] == written[w]
            best[t][w] = 1 + best[t + 1][w + 1] if same else max(best[t + 1][w], best[t][w + 1])
    kept, t, w = [], 0, 0
    while t < len(target) and w < len(written):
        if target[t] == written[w]:
            kept.append(t)
            t, w = t + 1, w + 1
        elif best[t][w + 1] >= best[t + 1][w]:
            w += 1
        else:
            t += 1
    return kept
