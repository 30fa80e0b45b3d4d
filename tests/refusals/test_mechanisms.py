"""Wrong calls of the mechanisms: each error names the argument, what was expected, what came."""

import pytest
import torch
from torch import nn

from attnkit import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
)
from tests.refusals.wrong_calls import Wrong, assert_refused

B, L, S, H = 2, 3, 5, 4
TWO, FOUR, SIX, EIGHT = (torch.randn(B, S, n) for n in (2, 4, 6, 8))
QUERY = torch.randn(B, L, 4)
INTEGERS = torch.ones(B, S, 4, dtype=torch.long)
BOOLEAN = torch.ones(B, L, S, dtype=torch.bool)

additive = AdditiveAttention(4, 6, 7)
same = AdditiveAttention(4, 4, 7)
general = LuongAttention(4, 6, score="general")
concat = LuongAttention(4, 6, score="concat")
dot = LuongAttention(4, 4)
projected = ProjectedAttention(4, 6, 7)
one = SelfAttention(8)
many = MultiHeadAttention(8, H)
grouped = MultiHeadAttention(8, H, num_kv_heads=2)
apart = MultiHeadAttention(4, 2, kdim=6, vdim=2)


def call(function, *arguments, **options):
    return lambda: function(*arguments, **options)


def torch_module(**options):
    return nn.MultiheadAttention(8, H, **options)


