"""The Transformer (Vaswani et al. 2017): layers, stacks, and two whole models.

`layers` holds one layer of the encoder and of the decoder, `stacks` several on top of each other,
`model` the sequence-to-sequence model and `language_model` the decoder-only one.
"""

from attnkit.transformer.language_model import LanguageModel
from attnkit.transformer.layers import DecoderAttended, DecoderLayer, EncoderLayer
from attnkit.transformer.model import Memory, Predicted, Transformer, Weights
from attnkit.transformer.positions import POSITION_SCHEMES, PositionScheme
from attnkit.transformer.stacks import Decoder, Encoder

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
    "Transformer",
    "Weights",
]
