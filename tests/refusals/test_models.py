"""Wrong calls of positions, the cache, the models and the searches."""

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
from tests.refusals.wrong_calls import Wrong, assert_refused

X = torch.randn(2, 5, 8)
INTS = torch.ones(2, 5, dtype=torch.long)
META = torch.empty(2, 2, 1, 4, device="meta")
T, V = TypeError, ValueError


def bucketed(**options):
    return lambda: positions.BucketedRelativeBias(2, **options)


POSITIONS = [
    Wrong(
        lambda: positions.sinusoidal(5, 7),
        V,
        "embed_dim",
        "an even number, for features come in pairs",
        "7",
    ),
    Wrong(lambda: positions.sinusoidal(5, 0), V, "embed_dim", "an int of at least 2", "0"),
    Wrong(lambda: positions.sinusoidal(-1, 8), V, "length", "an int of at least 0", "-1"),
    Wrong(lambda: positions.sinusoidal(5.0, 8), T, "length", "an int", "float 5.0"),
    Wrong(lambda: positions.sinusoidal(5, 8, offset=-2), V, "offset", "an int of at least 0", "-2"),
    Wrong(lambda: positions.sinusoidal(5, 8, base=0), V, "base", "a number greater than 0", "0"),
    Wrong(
        lambda: positions.SinusoidalPositions(9),
        V,
        "embed_dim",
        "an even number, for features come in pairs",
        "9",
    ),
    Wrong(
        lambda: positions.SinusoidalPositions(6)(X),
        V,
        "x",
        "size 6 in dimension -1 (embed_dim)",
        "shape (2, 5, 8)",
    ),
    Wrong(
        lambda: positions.SinusoidalPositions(8)(INTS),
        T,
        "x",
        "a floating-point tensor",
        "torch.int64",
    ),
    Wrong(lambda: positions.SinusoidalPositions(8)(X, 1.5), T, "offset", "an int", "float 1.5"),
    Wrong(
        lambda: positions.SinusoidalPositions(8)(X[0, 0]),
        V,
        "x",
        "at least 2 dimensions (..., L, embed_dim)",
        "shape (8,)",
    ),
    Wrong(lambda: positions.LearnedPositions(0, 8), V, "max_len", "an int of at least 1", "0"),
    Wrong(
        lambda: positions.LearnedPositions(4, 8)(X),
        V,
        "x",
        "positions below 4 (max_len)",
        "positions up to 5",
    ),
    Wrong(
        lambda: positions.LearnedPositions(9, 8)(X, 5),
        V,
        "x",
        "positions below 9 (max_len)",
        "positions up to 10",
    ),
    Wrong(
        lambda: positions.LearnedPositions(9, 8)(X, -1), V, "offset", "an int of at least 0", "-1"
    ),
    Wrong(lambda: positions.rotary(INTS), T, "x", "a floating-point tensor", "torch.int64"),
    Wrong(lambda: positions.rotary(None), T, "x", "a torch.Tensor", "NoneType"),
    Wrong(
        lambda: positions.rotary(X[..., :7]),
        V,
        "x's last dimension",
        "an even number, for features come in pairs",
        "7",
    ),
    Wrong(lambda: positions.rotary(X, -1), V, "offset", "an int of at least 0", "-1"),
    Wrong(
        lambda: positions.rotary(X, layout="neox"),
        V,
        "layout",
        "one of 'interleaved', 'half'",
        "'neox'",
    ),
    Wrong(lambda: positions.rotary(X, base=-1.0), V, "base", "a number greater than 0", "-1.0"),
    Wrong(lambda: positions.rotary(X, base=math.nan), V, "base", "a finite number", "nan"),
    Wrong(
        lambda: positions.rotary(X[0, 0]), V, "x", "at least 2 dimensions (..., L, D)", "shape (8,)"
    ),
    Wrong(
        lambda: positions.Rotary(5),
        V,
        "head_dim",
        "an even number, for features come in pairs",
        "5",
    ),
    Wrong(
        lambda: positions.Rotary(4)(X),
        V,
        "x",
        "size 4 in dimension -1 (head_dim)",
        "shape (2, 5, 8)",
    ),
    Wrong(
        lambda: positions.Rotary(4, layout=None),
        V,
        "layout",
        "one of 'interleaved', 'half'",
        "None",
    ),
    Wrong(
        lambda: positions.relative_positions(2, 3),
        V,
        "offset",
        "an int when query_len (2) and key_len (3) differ: 0 aligns the first query with the "
        "first key, key_len - query_len = 1 the last query with the last key",
        "None",
    ),
    Wrong(lambda: positions.alibi_slopes(0), V, "num_heads", "an int of at least 1", "0"),
    Wrong(lambda: positions.alibi_slopes(2.0), T, "num_heads", "an int", "float 2.0"),
    Wrong(
        lambda: positions.alibi(4, 1, 9),
        V,
        "offset",
        "an int when query_len (1) and key_len (9) differ: 0 aligns the first query with the "
        "first key, key_len - query_len = 8 the last query with the last key",
        "None",
    ),
    Wrong(
        lambda: positions.ClippedRelativeBias(2, 0), V, "max_distance", "an int of at least 1", "0"
    ),
    Wrong(
        lambda: positions.ClippedRelativeBias(2)(3, 4),
        V,
        "offset",
        "an int when query_len (3) and key_len (4) differ: 0 aligns the first query with the "
        "first key, key_len - query_len = 1 the last query with the last key",
        "None",
    ),
    Wrong(
        bucketed(num_buckets=7), V, "num_buckets", "an even number, for features come in pairs", "7"
    ),
    Wrong(bucketed(num_buckets=2), V, "num_buckets", "an int of at least 4", "2"),
    Wrong(bucketed(max_distance=8), V, "max_distance", "an int of at least 16", "8"),
    Wrong(bucketed(bidirectional=1), T, "bidirectional", "True or False", "int 1"),
    Wrong(
        lambda: PositionScheme("rope", 8, 2),
        V,
        "positions",
        "one of 'sinusoidal', 'learned', 'rotary', 'alibi', 'relative', 'none'",
        "'rope'",
    ),
    Wrong(
        lambda: PositionScheme("rotary", 6, 2),
        V,
        "head_dim",
        "an even number, for features come in pairs",
        "3",
    ),
]