BUILDING = [
    Wrong(call(AdditiveAttention, 0, 6, 7), ValueError, "query_dim", "an int of at least 1", "0"),
    Wrong(call(AdditiveAttention, 4, -6, 7), ValueError, "key_dim", "an int of at least 1", "-6"),
    Wrong(call(AdditiveAttention, 4, 6, 0), ValueError, "hidden_dim", "an int of at least 1", "0"),
    Wrong(call(AdditiveAttention, 4.0, 6, 7), TypeError, "query_dim", "an int", "float 4.0"),
    Wrong(call(AdditiveAttention, 4, "6", 7), TypeError, "key_dim", "an int", "str '6'"),
    Wrong(call(AdditiveAttention, 4, 6, None), TypeError, "hidden_dim", "an int", "NoneType None"),
    Wrong(call(AdditiveAttention, True, 6, 7), TypeError, "query_dim", "an int", "bool True"),
    Wrong(call(MultiHeadAttention, 8, 3, head_dim=0), ValueError, "head_dim", "…at least 1", "0"),
    Wrong(call(MultiHeadAttention, 8, 3, head_dim=2.5), TypeError, "head_dim", "an int", "…2.5"),
    Wrong(call(MultiHeadAttention, 8, 0, head_dim=2), ValueError, "num_heads", "…least 1", "0"),
    Wrong(call(ProjectedAttention, 0, 6, 7), ValueError, "query_dim", "an int of at least 1", "0"),
    Wrong(call(ProjectedAttention, 4, 0, 7), ValueError, "key_dim", "an int of at least 1", "0"),
    Wrong(call(ProjectedAttention, 4, 6, 0), ValueError, "hidden_dim", "an int of at least 1", "0"),
    Wrong(call(ProjectedAttention, 4, 6, 7.5), TypeError, "hidden_dim", "an int", "float 7.5"),
    Wrong(
        call(LuongAttention, 0, 6, "general"), ValueError, "query_dim", "an int of at least 1", "0"
    ),
    Wrong(
        call(LuongAttention, 4, 0, "general"), ValueError, "key_dim", "an int of at least 1", "0"
    ),
    Wrong(
        call(LuongAttention, 4, 6, "location"),
        ValueError,
        "score",
        "one of 'dot', 'general', 'concat'",
        "'location'",
    ),
    Wrong(
        call(LuongAttention, 4, 4, None),
        ValueError,
        "score",
        "one of 'dot', 'general', 'concat'",
        "None",
    ),
    Wrong(
        call(LuongAttention, 4, 6),
        ValueError,
        "key_dim",
        "query_dim (4) when score is 'dot' ('general' takes any)",
        "6",
    ),
    Wrong(
        call(LuongAttention, 4, 4, hidden_dim=7),
        ValueError,
        "hidden_dim",
        "None when score is 'dot'",
        "7",
    ),
    Wrong(
        call(LuongAttention, 4, 6, "general", hidden_dim=7),
        ValueError,
        "hidden_dim",
        "None when score is 'general'",
        "7",
    ),
    Wrong(
        call(LuongAttention, 4, 6, "concat", hidden_dim=0),
        ValueError,
        "hidden_dim",
        "an int of at least 1",
        "0",
    ),
    Wrong(call(SelfAttention, 0), ValueError, "embed_dim", "an int of at least 1", "0"),
    Wrong(call(SelfAttention, 8, 0), ValueError, "head_dim", "an int of at least 1", "0"),
    Wrong(call(SelfAttention, 8, bias=1), TypeError, "bias", "True or False", "int 1"),
    Wrong(call(SelfAttention, 8, scale="1"), TypeError, "scale", "a number", "str '1'"),
    Wrong(call(MultiHeadAttention, 8, 2, scale="1"), TypeError, "scale", "a number", "str '1'"),
    Wrong(call(ProjectedAttention, 8, 8, 4, scale="1"), TypeError, "scale", "…number", "str '1'"),
    Wrong(
        call(SelfAttention, 8, scale=float("nan")), ValueError, "scale", "a finite number", "nan"
    ),
    Wrong(
        call(SelfAttention, 8, dropout=1.0),
        ValueError,
        "dropout",
        "a probability with 0 <= p < 1",
        "1.0",
    ),
    Wrong(call(MultiHeadAttention, 0, 1), ValueError, "embed_dim", "an int of at least 1", "0"),
    Wrong(call(MultiHeadAttention, 8.0, 2), TypeError, "embed_dim", "an int", "float 8.0"),
    Wrong(call(MultiHeadAttention, 8, 0), ValueError, "num_heads", "an int of at least 1", "0"),
    Wrong(
        call(MultiHeadAttention, 8, 3), ValueError, "num_heads", "a divisor of embed_dim (8)", "3"
    ),
    Wrong(call(MultiHeadAttention, 8, "4"), TypeError, "num_heads", "an int", "str '4'"),
    Wrong(
        call(MultiHeadAttention, 8, 4, num_kv_heads=3),
        ValueError,
        "num_kv_heads",
        "a divisor of num_heads (4)",
        "3",
    ),
    Wrong(
        call(MultiHeadAttention, 8, 4, num_kv_heads=8),
        ValueError,
        "num_kv_heads",
        "a divisor of num_heads (4)",
        "8",
    ),
    Wrong(
        call(MultiHeadAttention, 8, 4, num_kv_heads=0),
        ValueError,
        "num_kv_heads",
        "an int of at least 1",
        "0",
    ),
    Wrong(call(MultiHeadAttention, 8, 4, kdim=0), ValueError, "kdim", "an int of at least 1", "0"),
    Wrong(
        call(MultiHeadAttention, 8, 4, vdim=-1), ValueError, "vdim", "an int of at least 1", "-1"
    ),
    Wrong(call(MultiHeadAttention, 8, 4, vdim=2.0), TypeError, "vdim", "an int", "float 2.0"),
    Wrong(
        call(MultiHeadAttention, 8, 4, bias=None),
        TypeError,
        "bias",
        "True or False",
        "NoneType None",
    ),
    Wrong(
        call(MultiHeadAttention, 8, 4, dropout=-0.1),
        ValueError,
        "dropout",
        "a probability with 0 <= p < 1",
        "-0.1",
    ),
    Wrong(
        call(MultiHeadAttention, 8, 4, dropout=1),
        ValueError,
        "dropout",
        "a probability with 0 <= p < 1",
        "1",
    ),
    Wrong(
        call(MultiHeadAttention, 8, 4, dropout="no"), TypeError, "dropout", "a number", "str 'no'"
    ),
    Wrong(
        call(MultiHeadAttention.from_torch, nn.Linear(8, 8)),
        TypeError,
        "module",
        "an nn.MultiheadAttention",
        "Linear",
    ),
    Wrong(
        call(MultiHeadAttention.from_torch, torch_module(add_bias_kv=True)),
        ValueError,
        "module",
        "one without add_bias_kv and add_zero_attn",
        "add_bias_kv=True",
    ),
    Wrong(
        call(MultiHeadAttention.from_torch, torch_module(add_zero_attn=True)),
        ValueError,
        "module",
        "one without add_bias_kv and add_zero_attn",
        "add_zero_attn=True",
    ),
]

