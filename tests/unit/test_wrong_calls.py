"""Wrong calls of the floor: masks, functional, trace, device."""

import math

import numpy as np
import pytest
import torch

import attnkit
from attnkit import device, functional, masks, trace

from .wrong_calls import Wrong, assert_refused

Q, K, V = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 4)
META = torch.empty(2, 3, 7, 8, device="meta")


def sdpa(query=Q, key=K, value=V, **options):
    return lambda: attnkit.scaled_dot_product_attention(query, key, value, **options)


def softmax(scores, mask=None):
    return lambda: attnkit.masked_softmax(scores, mask)


MASKS = [
    Wrong(
        lambda: masks.causal(5, 7), ValueError, "offset", "first query with the first key", "None"
    ),
    Wrong(lambda: masks.causal(5, 7), ValueError, "offset", "key_len - query_len = 2", "None"),
    Wrong(lambda: masks.causal(-1), ValueError, "query_len", "at least 0", "-1"),
    Wrong(lambda: masks.causal(5, -7, offset=0), ValueError, "key_len", "at least 0", "-7"),
    Wrong(lambda: masks.causal(5.0), TypeError, "query_len", "an int", "float 5.0"),
    Wrong(lambda: masks.causal(True), TypeError, "query_len", "an int", "bool True"),
    Wrong(lambda: masks.causal(5, "7"), TypeError, "key_len", "an int", "str '7'"),
    Wrong(lambda: masks.causal(5, offset=0.5), TypeError, "offset", "an int", "float 0.5"),
    Wrong(lambda: masks.padding([3, 9], 7), ValueError, "lengths", "from 0 to 7", "[3, 9]"),
    Wrong(lambda: masks.padding([3, -1], 7), ValueError, "lengths", "from 0 to 7", "[3, -1]"),
    Wrong(lambda: masks.padding([]), ValueError, "lengths", "at least one", "none"),
    Wrong(lambda: masks.padding([1, 2.0]), TypeError, "lengths[1]", "an int", "float 2.0"),
    Wrong(lambda: masks.padding(3), TypeError, "lengths", "a tensor or a sequence", "3"),
    Wrong(lambda: masks.padding("33"), TypeError, "lengths", "a tensor or a sequence", "'33'"),
    Wrong(lambda: masks.padding(torch.ones(2)), TypeError, "lengths", "integer", "torch.float32"),
    Wrong(
        lambda: masks.padding(torch.ones(2, dtype=torch.bool)), TypeError, "lengths", "int", "bool"
    ),
    Wrong(
        lambda: masks.padding(torch.ones(2, 1, dtype=torch.long)),
        ValueError,
        "lengths",
        "(B,)",
        "(2, 1)",
    ),
    Wrong(lambda: masks.padding([1], -1), ValueError, "max_len", "at least 0", "-1"),
    Wrong(lambda: masks.padding([1], 1.5), TypeError, "max_len", "an int", "1.5"),
    Wrong(lambda: masks.sliding_window(5, window=0), ValueError, "window", "at least 1", "0"),
    Wrong(lambda: masks.sliding_window(5, window=2.0), TypeError, "window", "an int", "2.0"),
    Wrong(lambda: masks.sliding_window(5, window=None), TypeError, "window", "an int", "None"),
    Wrong(lambda: masks.sliding_window(5, 7, window=2), ValueError, "offset", "an int", "None"),
    Wrong(
        lambda: masks.sliding_window(5, window=2, causal=1), TypeError, "causal", "True or", "int 1"
    ),
    Wrong(lambda: masks.prefix(5, 6), ValueError, "prefix_len", "at most 5", "6"),
    Wrong(lambda: masks.prefix(5, -1), ValueError, "prefix_len", "at least 0", "-1"),
    Wrong(lambda: masks.prefix(-5, 0), ValueError, "length", "at least 0", "-5"),
    Wrong(lambda: masks.blocks([0, 1]), TypeError, "block_ids", "torch.Tensor", "list"),
    Wrong(lambda: masks.blocks(torch.rand(3)), TypeError, "block_ids", "integer", "float32"),
    Wrong(lambda: masks.blocks(torch.tensor(3)), ValueError, "block_ids", "at least 1", "()"),
    Wrong(
        lambda: masks.blocks(torch.arange(3), torch.arange(3, device="meta")),
        ValueError,
        "key_block_ids",
        "device cpu",
        "meta",
    ),
    Wrong(
        lambda: masks.from_torch_padding(torch.zeros(2, 7)),
        TypeError,
        "key_padding_mask",
        "boolean",
        "float32",
    ),
    Wrong(
        lambda: masks.from_torch_padding(torch.ones(7, dtype=torch.bool)),
        ValueError,
        "key_padding_mask",
        "(B, S)",
        "(7,)",
    ),
    Wrong(
        lambda: masks.from_torch_attention(torch.zeros(5, 7)),
        TypeError,
        "attn_mask",
        "boolean",
        "float32",
    ),
    Wrong(
        lambda: masks.from_torch_attention(torch.ones(7, dtype=torch.bool)),
        ValueError,
        "attn_mask",
        "at least 2",
        "(7,)",
    ),
]