def update(key, value, first=(2, 2, 1, 4), dtype=torch.float32):
    def call():
        cache = KVCache()
        cache.update(torch.zeros(first, dtype=dtype), torch.zeros(first, dtype=dtype))
        cache.update(key, value)

    return call


def used(window=None):
    cache = KVCache(window=window)
    cache.update(torch.zeros(2, 2, 3, 4), torch.zeros(2, 2, 3, 4))
    return cache


def zeros(*shape):
    return torch.zeros(shape)


ONE = zeros(2, 2, 1, 4)
CACHE = [
    Wrong(lambda: KVCache(window=0), V, "window", "an int of at least 1", "0"),
    Wrong(lambda: KVCache(window=2.5), T, "window", "an int", "float 2.5"),
    Wrong(update(X, X), V, "key", "shape (B, H_kv, L, D)", "shape (2, 5, 8)"),
    Wrong(update(ONE, ONE[0]), V, "value", "shape (B, H_kv, L, D)", "shape (2, 1, 4)"),
    Wrong(
        update(ONE, zeros(2, 2, 2, 4)),
        V,
        "value",
        "shape (2, 2, 1, '*'), one value for each key",
        "shape (2, 2, 2, 4)",
    ),
    Wrong(update(ONE.long(), ONE), T, "key", "a floating-point tensor", "torch.int64"),
    Wrong(update(None, ONE), T, "key", "a torch.Tensor", "NoneType"),
    Wrong(
        update(ONE[:1], ONE[:1]),
        V,
        "key",
        "shape (2, 2, 'L', 4), to continue what the cache holds",
        "shape (1, 2, 1, 4)",
    ),
    Wrong(
        update(ONE[:, :1], ONE[:, :1]),
        V,
        "key",
        "shape (2, 2, 'L', 4), to continue what the cache holds",
        "shape (2, 1, 1, 4)",
    ),
    Wrong(
        update(ONE[..., :3], ONE),
        V,
        "key",
        "shape (2, 2, 'L', 4), to continue what the cache holds",
        "shape (2, 2, 1, 3)",
    ),
    Wrong(
        update(ONE, ONE[..., :3]),
        V,
        "value",
        "shape (2, 2, 'L', 4), to continue what the cache holds",
        "shape (2, 2, 1, 3)",
    ),
    Wrong(
        update(ONE.double(), ONE.double()),
        T,
        "key",
        "dtype torch.float32 (that of the cache)",
        "torch.float64",
    ),
    Wrong(update(META, META), V, "key", "device cpu (that of the cache)", "meta"),
    Wrong(lambda: used().mask(0), V, "query_len", "an int of at least 1", "0"),
    Wrong(lambda: used().mask(True), T, "query_len", "an int", "bool True"),
    Wrong(lambda: used().select([0, 1]), T, "rows", "a torch.Tensor", "list"),
    Wrong(
        lambda: used().select(zeros(2)),
        T,
        "rows",
        "an integer tensor of row numbers",
        "torch.float32",
    ),
    Wrong(lambda: used().select(INTS), V, "rows", "shape (N,)", "shape (2, 5)"),
    Wrong(
        lambda: MultiHeadAttention(8, 4)(X, cache=used()),
        V,
        "key",
        "shape (2, 2, 'L', 4), to continue what the cache holds",
        "shape (2, 4, 5, 2)",
    ),
]


