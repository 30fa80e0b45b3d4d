"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them."""

from attnkit import device, functional, masks, trace
from attnkit.functional import Attended, masked_softmax, scaled_dot_product_attention

__version__ = "0.1.0"

__all__ = [
    "Attended",
    "device",
    "functional",
    "masked_softmax",
    "masks",
    "scaled_dot_product_attention",
    "trace",
]
