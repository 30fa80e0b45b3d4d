"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them."""

from attnkit import device, efficient, functional, masks, positions, trace
from attnkit.additive import AdditiveAttention
from attnkit.functional import Attended, masked_softmax, scaled_dot_product_attention
from attnkit.luong import LuongAttention
from attnkit.multihead import MultiHeadAttention
from attnkit.projected import ProjectedAttention, time_first
from attnkit.selfattention import SelfAttention

__version__ = "0.1.0"

__all__ = [
    "AdditiveAttention",
    "Attended",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "SelfAttention",
    "device",
    "efficient",
    "functional",
    "masked_softmax",
    "masks",
    "positions",
    "scaled_dot_product_attention",
    "time_first",
    "trace",
]