SDPA = [
    Wrong(sdpa(query=[1.0]), TypeError, "query", "torch.Tensor", "list"),
    Wrong(sdpa(key=np.zeros((7, 8))), TypeError, "key", "torch.Tensor", "ndarray"),
    Wrong(sdpa(value=None), TypeError, "value", "torch.Tensor", "NoneType"),
    Wrong(sdpa(query=Q.long()), TypeError, "query", "floating-point", "torch.int64"),
    Wrong(sdpa(key=K.to(torch.complex64)), TypeError, "key", "floating-point", "complex64"),
    Wrong(sdpa(query=Q[0, 0, 0]), ValueError, "query", "at least 2 dimensions", "(8,)"),
    Wrong(sdpa(value=V[0, 0, 0]), ValueError, "value", "at least 2 dimensions", "(4,)"),
    Wrong(
        sdpa(Q[..., :0], K[..., :0]), ValueError, "query", "at least one feature", "(2, 3, 5, 0)"
    ),
    Wrong(sdpa(value=V[..., :0]), ValueError, "value", "at least one feature", "(2, 3, 7, 0)"),
    Wrong(sdpa(key=K[..., :6]), ValueError, "key", "size 8", "(2, 3, 7, 6)"),
    Wrong(sdpa(value=V[..., :6, :]), ValueError, "value", "one value for each key", "(2, 3, 6, 4)"),
    Wrong(sdpa(key=K.double()), TypeError, "key", "float32 (that of query)", "float64"),
    Wrong(sdpa(value=V.half()), TypeError, "value", "float32 (that of query)", "float16"),
    Wrong(sdpa(key=META), ValueError, "key", "device cpu (that of query)", "meta"),
    Wrong(sdpa(Q[:, :2]), ValueError, "value", "leading dimensions that broadcast", "(2, 2, 5, 8)"),
    Wrong(sdpa(mask=torch.zeros(5, 7)), TypeError, "mask", "bias=", "float32"),
    Wrong(sdpa(mask=torch.ones(5, 7, dtype=torch.long)), TypeError, "mask", "boolean", "int64"),
    Wrong(sdpa(mask=[[True]]), TypeError, "mask", "torch.Tensor", "list"),
    Wrong(
        sdpa(mask=torch.ones(7, 5, dtype=torch.bool)), ValueError, "mask", "(2, 3, 5, 7)", "(7, 5)"
    ),
    Wrong(
        sdpa(Q[0, 0], K[0, 0], V[0, 0], mask=torch.ones(3, 5, 7, dtype=torch.bool)),
        ValueError,
        "mask",
        "(5, 7)",
        "(3, 5, 7)",
    ),
    Wrong(sdpa(mask=masks.padding([7, 3, 7, 3])), ValueError, "mask", "broadcasts", "(4, 1, 7)"),
    Wrong(
        sdpa(mask=torch.ones(5, 7, dtype=torch.bool, device="meta")),
        ValueError,
        "mask",
        "device cpu",
        "meta",
    ),
    Wrong(sdpa(bias=masks.causal(5, 7, offset=2)), TypeError, "bias", "mask=", "torch.bool"),
    Wrong(sdpa(bias=torch.ones(5, 7).int()), TypeError, "bias", "floating-point", "int32"),
    Wrong(sdpa(bias=0.5), TypeError, "bias", "torch.Tensor", "float"),
    Wrong(sdpa(bias=torch.ones(5, 6)), ValueError, "bias", "(2, 3, 5, 7)", "(5, 6)"),
    Wrong(
        sdpa(bias=torch.ones(5, 7, device="meta")), ValueError, "bias", "device cpu", "device meta"
    ),
    Wrong(sdpa(scale=math.nan), ValueError, "scale", "finite", "nan"),
    Wrong(sdpa(scale=math.inf), ValueError, "scale", "finite", "inf"),
    Wrong(sdpa(scale="0.1"), TypeError, "scale", "a number", "'0.1'"),
    Wrong(sdpa(scale=True), TypeError, "scale", "a number", "bool True"),
    Wrong(sdpa(scale=torch.tensor(0.1)), TypeError, "scale", "a number", "Tensor"),
    Wrong(sdpa(dropout_p=2), ValueError, "dropout_p", "0 <= p < 1", "2"),
    Wrong(sdpa(dropout_p=1.0), ValueError, "dropout_p", "0 <= p < 1", "1.0"),
    Wrong(sdpa(dropout_p=-0.1), ValueError, "dropout_p", "0 <= p < 1", "-0.1"),
    Wrong(sdpa(dropout_p=None), TypeError, "dropout_p", "a number", "None"),
    Wrong(sdpa(need_weights=1), TypeError, "need_weights", "True or False", "int 1"),
    Wrong(sdpa(enable_gqa="yes"), TypeError, "enable_gqa", "True or False", "'yes'"),
    Wrong(
        sdpa(key=K[:, :2], value=V[:, :2], enable_gqa=True),
        ValueError,
        "key",
        "divides the query's 3",
        "2",
    ),
    Wrong(
        sdpa(key=K[:, :0], value=V[:, :0], enable_gqa=True),
        ValueError,
        "key",
        "divides the query's 3",
        "0",
    ),
    Wrong(
        sdpa(key=K[:, :1], enable_gqa=True), ValueError, "value", "the heads of key", "(2, 3, 7, 4)"
    ),
    Wrong(
        sdpa(Q[:1], K[:, :1], V[:, :1], enable_gqa=True),
        ValueError,
        "key",
        "the leading dimensions of query, (1,)",
        "(2, 1, 7, 8)",
    ),
    Wrong(sdpa(Q[0, 0], enable_gqa=True), ValueError, "query", "heads, length, features", "(5, 8)"),
]