def layer(**options):
    return lambda: EncoderLayer(8, 2, 16, **options)


def transformer(*args, **options):
    return Transformer(*(args or (11, 13)), **({"embed_dim": 8, "num_heads": 2} | options))


def make(*args, **options):
    return lambda: transformer(*args, **options)


SOURCE, TARGET = torch.full((2, 5), 3), torch.full((2, 4), 3)


def forward(source=SOURCE, lengths=(5, 3), target=TARGET, **options):
    return lambda: transformer(**options)(source, lengths, target)


def decode(**caches):
    def call():
        model = transformer(window=caches.pop("of_window", None))
        model.decode(TARGET, model.encode(SOURCE), **caches)

    return call


TORCH_LAYER = nn.TransformerEncoderLayer(8, 2, activation=torch.tanh)
OTHER_DROPOUT = nn.TransformerDecoderLayer(8, 2)
OTHER_DROPOUT.dropout2.p = 0.5
TRANSFORMER = [
    Wrong(layer(activation="tanh"), V, "activation", "one of 'relu', 'gelu', …", "'tanh'"),
    Wrong(layer(norm="batch"), V, "norm", "one of 'layer', 'rms'", "'batch'"),
    Wrong(layer(gated=1), T, "gated", "True or False", "int 1"),
    Wrong(layer(norm="rms", norm_eps=0), V, "norm_eps", "a number greater than 0", "0"),
    Wrong(layer(norm_first=1), T, "norm_first", "True or False", "int 1"),
    Wrong(layer(dropout=1.0), V, "dropout", "a probability with 0 <= p < 1", "1.0"),
    Wrong(layer(norm_eps=0), V, "norm_eps", "a number greater than 0", "0"),
    Wrong(layer(num_kv_heads=3), V, "num_kv_heads", "a divisor of num_heads (2)", "3"),
    Wrong(lambda: EncoderLayer(8, 3, 16), V, "num_heads", "a divisor of embed_dim (8)", "3"),
    Wrong(lambda: DecoderLayer(8, 2, 0), V, "hidden_dim", "an int of at least 1", "0"),
    Wrong(
        lambda: DecoderLayer(8, 2, 16)(X, X, need_weights=1),
        T,
        "need_weights",
        "True or False",
        "int 1",
    ),
    Wrong(
        lambda: EncoderLayer(8, 2, 16)(X, mask=X),
        T,
        "mask",
        "a boolean tensor, True where the query may attend (add a float tensor with bias=)",
        "torch.float32",
    ),
    Wrong(
        lambda: EncoderLayer.from_torch(nn.Linear(2, 2)),
        T,
        "module",
        "an nn.TransformerEncoderLayer",
        "Linear",
    ),
    Wrong(
        lambda: DecoderLayer.from_torch(TORCH_LAYER),
        T,
        "module",
        "an nn.TransformerDecoderLayer",
        "TransformerEncoderLayer",
    ),
    Wrong(
        lambda: EncoderLayer.from_torch(TORCH_LAYER),
        V,
        "module",
        "an activation of ReLU or GELU",
        "…tanh…",
    ),
    Wrong(
        lambda: DecoderLayer.from_torch(OTHER_DROPOUT),
        V,
        "module",
        "one probability for all dropouts outside the attention",
        "0.1 and 0.5",
    ),
    Wrong(
        lambda: TransformerEncoder.from_torch(TORCH_LAYER),
        T,
        "module",
        "an nn.TransformerEncoder",
        "TransformerEncoderLayer",
    ),
    Wrong(
        lambda: Decoder.from_torch(nn.Linear(2, 2)),
        T,
        "module",
        "an nn.TransformerDecoder",
        "Linear",
    ),
    Wrong(
        lambda: TransformerEncoder(8, 2, 16, 2)(X, caches=[KVCache()]),
        V,
        "caches",
        "2 caches, one for each layer",
        "1",
    ),
    Wrong(
        lambda: TransformerEncoder(8, 2, 16, 2, final_norm="yes"),
        T,
        "final_norm",
        "True or False",
        "str 'yes'",
    ),
    Wrong(lambda: TransformerEncoder(8, 2, 16, 0), V, "num_layers", "an int of at least 1", "0"),
    Wrong(
        lambda: Decoder(8, 2, 16, 2)(X, X, caches=[KVCache()]),
        V,
        "caches",
        "2 caches, one for each layer",
        "1",
    ),
    Wrong(make(0, 13), V, "source_vocab", "an int of at least 1", "0"),
    Wrong(make(11, 13.0), T, "target_vocab", "an int", "float 13.0"),
    Wrong(make(embed_dim=9), V, "num_heads", "a divisor of embed_dim (9)", "2"),
    Wrong(
        make(embed_dim=6, num_heads=2, positions="rotary"),
        V,
        "head_dim",
        "an even number, for features come in pairs",
        "3",
    ),
    Wrong(
        make(embed_dim=9, num_heads=3),
        V,
        "embed_dim",
        "an even number, for features come in pairs",
        "9",
    ),
    Wrong(make(num_layers=0), V, "num_layers", "an int of at least 1", "0"),
    Wrong(
        make(positions="absolute"),
        V,
        "positions",
        "one of 'sinusoidal', 'learned', 'rotary', 'alibi', 'relative', 'none'",
        "'absolute'",
    ),
    Wrong(make(window=0), V, "window", "an int of at least 1", "0"),
    Wrong(make(share_embeddings="yes"), T, "share_embeddings", "True or False", "str 'yes'"),
    Wrong(
        make(share_embeddings=True),
        V,
        "target_vocab",
        "11 (source_vocab) when share_embeddings is True",
        "13",
    ),
    Wrong(make(pad=11), V, "pad", "an int of at most 10", "11"),
    Wrong(make(eos=1), V, "eos", "an id of its own", "pad=0, bos=1, eos=1"),
    Wrong(make(bos=None), T, "bos", "an int", "NoneType None"),
    Wrong(
        forward(source=SOURCE.float()),
        T,
        "source",
        "an integer tensor of token ids",
        "torch.float32",
    ),
    Wrong(forward(source=[[3, 4]]), T, "source", "a torch.Tensor", "list"),
    Wrong(
        forward(source=SOURCE[0]), V, "source", "shape (B, length) with at least one token", "(5,)"
    ),
    Wrong(
        forward(source=SOURCE[:, :0]),
        V,
        "source",
        "shape (B, length) with at least one token",
        "(2, 0)",
    ),
    Wrong(
        forward(source=SOURCE + 8),
        V,
        "source",
        "ids from 0 to 10 (the vocabulary)",
        "ids from 11 to 11",
    ),
    Wrong(
        forward(source=SOURCE - 4),
        V,
        "source",
        "ids from 0 to 10 (the vocabulary)",
        "ids from -1 to -1",
    ),
    Wrong(
        forward(target=TARGET + 10),
        V,
        "target_in",
        "ids from 0 to 12 (the vocabulary)",
        "ids from 13 to 13",
    ),
    Wrong(
        forward(target=TARGET[:1]),
        V,
        "target_in",
        "size 2 in dimension 0 (one target for each source)",
        "shape (1, 4)",
    ),
    Wrong(
        forward(target=TARGET > 1), T, "target_in", "an integer tensor of token ids", "torch.bool"
    ),
    Wrong(forward(lengths=(5, 6)), V, "source_lengths", "numbers from 0 to 5 (max_len)", "[5, 6]"),
    Wrong(
        forward(lengths=(5, -1)), V, "source_lengths", "numbers from 0 to 5 (max_len)", "[5, -1]"
    ),
    Wrong(forward(lengths=(5,)), V, "source_lengths", "2 lengths, one for each source", "1"),
    Wrong(forward(lengths=(5, 2.5)), T, "source_lengths[1]", "an int", "float 2.5"),
    Wrong(forward(lengths=zeros(2)), T, "source_lengths", "an integer tensor", "torch.float32"),
    Wrong(forward(lengths=INTS), V, "source_lengths", "shape (B,)", "shape (2, 5)"),
    Wrong(
        forward(positions="learned", max_len=4),
        V,
        "x",
        "positions below 4 (max_len)",
        "positions up to 5",
    ),
    Wrong(decode(caches=[KVCache()]), V, "caches", "2 caches, one for each layer", "1"),
    Wrong(
        decode(caches=[KVCache(window=3)] * 2), V, "caches", "window=None, as the model has", "3"
    ),
    Wrong(
        decode(caches=[KVCache()] * 2, of_window=2),
        V,
        "caches",
        "window=2, as the model has",
        "None",
    ),
    Wrong(decode(cross_caches=[]), V, "cross_caches", "2 caches, one for each layer", "0"),
]


