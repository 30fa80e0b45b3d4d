"""How sure a measured number is: for rates, for means and medians over seeds, by resampling."""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from attnkit import checks
from attnkit.tasks.draw import Draw


class Interval(NamedTuple):
    """An estimate and the bounds of its confidence interval; a format is for all three numbers.

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


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Interval of the mean of a few runs, such as seeds, by Student's t: mean -+ t s / sqrt(n).

    Raises:
        TypeError: a value is not a number.
        ValueError: there are fewer than two values, or `confidence` is not between 0 and 1.

    >>> [round(bound, 3) for bound in mean_interval([0.91, 0.94, 0.92, 0.95, 0.93])]
    [0.93, 0.91, 0.95]
    """
    _numbers(values, at_least=2)
    mean, degrees = fmean(values), len(values) - 1
    half = student_t(0.5 + _confidence(confidence) / 2, degrees) * stdev(values)
    half /= math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def median_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Interval of the median of a few runs, such as seeds, whatever their distribution.

    Its bounds are the k-th smallest and the k-th largest value, with k from `order_statistic`: of
    five or six values, the smallest and the largest.

    Args:
        values: what was measured; infinity for a run that never got there.
        confidence: between 0 and 1.

    Raises:
        TypeError: a value is not a number.
        ValueError: there are no values, one is NaN, or `confidence` is not between 0 and 1.

    >>> f"{median_interval([0.91, 0.94, 0.92, 0.95, 0.93]):.2f}"
    '0.93 (0.91 to 0.95)'
    """
    _numbers([value for value in values if value not in (math.inf, -math.inf)], at_least=0)
    if not values:
        checks.fail("values", "at least 1 values", "0")
    k, _ = order_statistic(len(values), confidence=confidence)
    ordered = sorted(values)
    n = len(ordered)
    return Interval((ordered[(n - 1) // 2] + ordered[n // 2]) / 2, ordered[k - 1], ordered[n - k])


def order_statistic(count: int, *, confidence: float = 0.95) -> tuple[int, float]:
    """Which values bound the median: the k-th smallest and largest, and how surely they hold it.

    Each value is below the median as often as a coin shows heads, so the two miss it with
    probability 2 P(Binomial(count, 1/2) < k). k is the largest for which they hold it with at least
    `confidence`; few values do not give that much, and then k is 1.

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


def bootstrap(
    values: Sequence[float],
    statistic: Callable[[Sequence[float]], float] = fmean,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of any statistic (Efron 1979).

    Args:
        values: what was measured, one number for each independent unit.
        statistic: function of a sequence of numbers.
        confidence: between 0 and 1.
        resamples: how often to draw as many values anew, with replacement.
        seed: of the draws.

    Raises:
        TypeError: a value is not a number, or `statistic` cannot be called.
        ValueError: there are no values, or a number is out of range.

    >>> bootstrap([3.0, 3.0, 3.0])
    Interval(estimate=3.0, low=3.0, high=3.0)
    """
    _numbers(values, at_least=1)
    if not callable(statistic):
        checks.fail("statistic", "a function of a sequence", type(statistic).__name__, TypeError)
    tail = (1 - _confidence(confidence)) / 2
    checks.integer("resamples", resamples, minimum=1)
    draw = Draw(seed)
    found = sorted(
        float(statistic([draw.choice(values) for _ in values])) for _ in range(resamples)
    )
    low, high = (found[round(part * (resamples - 1))] for part in (tail, 1 - tail))
    return Interval(float(statistic(values)), low, high)


def student_t(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution for a whole number of degrees of freedom.

    The distribution function has a closed form for each of them (Abramowitz and Stegun 1964,
    26.7.3 and 26.7.4); bisection turns it around.

    Raises:
        ValueError: `probability` is not between 0 and 1, or `degrees` is below 1.

    >>> round(student_t(0.975, 4), 4)
    2.7764
    """
    if not 0 < checks.number("probability", probability) < 1:
        checks.fail("probability", "a number between 0 and 1", str(probability))
    checks.integer("degrees", degrees, minimum=1)
    if probability < 0.5:
        return -student_t(1 - probability, degrees)
    low, high = 0.0, math.pi / 2
    while True:
        angle = (low + high) / 2  # t = sqrt(degrees) tan(angle)
        if angle in (low, high):
            return math.sqrt(degrees) * math.tan(angle)
        if (1 + _central_probability(angle, degrees)) / 2 < probability:
            low = angle
        else:
            high = angle


def _central_probability(angle: float, degrees: int) -> float:
    """P(|T| < sqrt(degrees) tan(angle))."""
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= (power - 1) / power * cosine**2
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _confidence(value: float) -> float:
    if not 0 < checks.number("confidence", value) < 1:
        checks.fail("confidence", "a number between 0 and 1", str(value))
    return value


def _numbers(values: Sequence[float], at_least: int) -> None:
    for value in values:
        checks.number("values", value)
    if len(values) < at_least:
        checks.fail("values", f"at least {at_least} values", str(len(values)))
