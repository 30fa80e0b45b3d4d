"""Recurrent models from sequence to sequence, without attention and with it."""

from attnkit.rnn.base import Decoder, State, Taught
from attnkit.rnn.decoders import BahdanauDecoder, FixedVectorDecoder, LuongDecoder
from attnkit.rnn.encoder import Encoded, Encoder
from attnkit.rnn.model import Seq2Seq, seq2seq

__all__ = [
    "BahdanauDecoder",
    "Decoder",
    "Encoded",
    "Encoder",
    "FixedVectorDecoder",
    "LuongDecoder",
    "Seq2Seq",
    "State",
    "Taught",
    "seq2seq",
]