def language(**options):
    return LanguageModel(11, **({"embed_dim": 8, "num_heads": 2} | options))


def generate(tokens=SOURCE, most=3, of_model=None, **options):
    return lambda: language(**(of_model or {})).generate(tokens, most, **options)


LANGUAGE = [
    Wrong(
        lambda: LanguageModel(11, embed_dim=30, num_heads=4),
        V,
        "num_heads",
        "a divisor of embed_dim (30)",
        "4",
    ),
    Wrong(
        lambda: TransformerEncoder.from_torch(nn.Transformer(8, 2, 1, 1, 8)),
        TypeError,
        "module",
        "an nn.TransformerEncoder (its encoder or decoder)",
        "Transformer",
    ),
    Wrong(lambda: LanguageModel(0), V, "vocab_size", "an int of at least 1", "0"),
    Wrong(lambda: language(pad=11), V, "pad", "an int of at most 10", "11"),
    Wrong(lambda: language(tie_embeddings=1), T, "tie_embeddings", "True or False", "int 1"),
    Wrong(
        lambda: language()(SOURCE + 8),
        V,
        "tokens",
        "ids from 0 to 10 (the vocabulary)",
        "ids from 11 to 11",
    ),
    Wrong(
        lambda: language(window=3)(SOURCE, caches=[KVCache()] * 2),
        V,
        "caches",
        "window=3, as the model has",
        "None",
    ),
    Wrong(generate(SOURCE[0]), V, "tokens", "shape (B, length) with at least one token", "(5,)"),
    Wrong(generate(most=0), V, "max_new_tokens", "an int of at least 1", "0"),
    Wrong(generate(lengths=[5]), V, "lengths", "2 lengths, one for each source", "1"),
    Wrong(generate(lengths=[5, 9]), V, "lengths", "numbers from 0 to 5 (max_len)", "[5, 9]"),
    Wrong(generate(lengths=[5, 0]), V, "lengths", "at least 1 token in each prompt", "[5, 0]"),
    Wrong(generate(stop=11), V, "stop", "an int of at most 10", "11"),
    Wrong(generate(use_cache=None), T, "use_cache", "True or False", "NoneType None"),
    Wrong(generate(temperature=-1), V, "temperature", "a number of at least 0", "-1"),
    Wrong(
        generate(most=4, of_model={"positions": "learned", "max_len": 8}),
        V,
        "max_new_tokens",
        "at most 3, for learned positions end there",
        "4",
    ),
    Wrong(lambda: sample(INTS), T, "logits", "a floating-point tensor", "torch.int64"),
    Wrong(lambda: sample(X, top_k=0), V, "top_k", "an int of at least 1", "0"),
    Wrong(lambda: sample(X, top_k=2.0), T, "top_k", "an int", "float 2.0"),
    Wrong(lambda: sample(X, top_p=0), V, "top_p", "a probability above 0 and at most 1", "0"),
    Wrong(lambda: sample(X, top_p=1.5), V, "top_p", "a probability above 0 and at most 1", "1.5"),
]