MECHANISMS = {"additive": additive, "general": general, "concat": concat, "projected": projected}


def calls_of(module):
    """What every mechanism of query_dim 4 and key_dim 6 must refuse."""
    return [
        Wrong(call(module, None, SIX), TypeError, "query", "…a torch.Tensor…", "…NoneType…"),
        Wrong(call(module, INTEGERS, SIX), TypeError, "query", "…a floating…", "…torch.int64…"),
        Wrong(call(module, QUERY, [1.0]), TypeError, "key", "…a torch.Tensor…", "…list…"),
        Wrong(
            call(module, QUERY, SIX, BOOLEAN), TypeError, "value", "…a floating…", "…torch.bool…"
        ),
        Wrong(
            call(module, QUERY),
            TypeError,
            "key",
            "…a tensor, since key_dim (6) is not query_dim (4)…",
            "…None…",
        ),
        Wrong(
            call(module, SIX, SIX), ValueError, "query", "…size 4 in dimension -1…", "…(2, 5, 6)…"
        ),
        Wrong(call(module, SIX, SIX), ValueError, "query", "…(query_dim)…", "…(2, 5, 6)…"),
        Wrong(
            call(module, QUERY, FOUR), ValueError, "key", "…size 6 in dimension -1…", "…(2, 5, 4)…"
        ),
        Wrong(call(module, QUERY, FOUR), ValueError, "key", "…(key_dim)…", "…(2, 5, 4)…"),
        Wrong(
            call(module, QUERY, SIX, TWO[:, :4]),
            ValueError,
            "value",
            "…one value for each key…",
            "…(2, 4, 2)…",
        ),
        Wrong(call(module, QUERY[0, 0], SIX), ValueError, "query", "…at least 2…", "…(4,)…"),
        Wrong(
            call(module, QUERY[:, 0], SIX),
            ValueError,
            "query",
            "…3 dimensions, as key (2, 5, 6) has…",
            "…(2, 4)…",
        ),
        Wrong(
            call(module, QUERY, SIX, TWO[0]),
            ValueError,
            "value",
            "…3 dimensions, as key (2, 5, 6) has…",
            "…(5, 2)…",
        ),
        Wrong(
            call(module, torch.randn(3, L, 4), SIX),
            ValueError,
            "value",
            "…broadcast…",
            "…(3, 3, 4)…",
        ),
        Wrong(
            call(module, QUERY.double(), SIX.double()),
            TypeError,
            "query",
            "…dtype torch.float32 (that of the module)…",
            "…torch.float64…",
        ),
        Wrong(
            call(module, QUERY, SIX.double()),
            TypeError,
            "key",
            "…dtype torch.float32 (that of query)…",
            "…torch.float64…",
        ),
        Wrong(
            call(module, QUERY.to("meta"), SIX.to("meta")),
            ValueError,
            "query",
            "…device cpu (that of the module)…",
            "…device meta…",
        ),
        Wrong(
            call(module, QUERY, SIX.to("meta")), ValueError, "key", "…device cpu…", "…device meta…"
        ),
        Wrong(
            call(module, QUERY, SIX, mask=BOOLEAN.float()),
            TypeError,
            "mask",
            "…True where the query may attend (add a float tensor with bias=)…",
            "…torch.float32…",
        ),
        Wrong(
            call(module, QUERY, SIX, mask=BOOLEAN.long()),
            TypeError,
            "mask",
            "…a boolean tensor…",
            "…torch.int64…",
        ),
        Wrong(
            call(module, QUERY, SIX, mask="causal"), TypeError, "mask", "…a torch.Tensor…", "…str…"
        ),
        Wrong(
            call(module, QUERY, SIX, mask=BOOLEAN[:, :2]),
            ValueError,
            "mask",
            "…(2, 3, 5)…",
            "…(2, 2, 5)…",
        ),
        Wrong(
            call(module, QUERY, SIX, mask=BOOLEAN[None]),
            ValueError,
            "mask",
            "…(2, 3, 5)…",
            "…(1, 2, 3, 5)…",
        ),
        Wrong(
            call(module, QUERY, SIX, mask=BOOLEAN.to("meta")),
            ValueError,
            "mask",
            "…device cpu (that of query)…",
            "…device meta…",
        ),
        Wrong(
            call(module, QUERY, SIX, need_weights=1),
            TypeError,
            "need_weights",
            "…True or False…",
            "…int 1…",
        ),
        Wrong(
            call(module, QUERY, SIX, projected_key=BOOLEAN),
            TypeError,
            "projected_key",
            "…a floating…",
            "…torch.bool…",
        ),
        Wrong(
            call(module, QUERY, SIX, projected_key=torch.randn(7)),
            ValueError,
            "projected_key",
            "…at least 2 dimensions (..., S, features)…",
            "…(7,)…",
        ),
        Wrong(
            call(module, QUERY, SIX, projected_key=torch.randn(B, 4, 7)),
            ValueError,
            "projected_key",
            "…shape (2, 5, '*'), one row for each key…",
            "…(2, 4, 7)…",
        ),
    ]


