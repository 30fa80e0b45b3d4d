"""Gradient checkpointing: the same numbers, with less kept for the backward pass."""

import pytest
import torch
from torch import nn

import attnkit
from attnkit import masks
from attnkit.efficient import checkpointed_layers, chunked_attention
from tests.refusals.wrong_calls import Wrong, assert_refused

MECHANISMS = [
    attnkit.scaled_dot_product_attention,
    attnkit.AdditiveAttention(8, 8, 5),
    attnkit.LuongAttention(8, 8, "general"),
    attnkit.MultiHeadAttention(8, 2),
]
NAMES = ["sdpa", "additive", "luong", "multihead"]


class Saved:
    """Count the elements that autograd keeps for the backward pass."""

    def __init__(self):
        self.elements = 0

    def __enter__(self):
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.count, lambda x: x)
        self.hooks.__enter__()
        return self

    def __exit__(self, *error):
        self.hooks.__exit__(*error)

    def count(self, tensor):
        self.elements += tensor.numel()
        return tensor


def gradients(call, inputs, parameters):
    output = call().output
    weight = torch.cos(torch.arange(output.numel()).float()).view(output.shape)
    return (output, *torch.autograd.grad((output * weight).sum(), [*inputs, *parameters]))


@pytest.mark.parametrize("attention", MECHANISMS, ids=NAMES)
@pytest.mark.parametrize("chunk_size", [1, 4, 100])
@pytest.mark.parametrize("shape", [None, (2, 1, 9), (7, 9), (2, 7, 9)], ids=str)
def test_chunks_equal_one_call(attention, chunk_size, shape):
    generator = torch.Generator().manual_seed(0)
    mask = None if shape is None else torch.rand(shape, generator=generator) < 0.6
    inputs = [torch.randn(2, n, 8, requires_grad=True) for n in (7, 9, 9)]
    parameters = list(attention.parameters()) if isinstance(attention, nn.Module) else []
    whole = gradients(lambda: attention(*inputs, mask=mask), inputs, parameters)
    chunks = gradients(
        lambda: chunked_attention(attention, *inputs, mask=mask, chunk_size=chunk_size),
        inputs,
        parameters,
    )
    for mine, theirs in zip(chunks, whole, strict=True):
        assert (mine - theirs).abs().max() < 1e-5
    if attention is not MECHANISMS[-1]:
        weights = chunked_attention(
            attention, *inputs, mask=mask, chunk_size=chunk_size, need_weights=True
        ).weights
        expected = attention(*inputs, mask=mask, need_weights=True).weights
        assert (weights - expected).abs().max() < 1e-6


def test_keys_default_to_queries():
    x = torch.randn(2, 7, 8)
    attention = MECHANISMS[1]
    chunks = chunked_attention(attention, x, mask=masks.causal(7), chunk_size=3)
    assert (chunks.output - attention(x, mask=masks.causal(7)).output).abs().max() < 1e-6
    assert chunks.weights is None


def test_weights_are_not_kept_for_the_backward_pass():
    x = torch.randn(1, 64, 8, requires_grad=True)
    attention = attnkit.LuongAttention(8, 8, "dot")
    with Saved() as whole:
        attention(x)
    with Saved() as chunks:
        chunked_attention(attention, x, chunk_size=8)
    assert whole.elements >= 64 * 64
    assert chunks.elements <= 3 * 64 * 8 * 8  # query, key and value of each chunk, at most


def test_nothing_is_computed_twice_without_gradients():
    calls = []

    def attention(query, key, value, *, mask, need_weights):
        calls.append(query.shape[-2])
        return attnkit.scaled_dot_product_attention(query, key, value)

    with torch.no_grad():
        chunked_attention(attention, torch.randn(2, 7, 8), chunk_size=3)
    assert calls == [3, 3, 1]


