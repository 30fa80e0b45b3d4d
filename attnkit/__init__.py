"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them."""

from attnkit import (
    checkpoint,
    decoding,
    device,
    efficient,
    exercises,
    functional,
    intervals,
    masks,
    metrics,
    positions,
    predictions,
    recorded,
    regularizers,
    rnn,
    tasks,
    trace,
    training,
    transformer,
)
from attnkit.additive import AdditiveAttention
from attnkit.functional import Attended, masked_softmax, scaled_dot_product_attention
from attnkit.luong import LuongAttention
from attnkit.multihead import MultiHeadAttention
from attnkit.projected import ProjectedAttention, time_first
from attnkit.selfattention import SelfAttention
from attnkit.summarizer import Summarizer
from attnkit.translator import Translator

__version__ = "0.1.0"

__all__ = [
    "AdditiveAttention",
    "Attended",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "SelfAttention",
    "Summarizer",
    "Translator",
    "checkpoint",
    "decoding",
    "device",
    "efficient",
    "exercises",
    "functional",
    "intervals",
    "masked_softmax",
    "masks",
    "metrics",
    "positions",
    "predictions",
    "recorded",
    "regularizers",
    "rnn",
    "scaled_dot_product_attention",
    "tasks",
    "time_first",
    "trace",
    "training",
    "transformer",
]