CALLS = [
    Wrong(
        call(dot, QUERY, SIX),
        ValueError,
        "key",
        "size 4 in dimension -1 (key_dim)",
        "shape (2, 5, 6)",
    ),
    Wrong(
        call(dot, QUERY, FOUR.double()),
        TypeError,
        "key",
        "dtype torch.float32 (that of query)",
        "torch.float64",
    ),
    Wrong(
        call(dot, QUERY[:, 0], FOUR),
        ValueError,
        "query",
        "3 dimensions, as key (2, 5, 4) has",
        "shape (2, 4)",
    ),
    Wrong(call(same, INTEGERS), TypeError, "query", "a floating-point tensor", "torch.int64"),
    Wrong(
        call(one, FOUR),
        ValueError,
        "query",
        "size 8 in dimension -1 (query_dim)",
        "shape (2, 5, 4)",
    ),
    Wrong(
        call(one, EIGHT, FOUR),
        ValueError,
        "key",
        "size 8 in dimension -1 (key_dim)",
        "shape (2, 5, 4)",
    ),
    Wrong(
        call(one, EIGHT, EIGHT, FOUR),
        ValueError,
        "value",
        "size 8 in dimension -1 (value_dim)",
        "shape (2, 5, 4)",
    ),
    Wrong(
        call(one, EIGHT, mask=BOOLEAN),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 5, 5)",
        "shape (2, 3, 5)",
    ),
    Wrong(call(one, EIGHT, mask=1), TypeError, "mask", "a torch.Tensor", "int"),
    Wrong(
        call(one, EIGHT, need_weights=None),
        TypeError,
        "need_weights",
        "True or False",
        "NoneType None",
    ),
    Wrong(
        call(one, EIGHT.half()),
        TypeError,
        "query",
        "dtype torch.float32 (that of the module)",
        "torch.float16",
    ),
    Wrong(
        call(many, FOUR),
        ValueError,
        "query",
        "size 8 in dimension -1 (query_dim)",
        "shape (2, 5, 4)",
    ),
    Wrong(
        call(many, EIGHT, FOUR),
        ValueError,
        "key",
        "size 8 in dimension -1 (key_dim)",
        "shape (2, 5, 4)",
    ),
    Wrong(
        call(many, EIGHT, EIGHT, FOUR),
        ValueError,
        "value",
        "size 8 in dimension -1 (value_dim)",
        "shape (2, 5, 4)",
    ),
    Wrong(
        call(apart, QUERY),
        TypeError,
        "key",
        "a tensor, since key_dim (6) is not query_dim (4)",
        "None",
    ),
    Wrong(
        call(apart, QUERY, SIX),
        ValueError,
        "value",
        "size 2 in dimension -1 (value_dim)",
        "shape (2, 5, 6)",
    ),
    Wrong(
        call(many, EIGHT, EIGHT[:, :2], EIGHT),
        ValueError,
        "value",
        "size 2 in dimension -2 (one value for each key)",
        "shape (2, 5, 8)",
    ),
    Wrong(
        call(many, EIGHT[:, 0], EIGHT),
        ValueError,
        "query",
        "3 dimensions, as key (2, 5, 8) has",
        "shape (2, 8)",
    ),
    Wrong(
        call(many, EIGHT.double()),
        TypeError,
        "query",
        "dtype torch.float32 (that of the module)",
        "torch.float64",
    ),
    Wrong(
        call(many, EIGHT.to("meta")),
        ValueError,
        "query",
        "device cpu (that of the module)",
        "device meta",
    ),
    Wrong(
        call(many, EIGHT, mask=BOOLEAN),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 5, 5)",
        "shape (2, 3, 5)",
    ),
    Wrong(
        call(many, EIGHT, mask=torch.ones(B, 3, S, S, dtype=torch.bool)),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 4, 5, 5)",
        "shape (2, 3, 5, 5)",
    ),
    Wrong(
        call(many, EIGHT, mask=torch.ones(1, B, H, S, S, dtype=torch.bool)),
        ValueError,
        "mask",
        "a shape that broadcasts to (..., L, S) = (2, 4, 5, 5)",
        "shape (1, 2, 4, 5, 5)",
    ),
    Wrong(
        call(many, EIGHT, mask=torch.zeros(S, S)),
        TypeError,
        "mask",
        "a boolean tensor, True where the query may attend (add a float tensor with bias=)",
        "torch.float32",
    ),
    Wrong(call(many, EIGHT, mask=[True]), TypeError, "mask", "a torch.Tensor", "list"),
    Wrong(
        call(many, EIGHT, mask=torch.ones(S, S, dtype=torch.bool, device="meta")),
        ValueError,
        "mask",
        "device cpu (that of query)",
        "device meta",
    ),
    Wrong(
        call(many, EIGHT, bias=torch.ones(S, S, dtype=torch.bool)),
        TypeError,
        "bias",
        "a floating-point tensor (pass a boolean tensor as mask=)",
        "torch.bool",
    ),
    Wrong(call(many, EIGHT, bias=1.0), TypeError, "bias", "a torch.Tensor", "float"),
    Wrong(
        call(many, EIGHT, bias=torch.zeros(B, S, S)),
        ValueError,
        "bias",
        "a shape that broadcasts to (..., L, S) = (2, 4, 5, 5)",
        "shape (2, 5, 5)",
    ),
    Wrong(
        call(many, EIGHT, bias=torch.zeros(S, S, device="meta")),
        ValueError,
        "bias",
        "device cpu (that of query)",
        "device meta",
    ),
    Wrong(call(many, EIGHT, rotate=1), TypeError, "rotate", "a function (x, offset) -> x", "int"),
    Wrong(
        call(many, EIGHT, cache={}),
        TypeError,
        "cache",
        "an object with update and length, such as KVCache",
        "dict",
    ),
    Wrong(
        call(many, EIGHT, need_weights="yes"),
        TypeError,
        "need_weights",
        "True or False",
        "str 'yes'",
    ),
    Wrong(call(many, [1.0]), TypeError, "query", "a torch.Tensor", "list"),
    Wrong(
        call(grouped, EIGHT, EIGHT[:1].expand(3, S, 8)),
        ValueError,
        "value",
        "leading dimensions that broadcast with the others",
        "query (2, 5, 8), key (3, 5, 8), value (3, 5, 8)",
    ),
]


