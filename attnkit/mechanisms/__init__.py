"""Attention mechanisms as modules: additive, Luong's three, projected, and multi-head."""

from attnkit.mechanisms.additive import AdditiveAttention
from attnkit.mechanisms.luong import LuongAttention
from attnkit.mechanisms.multihead import MultiHeadAttention
from attnkit.mechanisms.projected import ProjectedAttention
from attnkit.mechanisms.scored import ScoredAttention
from attnkit.mechanisms.self_attention import SelfAttention

__all__ = [
    "AdditiveAttention",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "ScoredAttention",
    "SelfAttention",
]
