"""Wrong calls of the floor: masks, functional, trace, device."""

import math

import numpy as np
import pytest
import torch

import attnkit
from attnkit import device, functional, masks, trace
from tests.refusals.wrong_calls import Wrong, assert_refused

Q, K, V = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 4)
META = torch.empty(2, 3, 7, 8, device="meta")
NESTED = torch.nested.nested_tensor([torch.randn(5, 8), torch.randn(7, 8)])


def sdpa(query=Q, key=K, value=V, **options):
    return lambda: attnkit.scaled_dot_product_attention(query, key, value, **options)


def softmax(scores, mask=None):
    return lambda: attnkit.masked_softmax(scores, mask)


MASKS = [
    Wrong(
        lambda: masks.causal(5, 7),
        ValueError,
        "offset",
        "an int when query_len (5) and key_len (7) differ: 0 aligns the first query with the "
        "first key, key_len - query_len = 2 the last query with the last key",
        "None",
    ),
    Wrong(lambda: masks.causal(-1), ValueError, "query_len", "an int of at least 0", "-1"),
    Wrong(
        lambda: masks.causal(5, -7, offset=0), ValueError, "key_len", "an int of at least 0", "-7"
    ),
    Wrong(lambda: masks.causal(5.0), TypeError, "query_len", "an int", "float 5.0"),
    Wrong(lambda: masks.causal(True), TypeError, "query_len", "an int", "bool True"),
    Wrong(lambda: masks.causal(5, "7"), TypeError, "key_len", "an int", "str '7'"),
    Wrong(lambda: masks.causal(5, offset=0.5), TypeError, "offset", "an int", "float 0.5"),
    Wrong(
        lambda: masks.padding([3, 9], 7),
        ValueError,
        "lengths",
        "numbers from 0 to 7 (max_len)",
        "[3, 9]",
    ),
    Wrong(
        lambda: masks.padding([3, -1], 7),
        ValueError,
        "lengths",
        "numbers from 0 to 7 (max_len)",
        "[3, -1]",
    ),
    Wrong(
        lambda: masks.padding([]),
        ValueError,
        "lengths",
        "at least one length when max_len is omitted",
        "none",
    ),
    Wrong(
        lambda: masks.padding(torch.ones(2, 3, dtype=torch.bool)),
        TypeError,
        "lengths",
        "an integer tensor (a boolean (B, S), True = real, is itself the mask: [:, None])",
        "torch.bool",
    ),
    Wrong(lambda: masks.padding([1, 2.0]), TypeError, "lengths[1]", "an int", "float 2.0"),
    Wrong(lambda: masks.padding(3), TypeError, "lengths", "a tensor or a sequence of ints", "3"),
    Wrong(
        lambda: masks.padding("33"), TypeError, "lengths", "a tensor or a sequence of ints", "'33'"
    ),
    Wrong(
        lambda: masks.padding(torch.ones(2)),
        TypeError,
        "lengths",
        "an integer tensor",
        "torch.float32",
    ),
    Wrong(
        lambda: masks.padding(torch.ones(2, dtype=torch.bool)),
        TypeError,
        "lengths",
        "an integer tensor",
        "torch.bool",
    ),
    Wrong(
        lambda: masks.padding(torch.ones(2, 1, dtype=torch.long)),
        ValueError,
        "lengths",
        "shape (B,)",
        "shape (2, 1)",
    ),
    Wrong(lambda: masks.padding([1], -1), ValueError, "max_len", "an int of at least 0", "-1"),
    Wrong(lambda: masks.padding([1], 1.5), TypeError, "max_len", "an int", "float 1.5"),
    Wrong(
        lambda: masks.sliding_window(5, window=0), ValueError, "window", "an int of at least 1", "0"
    ),
    Wrong(lambda: masks.sliding_window(5, window=2.0), TypeError, "window", "an int", "float 2.0"),
    Wrong(
        lambda: masks.sliding_window(5, window=None), TypeError, "window", "an int", "NoneType None"
    ),
    Wrong(
        lambda: masks.sliding_window(5, 7, window=2),
        ValueError,
        "offset",
        "an int when query_len (5) and key_len (7) differ: 0 aligns the first query with the "
        "first key, key_len - query_len = 2 the last query with the last key",
        "None",
    ),
    Wrong(
        lambda: masks.sliding_window(5, window=2, causal=1),
        TypeError,
        "causal",
        "True or False",
        "int 1",
    ),
    Wrong(lambda: masks.prefix(5, 6), ValueError, "prefix_len", "an int of at most 5", "6"),
    Wrong(lambda: masks.prefix(5, -1), ValueError, "prefix_len", "an int of at least 0", "-1"),
    Wrong(lambda: masks.prefix(-5, 0), ValueError, "length", "an int of at least 0", "-5"),
    Wrong(
        lambda: masks.from_torch_padding([True]),
        TypeError,
        "key_padding_mask",
        "a torch.Tensor",
        "list",
    ),
    Wrong(
        lambda: masks.blocks(torch.arange(2), torch.rand(3)),
        TypeError,
        "key_block_ids",
        "an integer tensor",
        "torch.float32",
    ),
    Wrong(lambda: masks.blocks([0, 1]), TypeError, "block_ids", "a torch.Tensor", "list"),
    Wrong(
        lambda: masks.blocks(torch.rand(3)),
        TypeError,
        "block_ids",
        "an integer tensor",
        "torch.float32",
    ),
    Wrong(
        lambda: masks.blocks(torch.tensor(3)),
        ValueError,
        "block_ids",
        "at least 1 dimensions (..., length)",
        "shape ()",
    ),
    Wrong(
        lambda: masks.blocks(torch.arange(3), torch.arange(3, device="meta")),
        ValueError,
        "key_block_ids",
        "device cpu (that of block_ids)",
        "device meta",
    ),
    Wrong(
        lambda: masks.from_torch_padding(torch.zeros(2, 7)),
        TypeError,
        "key_padding_mask",
        "a boolean tensor",
        "torch.float32",
    ),
    Wrong(
        lambda: masks.from_torch_padding(torch.ones(7, dtype=torch.bool)),
        ValueError,
        "key_padding_mask",
        "shape (B, S)",
        "shape (7,)",
    ),
    Wrong(
        lambda: masks.from_torch_attention(torch.zeros(5, 7)),
        TypeError,
        "attn_mask",
        "a boolean tensor",
        "torch.float32",
    ),
    Wrong(
        lambda: masks.from_torch_attention(torch.ones(7, dtype=torch.bool)),
        ValueError,
        "attn_mask",
        "at least 2 dimensions (..., L, S)",
        "shape (7,)",
    ),
]

