"""Confidence intervals: of rates, and of medians over seeds."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from attnkit.guard import checks


class Interval(NamedTuple):
    """An estimate and the bounds of its confidence interval. A format applies to all three.

    >>> f"{Interval(0.925, 0.9, 1.0):.0%}"
    '92% (90% to 100%)'
    """

    estimate: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        if not form:
            return str(self)
        middle, low, high = (format(number, form) for number in self)
        return f"{middle} ({low} to {high})"


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Interval of a rate from independent trials (Wilson 1927), right near 0 and 1 as well.

    With p = successes / trials and z the normal quantile, its bounds are
    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).

    Raises:
        TypeError: a count is not an int, or `confidence` is not a number.
        ValueError: there are no trials, more successes than trials, or `confidence` is not
            between 0 and 1.

    >>> [round(bound, 4) for bound in wilson(9, 10)]
    [0.9, 0.5958, 0.9821]
    """
    checks.integer("trials", trials, minimum=1)
    checks.integer("successes", successes, minimum=0, maximum=trials)
    z = NormalDist().inv_cdf(0.5 + _confidence(confidence) / 2)
    rate = successes / trials
    middle = rate + z * z / (2 * trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + (z / (2 * trials)) ** 2)
    shrink = 1 + z * z / trials
    low, high = (middle - half) / shrink, (middle + half) / shrink
    return Interval(rate, min(rate, max(0.0, low)), max(rate, min(1.0, high)))


def median_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Interval of the median of a few runs, such as seeds, whatever their distribution.

    Its bounds are the k-th smallest and the k-th largest value, with k from `order_statistic`: of
    five or six values, the smallest and the largest.

    Args:
        values: the measurements; infinity for a run that never reached its goal.
        confidence: between 0 and 1.

    Raises:
        TypeError: a value is not a number.
        ValueError: there are no values, one is NaN, or `confidence` is not between 0 and 1.

    >>> f"{median_interval([0.91, 0.94, 0.92, 0.95, 0.93]):.2f}"
    '0.93 (0.91 to 0.95)'
    """
    for value in values:
        if value not in (math.inf, -math.inf):
            checks.number("values", value)
    if not values:
        checks.fail("values", "at least 1 value", "0")
    k, _ = order_statistic(len(values), confidence=confidence)
    ordered = sorted(values)
    n = len(ordered)
    return Interval((ordered[(n - 1) // 2] + ordered[n // 2]) / 2, ordered[k - 1], ordered[n - k])


def order_statistic(count: int, *, confidence: float = 0.95) -> tuple[int, float]:
    """Which values bound the median: the k-th smallest and largest, and with what probability.

    Each value is below the median as often as a coin shows heads, so the two miss it with
    probability 2 P(Binomial(count, 1/2) < k). k is the largest for which they hold it with at least
    `confidence`, and 1 where no k does.

    Returns:
        k, and the probability that the true median lies between the two.

    Raises:
        TypeError: `count` is not an int.
        ValueError: `count` is below 1, or `confidence` is not between 0 and 1.

    >>> order_statistic(5), order_statistic(20)
    ((1, 0.9375), (6, 0.9586105346679688))
    """
    checks.integer("count", count, minimum=1)
    _confidence(confidence)
    tails = [sum(math.comb(count, j) for j in range(k)) / 2**count for k in range(count // 2 + 1)]
    wide = (k for k in range(1, count // 2 + 1) if 1 - 2 * tails[k] >= confidence)
    k = max(wide, default=1)
    return k, 1 - 2 * tails[k] if count > 1 else 0.0


def _confidence(value: float) -> float:
    if not 0 < checks.number("confidence", value) < 1:
        checks.fail("confidence", "a number between 0 and 1", str(value))
    return value