PARTS = [
    Wrong(softmax([1.0]), TypeError, "scores", "torch.Tensor", "list"),
    Wrong(softmax(torch.arange(3)), TypeError, "scores", "floating-point", "int64"),
    Wrong(softmax(torch.tensor(1.0)), ValueError, "scores", "at least 1", "()"),
    Wrong(softmax(torch.ones(2, 3), torch.ones(2, 3)), TypeError, "mask", "bias=", "float32"),
    Wrong(softmax(torch.ones(2, 3), torch.ones(3, 3) > 0), ValueError, "mask", "(2, 3)", "(3, 3)"),
    Wrong(
        lambda: functional.dot_scores(Q, K[..., :3]), ValueError, "key", "size 8", "(2, 3, 7, 3)"
    ),
    Wrong(
        lambda: functional.dot_scores(Q, K, scale=math.nan), ValueError, "scale", "finite", "nan"
    ),
    Wrong(lambda: functional.dot_scores(Q, META), ValueError, "key", "device cpu", "meta"),
    Wrong(
        lambda: functional.general_scores(Q, K, torch.ones(8, 7)),
        ValueError,
        "weight",
        "(Eq, Ek) = (8, 8)",
        "(8, 7)",
    ),
    Wrong(
        lambda: functional.additive_scores(Q, K, torch.ones(7)),
        ValueError,
        "v",
        "(A,) = (8,)",
        "(7,)",
    ),
    Wrong(
        lambda: functional.additive_scores(Q, K[..., :7], torch.ones(8)),
        ValueError,
        "key",
        "the hidden size of query",
        "(2, 3, 7, 7)",
    ),
    Wrong(
        lambda: functional.concat_scores(Q, K, torch.ones(4, 15), torch.ones(4)),
        ValueError,
        "weight",
        "(4, 16)",
        "(4, 15)",
    ),
    Wrong(
        lambda: functional.concat_scores(Q, K, torch.ones(4, 16), torch.ones(4, 1)),
        ValueError,
        "v",
        "(A,)",
        "(4, 1)",
    ),
    Wrong(
        lambda: functional.concat_scores(Q, K, torch.ones(4, 16), torch.tensor(1.0)),
        ValueError,
        "v",
        "(A,)",
        "()",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(6, 2)),
        ValueError,
        "value",
        "one value for each score",
        "(6, 2)",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(7), torch.ones(7, 2)),
        ValueError,
        "scores",
        "(..., L, S)",
        "(7,)",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(7)),
        ValueError,
        "value",
        "(..., S, Ev)",
        "(7,)",
    ),
    Wrong(
        lambda: functional.attend(torch.ones(5, 7), torch.ones(7, 2), dropout_p=2),
        ValueError,
        "dropout_p",
        "0 <= p < 1",
        "2",
    ),
    Wrong(lambda: trace.record("model").__enter__(), TypeError, "module", "nn.Module", "str"),
    Wrong(lambda: device.choose("gpu"), ValueError, "device", "of this machine", "'gpu'"),
    Wrong(lambda: device.choose("cuda:99"), ValueError, "device", "of this machine", "'cuda:99'"),
    Wrong(lambda: device.choose(3.5), ValueError, "device", "of this machine", "3.5"),
    Wrong(lambda: device.sdpa_backend(3), TypeError, "call", "something to call", "int"),
]


@pytest.mark.parametrize("wrong", MASKS + SDPA + PARTS)
def test_refused_with_the_error_it_deserves(wrong):
    assert_refused(wrong)