SDPA = [
    Wrong(sdpa(query=[1.0]), TypeError, "query", "a torch.Tensor", "list"),
    Wrong(sdpa(key=np.zeros((7, 8))), TypeError, "key", "a torch.Tensor", "ndarray"),
    Wrong(sdpa(value=None), TypeError, "value", "a torch.Tensor", "NoneType"),
    *(
        Wrong(sdpa(**{name: NESTED}), TypeError, name, "a dense tensor", "a nested one")
        for name in ("query", "key", "value")
    ),
    *(
        Wrong(sdpa(**{name: K.to_sparse()}), TypeError, name, "a dense tensor", "a sparse one")
        for name in ("query", "key", "value")
    ),
    Wrong(sdpa(query=Q.long()), TypeError, "query", "a floating-point tensor", "torch.int64"),
    Wrong(
        sdpa(key=K.to(torch.complex64)),
        TypeError,
        "key",
        "a floating-point tensor",
        "torch.complex64",
    ),
    Wrong(
        sdpa(query=Q[0, 0, 0]),
        ValueError,
        "query",
        "at least 2 dimensions (..., length, features)",
        "shape (8,)",
    ),
    Wrong(
        sdpa(value=V[0, 0, 0]),
        ValueError,
        "value",
        "at least 2 dimensions (..., length, features)",
        "shape (4,)",
    ),
    Wrong(
        sdpa(query=Q[..., :0]),
        ValueError,
        "query",
        "at least one feature in the last dimension",
        "shape (2, 3, 5, 0)",
    ),
    Wrong(
        sdpa(Q[..., :0], K[..., :0]),
        ValueError,
        "query",
        "at least one feature in the last dimension",
        "shape (2, 3, 5, 0)",
    ),
    Wrong(
        sdpa(value=V[..., :0]),
        ValueError,
        "value",
        "at least one feature in the last dimension",
        "shape (2, 3, 7, 0)",
    ),
    Wrong(
        sdpa(key=K[..., :6]),
        ValueError,
        "key",
        "size 8 in dimension -1 (the feature size of query)",
        "shape (2, 3, 7, 6)",
    ),
    Wrong(
        sdpa(value=V[..., :6, :]),
        ValueError,
        "value",
        "size 7 in dimension -2 (one value for each key)",
        "shape (2, 3, 6, 4)",
    ),
    Wrong(
        sdpa(key=K.double()),
        TypeError,
        "key",
        "dtype torch.float32 (that of query)",
        "torch.float64",
    ),
    Wrong(
        sdpa(value=V.half()),
        TypeError,
        "value",
        "dtype torch.float32 (that of query)",
        "torch.float16",
    ),
    Wrong(sdpa(key=META), ValueError, "key", "device cpu (that of query)", "device meta"),
    Wrong(sdpa(value=META), ValueError, "value", "device cpu (that of query)", "device meta"),
    Wrong(
        sdpa(Q[:, :2]),
        ValueError,
        "value",
        "leading dimensions that broadcast with the others",
        "query (2, 2, 5, 8), key (2, 3, 7, 8), value (2, 3, 7, 4)",
    ),
    Wrong(
        sdpa(key=K[:, :2], value=V[:, :2]),
        ValueError,
        "key",
        "the query's 3 heads (or fewer, with enable_gqa=True)",
        "shape (2, 2, 7, 8)",
    ),
    Wrong(
        sdpa(mask=torch.zeros(5, 7)),
        TypeError,
        "mask",
        "a boolean tensor, True where the query may attend (add a float tensor with bias=)",
        "torch.float32",
    ),
    Wrong(
        sdpa(mask=torch.ones(5, 7, dtype=torch.long)),
        TypeError,
        "mask",
        "a boolean tensor, True where the query may attend",
        "torch.int64",
    ),
    Wrong(sdpa(mask=[[True]]), TypeError, "mask", "a torch.Tensor", "list"),
    Wrong(
        sdpa(mask=torch.ones(7, 5, dtype=torch.bool)),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 3, 5, 7)",
        "shape (7, 5)",
    ),
    Wrong(
        sdpa(Q[0, 0], K[0, 0], V[0, 0], mask=torch.ones(3, 5, 7, dtype=torch.bool)),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (5, 7)",
        "shape (3, 5, 7)",
    ),
    Wrong(
        sdpa(mask=masks.padding([7, 3, 7, 3])),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 3, 5, 7)",
        "shape (4, 1, 7)",
    ),
    Wrong(
        sdpa(mask=torch.ones(5, 7, dtype=torch.bool, device="meta")),
        ValueError,
        "mask",
        "device cpu (that of query)",
        "device meta",
    ),
    Wrong(
        sdpa(bias=masks.causal(5, 7, offset=2)),
        TypeError,
        "bias",
        "a floating-point tensor (pass a boolean tensor as mask=)",
        "torch.bool",
    ),
    Wrong(
        sdpa(bias=torch.ones(5, 7).int()),
        TypeError,
        "bias",
        "a floating-point tensor",
        "torch.int32",
    ),
    Wrong(sdpa(bias=0.5), TypeError, "bias", "a torch.Tensor", "float"),
    Wrong(
        sdpa(bias=torch.ones(5, 6)),
        ValueError,
        "bias",
        "a shape that broadcasts to (..., L, S) = (2, 3, 5, 7)",
        "shape (5, 6)",
    ),
    Wrong(
        sdpa(bias=torch.ones(5, 7, device="meta")),
        ValueError,
        "bias",
        "device cpu (that of query)",
        "device meta",
    ),
    Wrong(sdpa(scale=math.nan), ValueError, "scale", "a finite number", "nan"),
    Wrong(sdpa(scale=math.inf), ValueError, "scale", "a finite number", "inf"),
    Wrong(sdpa(scale="0.1"), TypeError, "scale", "a number", "str '0.1'"),
    Wrong(sdpa(scale=True), TypeError, "scale", "a number", "bool True"),
    Wrong(sdpa(scale=torch.tensor(0.1)), TypeError, "scale", "a number", "Tensor tensor(0.1000)"),
    Wrong(sdpa(dropout_p=2), ValueError, "dropout_p", "a probability with 0 <= p < 1", "2"),
    Wrong(sdpa(dropout_p=1.0), ValueError, "dropout_p", "a probability with 0 <= p < 1", "1.0"),
    Wrong(sdpa(dropout_p=-0.1), ValueError, "dropout_p", "a probability with 0 <= p < 1", "-0.1"),
    Wrong(sdpa(dropout_p=None), TypeError, "dropout_p", "a number", "NoneType None"),
    Wrong(sdpa(need_weights=1), TypeError, "need_weights", "True or False", "int 1"),
    Wrong(sdpa(enable_gqa="yes"), TypeError, "enable_gqa", "True or False", "str 'yes'"),
    Wrong(
        sdpa(key=K[:, :2], value=V[:, :2], enable_gqa=True),
        ValueError,
        "key",
        "a number of heads that divides the query's 3",
        "2",
    ),
    Wrong(
        sdpa(key=K[:, :0], value=V[:, :0], enable_gqa=True),
        ValueError,
        "key",
        "a number of heads that divides the query's 3",
        "0",
    ),
    Wrong(
        sdpa(key=K[:, :1], enable_gqa=True),
        ValueError,
        "value",
        "size 1 in dimension -3 (the heads of key)",
        "shape (2, 3, 7, 4)",
    ),
    Wrong(
        sdpa(Q[:1], K[:, :1], V[:, :1], enable_gqa=True),
        ValueError,
        "key",
        "the leading dimensions of query, (1,), when enable_gqa is True",
        "key (2, 1, 7, 8) and value (2, 1, 7, 4)",
    ),
    Wrong(
        sdpa(Q[0, 0], enable_gqa=True),
        ValueError,
        "query",
        "at least 3 dimensions (..., heads, length, features) when enable_gqa is True",
        "shape (5, 8)",
    ),
]

