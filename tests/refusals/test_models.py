"""Wrong calls of positions, the cache, the models and the searches."""

# ruff: noqa: F401 (names that the table's calls use)

import math

import pytest
import torch
from torch import nn

from attnkit import AdditiveAttention, MultiHeadAttention, positions
from attnkit.efficient import KVCache
from attnlab.decoding import Stepped, beam_search, greedy_search, sample, select, tokens
from attnlab.rnn import (
    BahdanauDecoder,
    Encoder,
    FixedVectorDecoder,
    LuongDecoder,
    Seq2Seq,
    seq2seq,
)
from attnlab.transformer import (
    Decoder,
    DecoderLayer,
    EncoderLayer,
    LanguageModel,
    PositionScheme,
    Transformer,
)
from attnlab.transformer import Encoder as TransformerEncoder
from tests.refusals.wrong_calls import refused

X = torch.randn(2, 5, 8)
INTS = torch.ones(2, 5, dtype=torch.long)
META = torch.empty(2, 2, 1, 4, device="meta")


def bucketed(**options):
    return positions.BucketedRelativeBias(2, **options)


def update(key, value, first=(2, 2, 1, 4), dtype=torch.float32):
    cache = KVCache()
    cache.update(torch.zeros(first, dtype=dtype), torch.zeros(first, dtype=dtype))
    cache.update(key, value)


def used(window=None):
    cache = KVCache(window=window)
    cache.update(torch.zeros(2, 2, 3, 4), torch.zeros(2, 2, 3, 4))
    return cache


def zeros(*shape):
    return torch.zeros(shape)


ONE = zeros(2, 2, 1, 4)


def layer(**options):
    return EncoderLayer(8, 2, 16, **options)


def transformer(*args, **options):
    return Transformer(*(args or (11, 13)), **({"embed_dim": 8, "num_heads": 2} | options))


SOURCE, TARGET = torch.full((2, 5), 3), torch.full((2, 4), 3)


def forward(source=SOURCE, lengths=(5, 3), target=TARGET, **options):
    return transformer(**options)(source, lengths, target)


def decode(**caches):
    model = transformer(window=caches.pop("of_window", None))
    model.decode(TARGET, model.encode(SOURCE), **caches)


TORCH_LAYER = nn.TransformerEncoderLayer(8, 2, activation=torch.tanh)
OTHER_DROPOUT = nn.TransformerDecoderLayer(8, 2)
OTHER_DROPOUT.dropout2.p = 0.5


def language(**options):
    return LanguageModel(11, **({"embed_dim": 8, "num_heads": 2} | options))


def generate(prompt=SOURCE, most=3, of_model=None, **options):
    return language(**(of_model or {})).generate(prompt, most, **options)


def recurrent(**options):
    return seq2seq(11, 13, **({"embed_dim": 4, "hidden_dim": 8} | options))


def teach(source=SOURCE, lengths=(5, 3), target=TARGET, attention="dot", **options):
    return recurrent(attention=attention)(source, lengths, target, **options)


def bahdanau(attention, **options):
    return BahdanauDecoder(13, 4, 8, 16, attention, **options)


def pair(encoder, decoder, **options):
    return Seq2Seq(encoder, decoder, **options)


ENCODER = Encoder(11, 4, 8)
FIXED = FixedVectorDecoder(13, 4, 8, 16)


def step(ids, state):
    return Stepped(zeros(len(ids), 6), state, None)


def beam(max_len=4, model="rnn", **options):
    built = recurrent() if model == "rnn" else transformer()
    return built.beam(SOURCE, None, max_len, **options)


test_refused_with_the_error_it_deserves = refused("models", names=globals())


def test_a_refused_update_leaves_the_cache_as_it_was():
    cache = used(window=3)
    with pytest.raises(ValueError, match="key: expected"):
        cache.update(ONE[:1], ONE[:1])
    assert (cache.length, cache.kept) == (3, 2)
