"""Scores for tasks with known answers: accuracy, alignment, text, collapse, and intervals."""

from attnlab.metrics.accuracy import exact_match, precision_at_k
from attnlab.metrics.alignment import Link, alignment_error_rate, argmax_links
from attnlab.metrics.collapse import (
    effective_rank,
    entropy,
    low_entropy_penalty,
    mean_entropy,
    rank_one_residual,
    stacked_rank,
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
