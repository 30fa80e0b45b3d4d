"""Attention over a sequence that is divided among processes, by `torch.distributed`."""

from attnlab.parallel.placement import join_sequence, split_sequence
from attnlab.parallel.ring import ring_attention

__all__ = ["join_sequence", "ring_attention", "split_sequence"]
