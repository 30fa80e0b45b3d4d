"""Keras 3 on its torch backend as an outside oracle: outputs and weights agree.

Keras has the pairwise part of each score and no projections, so its single-head layers are fed
with ours. A mask means the same in both: True may attend.
"""

import math

import pytest
import torch

from attnkit import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
    masks,
)
from tests import keras_on_torch as keras

B, S, E, H = 2, 5, 8, 4
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-6}
SINGLE = torch.float32  # what Keras's single-head layers compute in, whatever they are told


@pytest.fixture(params=TOLERANCE, ids=str)
def dtype(request):
    return request.param


@pytest.fixture(params=["free", "padding", "causal", "both"])
def visible(request):
    """How a layer is told: our mask, Keras's mask of the values, and its causal flag."""
    padding, causal = masks.padding([S, 3], S), masks.causal(S)
    return {
        "free": (None, None, False),
        "padding": (padding, padding[:, 0], False),
        "causal": (causal, None, True),
        "both": (padding & causal, padding[:, 0], True),
    }[request.param]


def ours(module, dtype):
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    return module.to(dtype)


def inputs(dtype, *sizes):
    generator = torch.Generator().manual_seed(1)
    made = [torch.randn(B, S, n, generator=generator, dtype=torch.float64) for n in sizes]
    return [x.to(dtype) for x in made]


def agree(actual, expected):
    assert actual.shape == expected.shape
    assert actual.isfinite().all()
    assert expected.isfinite().all()
    assert actual.dtype == expected.dtype
    assert (actual - expected).abs().max().item() <= TOLERANCE[actual.dtype]


def compare(module, tensors, visible, theirs):
    attended = module(*tensors, mask=visible[0], need_weights=True)
    for actual, expected in zip(attended, theirs, strict=True):
        agree(actual, expected)


def single_head(layer, module, tensors, visible):
    """Ask a single-head layer of Keras, with the queries and keys as `module` projects them."""
    query, key, value = tensors
    if isinstance(module, SelfAttention):
        query, key = module.query_proj(query), module.key_proj(key)
        value = module.value_proj(value)
    else:
        query, key = module.project_query(query), module.project_key(key)
    return layer(
        [query, value, key],
        mask=[None, visible[1]],
        use_causal_mask=visible[2],
        return_attention_scores=True,
    )


@torch.no_grad()
def test_additive(visible):
    module, tensors = ours(AdditiveAttention(4, 6, 7), SINGLE), inputs(SINGLE, 4, 6, 3)
    layer = keras.layers.AdditiveAttention()
    layer.build([(B, S, 7), (B, S, 3), (B, S, 7)])
    layer.scale.assign(module.v)
    compare(module, tensors, visible, single_head(layer, module, tensors, visible))


SCORES = {
    "dot": (lambda: LuongAttention(4, 4), (4, 4, 3), None),
    "general": (lambda: LuongAttention(4, 6, score="general"), (4, 6, 3), None),
    "projected": (lambda: ProjectedAttention(4, 6, 7), (4, 6, 3), 1 / math.sqrt(7)),
    "self": (lambda: SelfAttention(4, 6, bias=True), (4, 4, 4), 1 / math.sqrt(6)),
}


@pytest.mark.parametrize("build, sizes, scale", SCORES.values(), ids=SCORES)
@torch.no_grad()
def test_dot_products(build, sizes, scale, visible):
    module, tensors = ours(build(), SINGLE), inputs(SINGLE, *sizes)
    layer = keras.layers.Attention(use_scale=scale is not None, score_mode="dot")
    if scale is not None:
        layer.build([(B, S, 7), (B, S, 3), (B, S, 7)])
        layer.scale.assign(scale)
    compare(module, tensors, visible, single_head(layer, module, tensors, visible))


@torch.no_grad()
def test_luongs_concat(visible):
    """Keras has one number where Luong has the vector v: a v with all entries equal."""
    module, tensors = ours(LuongAttention(4, 6, score="concat"), SINGLE), inputs(SINGLE, 4, 6, 3)
    module.v.fill_(0.7)
    layer = keras.layers.Attention(score_mode="concat")
    layer.build([(B, S, 4), (B, S, 3), (B, S, 4)])
    layer.concat_score_weight.assign(0.7)
    compare(module, tensors, visible, single_head(layer, module, tensors, visible))


def copy_heads(module, layer):
    if module.packed:
        weights = module.in_proj.weight.split(module.sizes)
        biases = module.in_proj.bias.split(module.sizes)
    else:
        layers = (module.query_proj, module.key_proj, module.value_proj)
        weights, biases = [x.weight for x in layers], [x.bias for x in layers]
    for weight, bias, kernel, offset in zip(
        weights, biases, layer.weights[0:6:2], layer.weights[1:6:2], strict=True
    ):
        heads = weight.shape[0] // module.head_dim
        kernel.assign(weight.detach().T.reshape(-1, heads, module.head_dim))
        offset.assign(bias.detach().reshape(heads, module.head_dim))
    layer.weights[6].assign(module.out_proj.weight.detach().T.reshape(H, module.head_dim, E))
    layer.weights[7].assign(module.out_proj.bias.detach())


@torch.no_grad()
def compare_heads(module, layer, tensors, visible):
    copy_heads(module, layer)
    query, key, value = tensors
    padding = None if visible[1] is None else visible[1][:, None]
    options = {"use_causal_mask": visible[2], "return_attention_scores": True}
    theirs = layer(query, value, key, attention_mask=padding, **options)
    compare(module, tensors, visible, theirs)
    agree(module(*tensors, mask=visible[0]).output, theirs[0])


@pytest.mark.parametrize("sizes", [(E, E, E), (E, 6, 5)], ids=["packed", "kdim and vdim"])
def test_multihead(sizes, dtype, visible):
    module = ours(MultiHeadAttention(E, H, kdim=sizes[1], vdim=sizes[2]), dtype)
    tensors = inputs(dtype, *sizes)
    layer = keras.layers.MultiHeadAttention(
        H, E // H, output_shape=E, dtype=str(dtype).removeprefix("torch.")
    )
    layer.build(*[(B, S, n) for n in (sizes[0], sizes[2], sizes[1])])
    compare_heads(module, layer, tensors, visible)


@pytest.mark.parametrize("kv_heads", [2, 1])
def test_grouped_query(kv_heads, dtype, visible):
    module = ours(MultiHeadAttention(E, H, num_kv_heads=kv_heads), dtype)
    tensors = inputs(dtype, E, E, E)
    layer = keras.layers.GroupQueryAttention(
        E // H, H, kv_heads, dtype=str(dtype).removeprefix("torch.")
    )
    layer.build(*[(B, S, E)] * 3)
    compare_heads(module, layer, tensors, visible)
