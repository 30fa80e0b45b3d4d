"""Keras 3 on its torch backend as an outside oracle: outputs and weights agree.

Keras has the pairwise part of each score and no projections, so its single-head layers are fed
with ours. A mask means the same in both: True may attend. With several heads the outside oracles
are PyTorch's module and ONNX's cases.
"""

import math

import pytest
import torch

from attnkit import AdditiveAttention, LuongAttention, ProjectedAttention, SelfAttention, masks
from tests import keras_on_torch as keras

B, S = 2, 5
SHAPES = [(B, S, 7), (B, S, 3), (B, S, 7)]  # whatever the sizes are: they only wake the scale


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


def ours(module):
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.uniform_(parameter, -0.8, 0.8)
    return module


def compare(layer, module, sizes, visible):
    """Ask a layer of Keras, with the queries and keys as `module` projects them."""
    mask, of_values, causal = visible
    query, key, value = tensors = [torch.randn(B, S, n) for n in sizes]
    if isinstance(module, SelfAttention):
        query, key = module.query_proj(query), module.key_proj(key)
        value = module.value_proj(value)
    else:
        query, key = module.project_query(query), module.project_key(key)
    options = {"mask": [None, of_values], "use_causal_mask": causal}
    theirs = layer([query, value, key], **options, return_attention_scores=True)
    for found, expected in zip(module(*tensors, mask=mask, need_weights=True), theirs, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@torch.no_grad()
def test_additive(visible):
    module, layer = ours(AdditiveAttention(4, 6, 7)), keras.layers.AdditiveAttention()
    layer.build(SHAPES)
    layer.scale.assign(module.v)
    compare(layer, module, (4, 6, 3), visible)


SCORES = {
    "dot": (lambda: LuongAttention(4, 4), (4, 4, 3), None),
    "general": (lambda: LuongAttention(4, 6, score="general"), (4, 6, 3), None),
    "projected": (lambda: ProjectedAttention(4, 6, 7), (4, 6, 3), 1 / math.sqrt(7)),
    "self": (lambda: SelfAttention(4, 6, bias=True), (4, 4, 4), 1 / math.sqrt(6)),
}


@pytest.mark.parametrize("build, sizes, scale", SCORES.values(), ids=SCORES)
@torch.no_grad()
def test_dot_products(build, sizes, scale, visible):
    layer = keras.layers.Attention(use_scale=scale is not None, score_mode="dot")
    if scale is not None:
        layer.build(SHAPES)
        layer.scale.assign(scale)
    compare(layer, ours(build()), sizes, visible)


@torch.no_grad()
def test_luongs_concat(visible):
    """Keras has one number where Luong has the vector v: a v with all entries equal."""
    module = ours(LuongAttention(4, 6, score="concat"))
    module.v.fill_(0.7)
    layer = keras.layers.Attention(score_mode="concat")
    layer.build([(B, S, 4), (B, S, 3), (B, S, 4)])
    layer.concat_score_weight.assign(0.7)
    compare(layer, module, (4, 6, 3), visible)
