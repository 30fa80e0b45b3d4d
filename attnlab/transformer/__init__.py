"""The Transformer (Vaswani et al. 2017): layers, stacks, and two whole models.

`layers` holds one layer of the encoder and of the decoder, `stacks` several on top of each other,
`model` the sequence-to-sequence model and `language_model` the decoder-only one.
"""

from attnlab.transformer.language_model import LanguageModel
from attnlab.transformer.layers import DecoderAttended, DecoderLayer, EncoderLayer
from attnlab.transformer.model import Memory, Predicted, Transformer, Weights
from attnlab.transformer.positions import POSITION_SCHEMES, PositionScheme
from attnlab.transformer.recompute import checkpointed_layers
from attnlab.transformer.stacks import Decoder, Encoder, States

__all__ = [
    "POSITION_SCHEMES",
    "Decoder",
    "DecoderAttended",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "LanguageModel",
    "Memory",
    "PositionScheme",
    "Predicted",
    "States",
    "Transformer",
    "Weights",
    "checkpointed_layers",
]
