"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them.

The map, from the bottom up. A module imports only from the rooms above it in this list and from
its own; `LAYERS` holds the order, and a test holds the imports to it.

    checks          what a bad argument is told
    numerics        dtypes, autocast, and what is not finite
    masks           who may attend to whom
    trace           record what attention computes inside a model
    scores          how well each key answers each query
    functional      the masked softmax and scaled dot-product attention
    call            what the mechanisms share: one call's checks
    device          choose a device; which kernel ran
    positions       sinusoidal, learned, rotary and relative positions
    efficient       the same results for less time or memory; the key-value cache
    mechanisms      attention as modules: additive, Luong's, multi-head
    metrics         accuracy, alignment, BLEU and ROUGE, entropy, intervals
    tasks           data with known answers, vocabularies, batches
    decoding        greedy and beam search
    rnn             recurrent encoders, and decoders with attention
    transformer     encoder, decoder, and the whole model
    training        fit, evaluate, save and load
    applications    a translator and a summarizer
    viz             heat maps and the widgets
"""

from attnkit import (
    decoding,
    device,
    efficient,
    functional,
    masks,
    mechanisms,
    metrics,
    positions,
    rnn,
    tasks,
    trace,
    training,
    transformer,
)
from attnkit.applications import Summarizer, Translator
from attnkit.functional import Attended, masked_softmax, scaled_dot_product_attention
from attnkit.mechanisms import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
    time_first,
)

__version__ = "0.1.0"

LAYERS = (
    "checks",
    "numerics",
    "masks",
    "trace",
    "scores",
    "functional",
    "call",
    "device",
    "positions",
    "efficient",
    "mechanisms",
    "metrics",
    "tasks",
    "decoding",
    "rnn",
    "transformer",
    "training",
    "applications",
    "viz",
)

__all__ = [
    "LAYERS",
    "AdditiveAttention",
    "Attended",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "SelfAttention",
    "Summarizer",
    "Translator",
    "decoding",
    "device",
    "efficient",
    "functional",
    "masked_softmax",
    "masks",
    "mechanisms",
    "metrics",
    "positions",
    "rnn",
    "scaled_dot_product_attention",
    "tasks",
    "time_first",
    "trace",
    "training",
    "transformer",
]