def test_an_empty_query():
    assert chunked_attention(MECHANISMS[1], torch.randn(2, 0, 8), chunk_size=3).output.shape == (
        2,
        0,
        8,
    )


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.dropout = nn.Linear(8, 8), nn.Dropout(0.3)
        self.calls = 0

    def forward(self, x, *, mask=None):
        self.calls += 1
        x = self.dropout(torch.relu(self.linear(x)))
        return x if mask is None else x.masked_fill(~mask, 0.0)


@pytest.mark.parametrize("segments", [None, 1, 2, 5, 7])
def test_layers_give_the_same_numbers_dropout_included(segments):
    torch.manual_seed(0)
    layers = [Layer() for _ in range(7)]
    x = torch.randn(3, 8, requires_grad=True)
    mask = torch.rand(3, 8) < 0.9
    parameters = [p for layer in layers for p in layer.parameters()]
    torch.manual_seed(1)
    plain = x
    for layer in layers:
        plain = layer(plain, mask=mask)
    expected = torch.autograd.grad(plain.square().sum(), [x, *parameters])
    torch.manual_seed(1)
    output = checkpointed_layers(layers, x, segments=segments, mask=mask)
    assert torch.equal(output, plain)
    for mine, theirs in zip(
        torch.autograd.grad(output.square().sum(), [x, *parameters]), expected, strict=True
    ):
        assert torch.equal(mine, theirs)
    assert [layer.calls for layer in layers] == [3] * 7


def test_layers_keep_only_the_inputs_of_segments():
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(16)]
    x = torch.randn(10, 8, requires_grad=True)
    with Saved() as plain:
        nn.Sequential(*layers)(x)
    with Saved() as checkpointed:
        checkpointed_layers(layers, x)
    assert plain.elements >= 16 * 80
    assert checkpointed.elements <= 4 * 80


X = torch.randn(2, 7, 8)
SDPA = attnkit.scaled_dot_product_attention
WRONG = [
    Wrong(
        lambda: chunked_attention(1, X, chunk_size=2), TypeError, "attention", "a callable", "int"
    ),
    Wrong(
        lambda: chunked_attention(SDPA, X, chunk_size=0),
        ValueError,
        "chunk_size",
        "an int of at least 1",
        "0",
    ),
    Wrong(
        lambda: chunked_attention(SDPA, X, chunk_size=2.0),
        TypeError,
        "chunk_size",
        "an int",
        "float 2.0",
    ),
    Wrong(
        lambda: chunked_attention(SDPA, X[0, 0], chunk_size=2),
        ValueError,
        "query",
        "at least 2 dimensions (..., L, E)",
        "shape (8,)",
    ),
    Wrong(
        lambda: chunked_attention(SDPA, X.long(), chunk_size=2),
        TypeError,
        "query",
        "a floating-point tensor",
        "torch.int64",
    ),
    Wrong(
        lambda: chunked_attention(SDPA, X, chunk_size=2, need_weights=1),
        TypeError,
        "need_weights",
        "True or False",
        "int 1",
    ),
    Wrong(lambda: checkpointed_layers([], X), ValueError, "layers", "at least one layer", "none"),
    Wrong(
        lambda: checkpointed_layers([torch.tanh, 3], X), TypeError, "layers[1]", "a callable", "int"
    ),
    Wrong(
        lambda: checkpointed_layers([torch.tanh], 3), TypeError, "inputs", "a torch.Tensor", "int"
    ),
    Wrong(
        lambda: checkpointed_layers([torch.tanh], X, segments=2),
        ValueError,
        "segments",
        "an int of at most 1",
        "2",
    ),
    Wrong(
        lambda: checkpointed_layers([torch.tanh], X, segments=0),
        ValueError,
        "segments",
        "an int of at least 1",
        "0",
    ),
    Wrong(
        lambda: checkpointed_layers([torch.tanh], X, segments=1.0),
        TypeError,
        "segments",
        "an int",
        "float 1.0",
    ),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w.argument}-{w.got}")
def test_wrong_calls(wrong):
    assert_refused(wrong)
