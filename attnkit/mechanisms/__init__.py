"""Attention mechanisms as modules: additive, Luong's three, projected, multi-head and its kin.

To see how multi-head attention is computed, read in this order: `MultiHeadAttention.forward`,
which projects and splits into heads; `Call.dot_product` in `attnkit.call`, which chooses between
equation 1 with its weights, `attnkit.formula.attention`, and PyTorch's form of it in one kernel,
which runs when no weights are asked for.
"""

from attnkit.mechanisms.additive import AdditiveAttention
from attnkit.mechanisms.latent import LatentAttention
from attnkit.mechanisms.luong import LuongAttention
from attnkit.mechanisms.multihead import MultiHeadAttention
from attnkit.mechanisms.scored import ScoredAttention
from attnkit.mechanisms.single_head import ProjectedAttention, SelfAttention
from attnkit.mechanisms.sink import SinkAttention
from attnkit.mechanisms.soft_cap import SoftCapAttention

__all__ = [
    "AdditiveAttention",
    "LatentAttention",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "ScoredAttention",
    "SelfAttention",
    "SinkAttention",
    "SoftCapAttention",
]