def recurrent(**options):
    return lambda: seq2seq(11, 13, **({"embed_dim": 4, "hidden_dim": 8} | options))


def teach(source=SOURCE, lengths=(5, 3), target=TARGET, attention="dot", **options):
    return lambda: recurrent(attention=attention)()(source, lengths, target, **options)


def bahdanau(attention, **options):
    return lambda: BahdanauDecoder(13, 4, 8, 16, attention, **options)


def pair(encoder, decoder, **options):
    return lambda: Seq2Seq(encoder, decoder, **options)


ENCODER = Encoder(11, 4, 8)
FIXED = FixedVectorDecoder(13, 4, 8, 16)
RNN = [
    Wrong(lambda: Encoder(0, 4, 8), V, "vocab_size", "an int of at least 1", "0"),
    Wrong(lambda: Encoder(11, 0, 8), V, "embed_dim", "an int of at least 1", "0"),
    Wrong(lambda: Encoder(11, 4, 8.0), T, "hidden_dim", "an int", "float 8.0"),
    Wrong(lambda: Encoder(11, 4, 8, cell="rnn"), V, "cell", "one of 'gru', 'lstm'", "'rnn'"),
    Wrong(lambda: Encoder(11, 4, 8, num_layers=0), V, "num_layers", "an int of at least 1", "0"),
    Wrong(
        lambda: Encoder(11, 4, 8, dropout=-0.1),
        V,
        "dropout",
        "a probability with 0 <= p < 1",
        "-0.1",
    ),
    Wrong(lambda: Encoder(11, 4, 8, bidirectional=2), T, "bidirectional", "True or False", "int 2"),
    Wrong(lambda: Encoder(11, 4, 8, pad=11), V, "pad", "an int of at most 10", "11"),
    Wrong(
        lambda: ENCODER(SOURCE.float()),
        T,
        "source",
        "an integer tensor of token ids",
        "torch.float32",
    ),
    Wrong(
        lambda: ENCODER(SOURCE, [5, 9]),
        V,
        "source_lengths",
        "numbers from 0 to 5 (max_len)",
        "[5, 9]",
    ),
    Wrong(lambda: ENCODER(SOURCE, [5]), V, "source_lengths", "2 lengths, one for each source", "1"),
    Wrong(lambda: ENCODER(SOURCE, 5), T, "source_lengths", "a tensor or a sequence of ints", "5"),
    Wrong(
        lambda: FixedVectorDecoder(13, 4, 8, 16, context="all"),
        V,
        "context",
        "one of 'first', 'every'",
        "'all'",
    ),
    Wrong(lambda: FixedVectorDecoder(13, 4, 8, 0), V, "memory_dim", "an int of at least 1", "0"),
    Wrong(lambda: FixedVectorDecoder(13, 4, 8, 16, pad=-1), V, "pad", "an int of at least 0", "-1"),
    Wrong(bahdanau("additive"), T, "attention", "an nn.Module", "str"),
    Wrong(bahdanau(nn.Identity(), context_dim=0), V, "context_dim", "an int of at least 1", "0"),
    Wrong(
        lambda: LuongDecoder(13, 4, 8, 16, nn.Identity(), input_feeding="yes"),
        T,
        "input_feeding",
        "True or False",
        "str 'yes'",
    ),
    Wrong(
        lambda: BahdanauDecoder(13, 4, 8, 16, AdditiveAttention(4, 16, 4))(TARGET, ENCODER(SOURCE)),
        V,
        "query",
        "size 4 in dimension -1 (query_dim)",
        "shape (2, 1, 8)",
    ),
    Wrong(
        lambda: FixedVectorDecoder(13, 4, 8, 10)(TARGET, ENCODER(SOURCE)),
        V,
        "encoded.outputs",
        "size 10 in dimension -1 (memory_dim)",
        "shape (2, 5, 16)",
    ),
    Wrong(
        lambda: FixedVectorDecoder(13, 4, 8, 16, num_layers=2)(TARGET, ENCODER(SOURCE)),
        V,
        "encoded.state",
        "size 2 in dimension 1 (num_layers)",
        "shape (2, 1, 16)",
    ),
    Wrong(pair(FIXED, FIXED), T, "encoder", "an rnn.Encoder", "FixedVectorDecoder"),
    Wrong(pair(ENCODER, ENCODER), T, "decoder", "an rnn.Decoder", "Encoder"),
    Wrong(
        pair(ENCODER, FixedVectorDecoder(13, 4, 8, 8)),
        V,
        "decoder",
        "memory_dim=16, as the encoder has",
        "memory_dim=8",
    ),
    Wrong(
        pair(ENCODER, FixedVectorDecoder(13, 4, 8, 16, num_layers=3)),
        V,
        "decoder",
        "num_layers=1, as the encoder has",
        "num_layers=3",
    ),
    Wrong(pair(ENCODER, FIXED, bos=0), V, "eos", "an id of its own", "pad=0, bos=0, eos=2"),
    Wrong(
        recurrent(attention="none at all"),
        V,
        "attention",
        "one of 'none', 'additive', 'dot', 'general', 'concat'",
        "'none at all'",
    ),
    Wrong(
        recurrent(share_embeddings=True),
        ValueError,
        "target_vocab",
        "11 (source_vocab) when share_embeddings is True",
        "13",
    ),
    Wrong(recurrent(share_embeddings=1), TypeError, "share_embeddings", "True or False", "int 1"),
    Wrong(
        lambda: FIXED.share(ENCODER),
        ValueError,
        "encoder",
        "embeddings of shape (13, 4)",
        "(11, 4)",
    ),
    Wrong(recurrent(hidden_dim=7), V, "hidden_dim", "an even number, half for each direction", "7"),
    Wrong(recurrent(cell="LSTM"), V, "cell", "one of 'gru', 'lstm'", "'LSTM'"),
    Wrong(recurrent(eos=13), V, "eos", "an int of at most 12", "13"),
    Wrong(
        teach(target=TARGET[:1]),
        V,
        "target_in",
        "size 2 in dimension 0 (one target for each source)",
        "shape (1, 4)",
    ),
    Wrong(
        teach(target=TARGET + 10),
        V,
        "target_in",
        "ids from 0 to 12 (the vocabulary)",
        "ids from 13 to 13",
    ),
    Wrong(teach(teacher_forcing=1.5), V, "teacher_forcing", "a probability from 0 to 1", "1.5"),
    Wrong(teach(teacher_forcing=True), T, "teacher_forcing", "a number", "bool True"),
    Wrong(
        lambda: recurrent(attention="none")().weights(SOURCE, None, TARGET),
        V,
        "decoder",
        "one with attention",
        "FixedVectorDecoder",
    ),
    Wrong(
        lambda: recurrent(attention="none")().greedy(SOURCE, None, 4, need_weights=True),
        V,
        "need_weights",
        "False with a FixedVectorDecoder, which has none",
        "True",
    ),
]


