"""Recurrent models from sequence to sequence, without attention and with it."""

from attnlab.rnn.base import Decoder, State, Taught
from attnlab.rnn.decoders import BahdanauDecoder, FixedVectorDecoder, LuongDecoder
from attnlab.rnn.encoder import Encoded, Encoder
from attnlab.rnn.model import Seq2Seq, seq2seq

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