@pytest.mark.parametrize("wrong", BUILDING, ids=lambda w: f"{w.argument}: {w.got}")
def test_a_wrong_way_to_build_is_refused(wrong):
    assert_refused(wrong)


@pytest.mark.parametrize("wrong", CALLS, ids=lambda w: f"{w.argument}: {w.got}")
def test_a_wrong_call_is_refused(wrong):
    assert_refused(wrong)


@pytest.mark.parametrize("module", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("place", range(len(calls_of(None))))
def test_every_scored_mechanism_refuses_the_same(module, place):
    assert_refused(calls_of(module)[place])


def test_there_are_enough_of_them():
    assert len(BUILDING) + len(CALLS) + len(calls_of(None)) >= 100


def test_the_right_calls_of_these_tensors_are_taken():
    """So that what is refused above is refused for the reason named."""
    for module in MECHANISMS.values():
        module(QUERY, SIX, TWO, mask=BOOLEAN, need_weights=True)
        module(QUERY, SIX, projected_key=module.project_key(SIX))
    dot(QUERY, FOUR)
    one(EIGHT, EIGHT, EIGHT)
    apart(QUERY, SIX, TWO, mask=BOOLEAN)
    bias, mask = torch.zeros(H, S, S), torch.ones(B, H, S, S, dtype=torch.bool)
    for module in (many, grouped):
        module(EIGHT, EIGHT, EIGHT, mask=mask, bias=bias)
