"""Scores for tasks with known answers: accuracy, alignment, text, collapse, and intervals."""

from attnlab.metrics.accuracy import exact_match
from attnlab.metrics.alignment import Link, alignment_error_rate, argmax_links
from attnlab.metrics.collapse import (
    entropy,
    low_entropy_penalty,
    rank_one_residual,
)
from attnlab.metrics.intervals import Interval, median_interval, order_statistic, wilson
from attnlab.metrics.text import Bleu, Chrf, bleu, chrf, rouge

__all__ = [
    "Bleu",
    "Chrf",
    "Interval",
    "Link",
    "alignment_error_rate",
    "argmax_links",
    "bleu",
    "chrf",
    "entropy",
    "exact_match",
    "low_entropy_penalty",
    "median_interval",
    "order_statistic",
    "rank_one_residual",
    "rouge",
    "wilson",
]
