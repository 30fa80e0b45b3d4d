"""Attention over a sequence that is divided among processes, by `torch.distributed`."""

from attnkit.efficient.parallel.placement import join_sequence, shards, split_sequence
from attnkit.efficient.parallel.ring import ring_attention
from attnkit.efficient.parallel.ulysses import ulysses_attention

__all__ = ["join_sequence", "ring_attention", "shards", "split_sequence", "ulysses_attention"]
