"""Scores for tasks with known answers: accuracy, alignment, text, collapse, and intervals."""

from attnkit.metrics.accuracy import exact_match, precision_at_k
from attnkit.metrics.alignment import Link, alignment_error_rate, argmax_links
from attnkit.metrics.collapse import (
    effective_rank,
    entropy,
    low_entropy_penalty,
    mean_entropy,
    rank_one_residual,
    stacked_rank,
)
from attnkit.metrics.intervals import Interval, median_interval, order_statistic, wilson
from attnkit.metrics.text import Bleu, Chrf, bleu, chrf, rouge

__all__ = [
    "Bleu",
    "Chrf",
    "Interval",
    "Link",
    "alignment_error_rate",
    "argmax_links",
    "bleu",
    "chrf",
    "effective_rank",
    "entropy",
    "exact_match",
    "low_entropy_penalty",
    "mean_entropy",
    "median_interval",
    "order_statistic",
    "precision_at_k",
    "rank_one_residual",
    "rouge",
    "stacked_rank",
    "wilson",
]
