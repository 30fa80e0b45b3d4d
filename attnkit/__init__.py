"""Attention mechanisms in PyTorch, small and tested, with the pictures that explain them.

The map, from the bottom up. A file imports only from the packages above it in this list and from
its own; `LAYERS` holds the order, and a test holds the imports to it.

    checks          what a bad argument is told
    dtypes          dtypes, autocast, and whether values can be read
    masks           who may attend to whom
    trace           record what attention computes inside a model
    softmax         the mathematics: equation 1, the masked softmax, PyTorch's kernel
    scores          how well each key answers each query
    call            what all calls share: check, replace NaN, compute, record, restore
    functional      the masked softmax and scaled dot-product attention
    device          choose a device; which kernel ran
    positions       sinusoidal, learned, rotary and relative positions
    efficient       the same results for less time or memory; the key-value cache
    mechanisms      attention as modules: additive, Luong's, multi-head
    metrics         accuracy, alignment, BLEU and ROUGE, entropy, intervals
    tasks           data with known answers, vocabularies, batches
    decoding        greedy and beam search, sampling
    rnn             recurrent encoders, and decoders with attention
    transformer     layers, stacks, the translation model, the language model
    training        fit, evaluate, save and load
    pretrained      published models in attnkit's layers, with their tokenizers
    applications    a translator and a summarizer
    testing         checks for anybody's attention
    viz             heat maps and the widgets
"""

import importlib
from typing import Any

from attnkit import (
    applications,
    decoding,
    device,
    efficient,
    functional,
    masks,
    mechanisms,
    metrics,
    positions,
    pretrained,
    rnn,
    tasks,
    testing,
    trace,
    training,
    transformer,
)
from attnkit.applications import Summarizer, Translator
from attnkit.efficient import KVCache
from attnkit.functional import Attended, masked_softmax, scaled_dot_product_attention
from attnkit.mechanisms import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
)
from attnkit.tasks import Vocab
from attnkit.training import fit
from attnkit.transformer import LanguageModel, Transformer

__version__ = "0.1.0"

LAYERS = (
    "checks",
    "dtypes",
    "masks",
    "trace",
    "softmax",
    "scores",
    "call",
    "functional",
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
    "pretrained",
    "applications",
    "testing",
    "viz",
)

__all__ = [
    "LAYERS",
    "AdditiveAttention",
    "Attended",
    "KVCache",
    "LanguageModel",
    "LuongAttention",
    "MultiHeadAttention",
    "ProjectedAttention",
    "SelfAttention",
    "Summarizer",
    "Transformer",
    "Translator",
    "Vocab",
    "applications",
    "decoding",
    "device",
    "efficient",
    "fit",
    "functional",
    "masked_softmax",
    "masks",
    "mechanisms",
    "metrics",
    "positions",
    "pretrained",
    "rnn",
    "scaled_dot_product_attention",
    "tasks",
    "testing",
    "trace",
    "training",
    "transformer",
]

# Imported when they are first asked for, since drawing needs matplotlib and anywidget.
_LAZY = ("viz", "AttentionExplorer", "heatmap")

_OTHER_NAMES = {
    "BahdanauAttention": "AdditiveAttention",
    "MultiheadAttention": "MultiHeadAttention",
    "GPT": "LanguageModel",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        viz = importlib.import_module("attnkit.viz")
        return viz if name == "viz" else getattr(viz, name)
    if name in _OTHER_NAMES:
        raise AttributeError(f"attnkit has no {name}: it is called attnkit.{_OTHER_NAMES[name]}")
    for room in LAYERS:
        if room != "viz" and name in getattr(globals().get(room), "__all__", ()):
            raise AttributeError(f"attnkit has no {name} of its own: see attnkit.{room}.{name}")
    raise AttributeError(f"module 'attnkit' has no attribute {name!r}")
