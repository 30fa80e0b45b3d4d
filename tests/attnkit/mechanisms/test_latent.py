"""Latent attention: by hand, absorbed, with masks and NaN, token by token from a cache."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attnkit import KVCache, masks
from attnkit.mechanisms import LatentAttention
from attnkit.positions import rotary

E, H, LATENT, ROPE, D = 12, 3, 5, 4, 6
SIZES = {"latent_dim": LATENT, "rope_dim": ROPE, "head_dim": D}
far = partial(rotary, base=100.0)


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return LatentAttention(E, H, **SIZES).double()


def tokens(*shape):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, E, generator=generator, dtype=torch.float64)


def by_hand(attention, query, key, mask):
    """Head by head, as section 2.1.2 of the paper writes it (batch of one)."""
    asked, found = attention.query_proj(query), attention.latent_proj(key)
    latents = F.rms_norm(found[:, :LATENT], (LATENT,), attention.norm.weight)
    turned = far(found[:, LATENT:])
    outputs = []
    for h in range(H):
        q = asked[:, h * (D + ROPE) : (h + 1) * (D + ROPE)]
        q = torch.cat((q[:, :D], far(q[:, D:])), -1)
        k = torch.cat((latents @ attention.key_up[h].T, turned), -1)
        scores = (q @ k.T / math.sqrt(D + ROPE)).masked_fill(~mask, -math.inf)
        outputs.append(scores.softmax(-1) @ (latents @ attention.value_up[h].T))
    return attention.out_proj(torch.cat(outputs, -1))


@pytest.mark.parametrize("absorbed", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_it_is_the_papers_sum(attention, absorbed, need_weights):
    x, memory, mask = tokens(4), tokens(7) - 1, masks.causal(4, 7, offset=3)
    called = attention(
        x, memory, mask=mask, rotate=far, absorbed=absorbed, need_weights=need_weights
    )
    assert_close(called.output, by_hand(attention, x, memory, mask), atol=1e-12, rtol=0)
    if need_weights:
        assert called.weights.shape == (H, 4, 7)
        assert_close(called.weights.sum(-1), torch.ones(H, 4).double())


@pytest.mark.parametrize("need_weights", [False, True])
def test_absorbed_gives_the_same_output_and_gradients(attention, need_weights):
    mask = masks.causal(6) & masks.padding([6, 4, 0], 6)
    results = []
    for absorbed in (False, True):
        x = tokens(3, 6).requires_grad_()
        attention.zero_grad()
        options = {"mask": mask, "rotate": far, "need_weights": need_weights}
        output, weights = attention(x, absorbed=absorbed, **options)
        output.square().sum().backward()
        grads = [p.grad.clone() for p in attention.parameters()]
        results.append([output, x.grad, *grads, *([weights] if need_weights else [])])
    for plain, absorbed in zip(*results, strict=True):
        assert not plain.isnan().any()
        assert_close(absorbed, plain, atol=1e-11, rtol=1e-9)
    assert not results[0][0][2].any(), "a row that sees nothing gives 0"


@pytest.mark.parametrize("absorbed", [False, True])
@pytest.mark.parametrize("junk", [math.nan, math.inf])
def test_what_is_masked_reaches_neither_output_nor_gradient(attention, absorbed, junk):
    mask = masks.padding([4, 6], 6)
    clean, dirty = tokens(2, 6), tokens(2, 6)
    dirty[0, 4:] = junk
    grads = []
    for x in (clean, dirty):
        x.requires_grad_()
        attention.zero_grad()
        output = attention(x[:, :3], x, mask=mask, absorbed=absorbed).output
        output.square().sum().backward()
        grads.append([output, *(p.grad.clone() for p in attention.parameters())])
    for expected, found in zip(*grads, strict=True):
        assert_close(found, expected, atol=1e-12, rtol=1e-9)
    assert not dirty.grad[0, 4:].any()
    seen = attention(dirty[:, :3], dirty, mask=masks.padding([5, 6], 6), absorbed=absorbed).output
    assert seen[0].isnan().all()
    assert not seen[1].isnan().any()


@pytest.mark.parametrize("pieces", [[1] * 7, [4, 1, 2], [3, 4]])
def test_from_a_cache_of_one_small_vector_a_token_it_is_the_same(attention, pieces):
    x, cache, outputs = tokens(2, 7), KVCache(), []
    for at, piece in enumerate(x.split(pieces, 1)):
        mask = cache.mask(piece.shape[1])
        found = attention(piece, mask=mask, rotate=far, cache=cache, absorbed=bool(at % 2))
        outputs.append(found.output)
    whole = attention(x, mask=masks.causal(7), rotate=far).output
    assert_close(torch.cat(outputs, 1), whole, atol=1e-12, rtol=0)
    assert cache.nbytes == 2 * 7 * (LATENT + ROPE) * 8


@pytest.mark.parametrize("absorbed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrow_dtypes_are_near(attention, dtype, absorbed):
    x, mask = tokens(2, 6), masks.causal(6)
    exact = attention(x, mask=mask).output
    narrow = attention.to(dtype)(x.to(dtype), mask=mask, absorbed=absorbed).output
    assert narrow.dtype == dtype
    assert_close(narrow.double(), exact, atol=20 * torch.finfo(dtype).eps, rtol=0)


def test_without_norm_rope_or_batch():
    attention = LatentAttention(8, 2, latent_dim=3, norm=None, bias=True)
    assert isinstance(attention.norm, nn.Identity)
    assert attention(torch.randn(5, 8), rotate=far).output.shape == (5, 8)
    assert attention(torch.randn(2, 3, 4, 8)).output.shape == (2, 3, 4, 8)
    assert attention(torch.randn(2, 0, 8)).output.shape == (2, 0, 8)
    assert not attention(torch.randn(2, 5, 8), torch.randn(2, 0, 8)).output.any()


@pytest.mark.parametrize("absorbed", [False, True])
def test_another_scale_is_that_of_the_queries(attention, absorbed):
    scaled = LatentAttention(E, H, **SIZES, scale=0.5).double()
    scaled.load_state_dict(attention.state_dict())
    with torch.no_grad():
        attention.query_proj.weight *= 0.5 * math.sqrt(D + ROPE)
    x = tokens(4)
    expected = attention(x, rotate=far, absorbed=absorbed).output
    assert_close(scaled(x, rotate=far, absorbed=absorbed).output, expected, atol=1e-12, rtol=0)


def test_a_wrong_rotation_or_cache_is_named_before_the_cache_is_written(attention):
    x, cache = tokens(4), KVCache()
    with pytest.raises(ValueError, match="rotate: expected a function that keeps the shape"):
        attention(x, rotate=lambda x, offset: x[..., :1], cache=cache)
    assert cache.length == 0
    with pytest.raises(TypeError, match="cache: expected an object with update and length"):
        attention(x, cache=[])