SDPA += [
    Wrong(
        sdpa(key=K[0, 0], enable_gqa=True),
        ValueError,
        "key",
        "at least 3 dimensions (..., heads, length, features) when enable_gqa is True",
        "shape (7, 8)",
    ),
    Wrong(
        sdpa(value=V[0, 0], enable_gqa=True),
        ValueError,
        "value",
        "at least 3 dimensions (..., heads, length, features) when enable_gqa is True",
        "shape (7, 4)",
    ),
]

PARTS = [
    Wrong(
        lambda: functional.general_scores(Q, K, [1.0]),
        TypeError,
        "weight",
        "a torch.Tensor",
        "list",
    ),
    Wrong(softmax([1.0]), TypeError, "scores", "a torch.Tensor", "list"),
    Wrong(softmax(torch.arange(3)), TypeError, "scores", "a floating-point tensor", "torch.int64"),
    Wrong(
        softmax(torch.tensor(1.0)),
        ValueError,
        "scores",
        "at least 1 dimensions (..., S)",
        "shape ()",
    ),
    Wrong(
        softmax(torch.ones(2, 3), torch.ones(2, 3)),
        TypeError,
        "mask",
        "a boolean tensor, True where the query may attend (add a float tensor with bias=)",
        "torch.float32",
    ),
    Wrong(
        softmax(torch.ones(2, 3), torch.ones(3, 3) > 0),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 3)",
        "shape (3, 3)",
    ),
    Wrong(
        lambda: functional.dot_scores(Q.int(), K),
        TypeError,
        "query",
        "a floating-point tensor",
        "torch.int32",
    ),
    Wrong(
        lambda: functional.additive_scores(Q, K.int(), torch.ones(8)),
        TypeError,
        "key",
        "a floating-point tensor",
        "torch.int32",
    ),
    Wrong(
        lambda: functional.dot_scores(Q[0, 0, 0], K),
        ValueError,
        "query",
        "at least 2 dimensions (..., length, features)",
        "shape (8,)",
    ),
    Wrong(
        lambda: functional.additive_scores(Q, K[0, 0, 0], torch.ones(8)),
        ValueError,
        "key",
        "at least 2 dimensions (..., length, features)",
        "shape (8,)",
    ),
    Wrong(
        lambda: functional.dot_scores(Q, K[:, :2]),
        ValueError,
        "key",
        "leading dimensions that broadcast with the others",
        "query (2, 3, 5, 8), key (2, 2, 7, 8)",
    ),
    Wrong(
        lambda: functional.dot_scores(Q, K[..., :3]),
        ValueError,
        "key",
        "size 8 in dimension -1 (the feature size of query)",
        "shape (2, 3, 7, 3)",
    ),
    Wrong(
        lambda: functional.dot_scores(Q, K, scale=math.nan),
        ValueError,
        "scale",
        "a finite number",
        "nan",
    ),
    Wrong(
        lambda: functional.dot_scores(Q, META),
        ValueError,
        "key",
        "device cpu (that of query)",
        "device meta",
    ),
    Wrong(
        lambda: functional.general_scores(Q, K, torch.ones(8, 7)),
        ValueError,
        "weight",
        "shape (Eq, Ek) = (8, 8)",
        "shape (8, 7)",
    ),
    Wrong(
        lambda: functional.additive_scores(Q, K, torch.ones(7)),
        ValueError,
        "v",
        "shape (A,) = (8,)",
        "shape (7,)",
    ),
    Wrong(
        lambda: functional.additive_scores(Q, K[..., :7], torch.ones(8)),
        ValueError,
        "key",
        "size 8 in dimension -1 (the hidden size of query)",
        "shape (2, 3, 7, 7)",
    ),
    Wrong(
        lambda: functional.concat_scores(Q, K, torch.ones(4, 15), torch.ones(4)),
        ValueError,
        "weight",
        "shape (A, Eq + Ek) = (4, 16)",
        "shape (4, 15)",
    ),
    Wrong(
        lambda: functional.concat_scores(Q, K, torch.ones(4, 16), torch.ones(4, 1)),
        ValueError,
        "v",
        "shape (A,) = (1,)",
        "shape (4, 1)",
    ),
    Wrong(
        lambda: functional.concat_scores(Q, K, torch.ones(4, 16), torch.tensor(1.0)),
        ValueError,
        "v",
        "shape (A,) = (0,)",
        "shape ()",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7).int(), torch.ones(7, 2)),
        TypeError,
        "scores",
        "a floating-point tensor",
        "torch.int32",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(7, 2).int()),
        TypeError,
        "value",
        "a floating-point tensor",
        "torch.int32",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(6, 2)),
        ValueError,
        "value",
        "size 7 in dimension -2 (one value for each score)",
        "shape (6, 2)",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(7), torch.ones(7, 2)),
        ValueError,
        "scores",
        "at least 2 dimensions (..., L, S)",
        "shape (7,)",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(7)),
        ValueError,
        "value",
        "at least 2 dimensions (..., S, Ev)",
        "shape (7,)",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(7, 2), dropout_p=2),
        ValueError,
        "dropout_p",
        "a probability with 0 <= p < 1",
        "2",
    ),
    Wrong(lambda: trace.record("model").__enter__(), TypeError, "module", "an nn.Module", "str"),
    Wrong(
        lambda: device.choose("gpu"),
        ValueError,
        "device",
        "a device of this machine (cpu would do)",
        "…'gpu'…",
    ),
    Wrong(
        lambda: device.choose("cuda:99"),
        ValueError,
        "device",
        "a device of this machine (cpu would do)",
        "'cuda:99': Torch not compiled with CUDA enabled",
    ),
    Wrong(
        lambda: device.choose(3.5),
        ValueError,
        "device",
        "a device of this machine (cpu would do)",
        "…3.5…",
    ),
    Wrong(
        lambda: device.sdpa_backend(3),
        TypeError,
        "call",
        "a function without arguments",
        "int",
    ),
]


@pytest.mark.parametrize("wrong", MASKS + SDPA + PARTS)
def test_refused_with_the_error_it_deserves(wrong):
    assert_refused(wrong)
