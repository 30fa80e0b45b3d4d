"""The same results for less: time, memory, or both."""

from attnkit.efficient.cache import KVCache
from attnkit.efficient.chosen import best_keys, index_scores
from attnkit.efficient.delta import gated_delta_recurrent, gated_delta_segment
from attnkit.efficient.flash import Flash, flash_attention, flash_with_logsumexp
from attnkit.efficient.linear import (
    LinearState,
    elu_features,
    linear_attention,
    linear_attention_recurrent,
    linear_attention_segment,
)
from attnkit.efficient.online_softmax import online_attention
from attnkit.efficient.tiled_additive import tiled_additive_attention
from attnkit.efficient.window import sliding_window_attention

__all__ = [
    "Flash",
    "KVCache",
    "LinearState",
    "best_keys",
    "elu_features",
    "flash_attention",
    "flash_with_logsumexp",
    "gated_delta_recurrent",
    "gated_delta_segment",
    "index_scores",
    "linear_attention",
    "linear_attention_recurrent",
    "linear_attention_segment",
    "online_attention",
    "sliding_window_attention",
    "tiled_additive_attention",
]
