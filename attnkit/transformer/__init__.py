"""The Transformer (Vaswani et al. 2017): layers, stacks, and the sequence-to-sequence model."""

from attnkit.transformer.decoder import Decoder, DecoderAttended, DecoderLayer
from attnkit.transformer.encoder import Encoder, EncoderLayer
from attnkit.transformer.model import Memory, Predicted, Transformer, Weights
from attnkit.transformer.positions import PLACEMENTS, Placing

__all__ = [
    "PLACEMENTS",
    "Decoder",
    "DecoderAttended",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "Memory",
    "Placing",
    "Predicted",
    "Transformer",
    "Weights",
]
