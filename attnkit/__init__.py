"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them.

The map, from the bottom up; a file imports only from those above it here and from its own package.

    guard           what a bad argument is told; dtypes, autocast, and whether values can be read
    masks           who may attend to whom
    formula         the mathematics: equation 1, its scale, the masked softmax
    trace           record what attention computes inside a model
    scores          how well each key answers each query
    call            what all calls share: check, replace NaN, compute, record, restore
    functional      the masked softmax and scaled dot-product attention
    device          choose a device; which kernel ran
    positions       sinusoidal, learned, rotary and relative positions
    efficient       the same results for less time or memory; the key-value cache
    mechanisms      attention as modules: additive, Luong's, multi-head
    testing         checks for anybody's attention
    viz             heat maps and the explorer

Models to put attention into, data and training are `attnlab`'s.
"""

import importlib
from typing import Any

from attnkit import device, efficient, functional, masks, mechanisms, positions, testing, trace
from attnkit.efficient import KVCache
from attnkit.functional import Attended, masked_softmax, scaled_dot_product_attention
from attnkit.mechanisms import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
)

__version__ = "0.1.0"

LAYERS = (
    *("guard", "masks", "formula", "trace", "scores", "call", "functional", "device"),
    *("positions", "efficient", "mechanisms", "testing", "viz"),
)

__all__ = [
    "LAYERS",
    "AdditiveAttention",
    "Attended",
    "KVCache",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "SelfAttention",
    "device",
    "efficient",
    "functional",
    "masked_softmax",
    "masks",
    "mechanisms",
    "positions",
    "scaled_dot_product_attention",
    "testing",
    "trace",
]

# Imported when they are first asked for, since drawing needs matplotlib and anywidget.
_LAZY = ("viz", "AttentionExplorer", "heatmap")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        viz = importlib.import_module("attnkit.viz")
        return viz if name == "viz" else getattr(viz, name)
    raise AttributeError(f"module 'attnkit' has no attribute {name!r}")