def step(tokens, state):
    return Stepped(zeros(len(tokens), 6), state, None)


def beam(max_len=4, model="rnn", **options):
    built = recurrent()() if model == "rnn" else transformer()
    return lambda: built.beam(SOURCE, None, max_len, **options)


SEARCH = [
    Wrong(lambda: greedy_search(step, None, 0, 4), V, "batch", "an int of at least 1", "0"),
    Wrong(lambda: greedy_search(step, None, 2, 0), V, "max_len", "an int of at least 1", "0"),
    Wrong(lambda: greedy_search(step, None, 2, 4.0), T, "max_len", "an int", "float 4.0"),
    Wrong(
        lambda: beam_search(step, None, 1, 4, beam_size=0),
        V,
        "beam_size",
        "an int of at least 1",
        "0",
    ),
    Wrong(
        lambda: recurrent()().greedy(SOURCE, None, None), T, "max_len", "an int", "NoneType None"
    ),
    Wrong(
        lambda: transformer().greedy(SOURCE, [9, 9], 4),
        V,
        "source_lengths",
        "numbers from 0 to 5 (max_len)",
        "[9, 9]",
    ),
    Wrong(
        lambda: greedy_search(step, None, 1, 2, pad=-1),
        V,
        "pad",
        "a token id of at least 0 (None for a model without padding)",
        "-1",
    ),
    Wrong(
        lambda: greedy_search(step, None, 1, 2, pad=6),
        V,
        "pad",
        "a token id of at least 0 and at most 5 (None for a model without padding)",
        "6",
    ),
    Wrong(
        lambda: beam_search(step, None, 1, 2, beam_size=2, eos=6),
        V,
        "eos",
        "a token id of at least 0 and at most 5",
        "6",
    ),
    Wrong(lambda: greedy_search(step, None, 1, 2, bos=None), T, "bos", "an int", "NoneType None"),
    Wrong(lambda: greedy_search(step, None, 1, 2, pad=0.0), T, "pad", "an int", "float 0.0"),
    Wrong(
        lambda: greedy_search(step, None, 1, 2, min_len=3),
        V,
        "min_len",
        "an int of at most 2",
        "3",
    ),
    Wrong(beam(n_best=6), V, "n_best", "an int of at most 5", "6"),
    Wrong(beam(n_best=0), V, "n_best", "an int of at least 1", "0"),
    Wrong(beam(min_len=-1), V, "min_len", "an int of at least 0", "-1"),
    Wrong(beam(max_len=0), V, "max_len", "an int of at least 1", "0"),
    Wrong(beam(beam_size=0), V, "beam_size", "an int of at least 1", "0"),
    Wrong(beam(beam_size=2.0, model="transformer"), T, "beam_size", "an int", "float 2.0"),
    Wrong(beam(length_penalty=-0.5), V, "length_penalty", "a number from 0 to 10", "-0.5"),
    Wrong(beam(length_penalty=1000), V, "length_penalty", "a number from 0 to 10", "1000"),
    Wrong(beam(length_penalty=math.inf), V, "length_penalty", "a finite number", "inf"),
    Wrong(
        lambda: select({"a": "b"}, INTS[0]),
        T,
        "state",
        "tensors, None, or containers of them",
        "str",
    ),
    Wrong(lambda: tokens.check_special(5, pad=0, bos=5), V, "bos", "an int of at most 4", "5"),
]


@pytest.mark.parametrize("wrong", POSITIONS + CACHE + TRANSFORMER + LANGUAGE + RNN + SEARCH)
def test_refused_with_the_error_it_deserves(wrong):
    assert_refused(wrong)


def test_a_refused_update_leaves_the_cache_as_it_was():
    cache = used(window=3)
    with pytest.raises(ValueError, match="key: expected"):
        cache.update(ONE[:1], ONE[:1])
    assert (cache.length, cache.kept) == (3, 2)


def test_a_refused_search_leaves_the_model_in_its_mode():
    model = transformer()
    with pytest.raises(ValueError, match="source_lengths"):
        model.greedy(SOURCE, [9, 9], 4)
    assert model.training
    assert torch.is_grad_enabled()
