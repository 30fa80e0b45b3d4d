"""Corners that once were wrong: under the mask, odd shapes, refused calls, numbers of NumPy."""

import math
from functools import partial

import numpy as np
import pytest
import torch

import attnkit
from attnkit import efficient, masks
from attnkit.efficient import KVCache
from attnkit.efficient.online_softmax import finish, online_attention

from .mechanisms import MECHANISMS
from .test_contract import close, inputs, make

SDPA = attnkit.scaled_dot_product_attention


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# ---------------------------------------------------------------- under the mask


def filled(key, value):
    cache = KVCache()
    cache.update(key, value)
    return cache


@pytest.mark.parametrize("junk", [math.nan, math.inf])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("kv_heads", [2, 1])
def test_junk_in_the_cache_under_the_mask_is_harmless(junk, need_weights, kv_heads):
    torch.manual_seed(0)
    attention = attnkit.MultiHeadAttention(8, 2, num_kv_heads=kv_heads)
    key, value, x = randn(1, kv_heads, 3, 4), randn(1, kv_heads, 3, 4, seed=1), randn(1, 2, 8)
    mask = torch.tensor([True, False, True, True, True])
    options = {"mask": mask, "need_weights": need_weights}
    clean = attention(x, cache=filled(key, value), **options).output
    key[:, :, 1], value[:, :, 1] = junk, junk
    output = attention(x, cache=filled(key, value), **options).output
    close(output, clean, 1e-6)
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in attention.parameters())


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    "build", [lambda: attnkit.MultiHeadAttention(8, 2), lambda: attnkit.SelfAttention(8)]
)
def test_a_projection_that_overflows_under_the_mask_is_harmless(build, need_weights):
    torch.manual_seed(0)
    attention = build().half()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.mul_(4)
    x = randn(1, 5, 8).half()
    mask = masks.padding([4], 5)
    clean = attention(x, mask=mask, need_weights=need_weights).output
    x[:, 4] = 60_000  # finite, but not what a projection makes of it
    output = attention(x, mask=mask, need_weights=need_weights).output
    close(output[:, :4], clean[:, :4], 1e-2)


def test_a_masked_nan_token_with_a_cache_leaves_gradients_finite_and_is_not_forgotten():
    torch.manual_seed(0)
    attention = attnkit.MultiHeadAttention(8, 2)
    x = randn(1, 3, 8)
    x[0, 1] = math.nan
    cache = KVCache()
    mask = torch.tensor([[True, False, False], [False] * 3, [True, False, True]])
    output = attention(x, cache=cache, mask=mask).output
    assert output.isfinite().all()
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in attention.parameters())
    assert attention(randn(1, 1, 8), cache=cache).output.isnan().all()  # now it is seen


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["query", "key", "value"])
def test_junk_in_a_small_masked_call_of_the_kernel(where, junk):
    """Four dimensions and one mask for all: PyTorch's kernel may be enough, but not with junk."""
    given = {name: randn(2, 3, 4, 8, seed=n) for n, name in enumerate(("query", "key", "value"))}
    mask = masks.causal(4, 4, offset=-1)
    clean = SDPA(**given, mask=mask).output
    row = 0 if where == "query" else 3  # the first query sees nothing, the last key is seen by none
    given[where][..., row, :] = junk
    close(SDPA(**given, mask=mask).output, clean, 1e-6)
    given[where][..., 2, :] = junk
    seen = slice(2, 3) if where == "query" else slice(3, 4)
    whole = SDPA(**given, mask=mask, need_weights=True).output
    output = SDPA(**given, mask=mask).output
    assert output[..., seen, :].isnan().all()
    assert torch.equal(output.isnan(), whole.isnan())


@pytest.mark.parametrize("where", ["query", "key"])
def test_the_infinite_is_found_that_hides_in_a_weight_of_zero(where):
    """A score of -inf gives weight 0, and a row of them output 0: neither is NaN by itself."""
    query, key = torch.full((1, 1, 4, 8), 1.0), torch.full((1, 1, 4, 8), -1.0)
    (query if where == "query" else key)[:, :, 1] *= math.inf
    output = SDPA(query, key, randn(1, 1, 4, 8), mask=masks.causal(4)).output
    rows = [False, True, False, False] if where == "query" else [False, True, True, True]
    assert output[0, 0].isnan().all(-1).tolist() == rows


@pytest.mark.parametrize("need_weights", [False, True])
def test_features_that_overflow_under_the_mask_are_harmless(need_weights):
    query, key, value = randn(3, 4), randn(5, 4), randn(5, 2, seed=2)
    mask = masks.padding([4], 5)[0]
    options = {"mask": mask, "feature_map": torch.exp, "need_weights": need_weights}
    clean = efficient.linear_attention(query, key, value, **options).output
    key[4] = 200
    close(efficient.linear_attention(query, key, value, **options).output, clean, 1e-6)


# ---------------------------------------------------------------- shapes

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


@pytest.mark.parametrize("seen", [True, False])
@every_mechanism
def test_a_mask_without_dimensions(mechanism, seen):
    module, tensors = make(mechanism), inputs(mechanism)
    close(module(*tensors, mask=torch.tensor(seen)).output, module(*tensors).output * seen)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@every_mechanism
def test_mask_and_weights_have_the_leading_dimensions_of_the_value(mechanism, masked, need_weights):
    module, (query, key, value) = make(mechanism), inputs(mechanism, batch=3)
    query, key, mask = query[:1], key[:1], randn(3, 5, 7, seed=5) > 0 if masked else None
    spread = (x.expand(3, -1, -1) for x in (query, key))
    whole = module(*spread, value, mask=mask, need_weights=True)
    found = module(query, key, value, mask=mask, need_weights=need_weights)
    for one, other in zip(found[: 1 + need_weights], whole, strict=False):
        close(one, other)


def test_a_mask_without_dimensions_in_functions():
    scores = randn(2, 3)
    close(attnkit.masked_softmax(scores, torch.tensor(True)), scores.softmax(-1), 1e-6)
    close(attnkit.masked_softmax(scores[0], torch.tensor(True)), scores[0].softmax(-1), 1e-6)
    additive = partial(efficient.tiled_additive_attention, randn(2, 4), randn(3, 4), randn(4))
    for call in (partial(attnkit.functional.attend, scores), additive):
        assert (call(randn(3, 2), mask=torch.tensor(False)).output == 0).all()


@pytest.mark.parametrize("length", [100, 200])
def test_linear_attention_broadcasts_a_key_with_more_dimensions(length):
    query, key, value = randn(length, 3), randn(2, length, 3, seed=1), randn(length, 5, seed=2)
    got = efficient.linear_attention(query, key, value, causal=True).output
    expected = efficient.linear_attention(
        query.expand_as(key), key, value.expand(2, length, 5), causal=True
    ).output
    close(got, expected, 1e-6)
    close(efficient.linear_attention_segment(query, key, value)[0], expected, 1e-5)
    close(efficient.linear_attention_recurrent(query, key, value)[0], expected, 1e-5)


@pytest.mark.parametrize("sizes", [(0, 4, 5), (2, 0, 5), (2, 4, 0)])
def test_flex_with_nothing_to_do(sizes):
    batch, queries, keys = sizes
    query, key = torch.empty(batch, 1, queries, 8), torch.empty(batch, 1, keys, 8)
    options = {"window": 2, "offset": 0, "backend": "flex"}
    output = efficient.sliding_window_attention(query, key, key, **options).output
    assert torch.equal(output, torch.zeros(batch, 1, queries, 8))


# ---------------------------------------------------------------- caches


def test_a_refused_call_leaves_the_cache_as_it_was():
    attention, cache = attnkit.MultiHeadAttention(8, 2), KVCache()
    attention(randn(1, 4, 8), cache=cache)
    for options in ({"mask": torch.ones(9, 9, dtype=torch.bool)}, {"bias": torch.zeros(9, 9)}):
        with pytest.raises(ValueError, match="broadcasts"):
            attention(randn(1, 1, 8), cache=cache, **options)
        assert cache.length == cache.kept == 4


def test_a_cache_filled_in_inference_mode_goes_on_without_it():
    attention, x = attnkit.MultiHeadAttention(8, 2), randn(1, 6, 8)
    cache, plain = KVCache(), KVCache()
    with torch.inference_mode():
        attention(x[:, :4], cache=cache)
    with torch.no_grad():
        attention(x[:, :4], cache=plain)
        for step in (4, 5):
            one = x[:, step : step + 1]
            close(attention(one, cache=cache).output, attention(one, cache=plain).output, 1e-6)


# ---------------------------------------------------------------- online softmax


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_online_attention_sums_in_float32(dtype):
    query, key, value = (randn(32, 48, 16, seed=n).to(dtype) for n in range(3))
    exact = SDPA(query.double(), key.double(), value.double()).output
    torchs = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    *_, last = online_attention(query, key, value)
    ours = (finish(last)[0].to(dtype).double() - exact).square().mean().sqrt()
    assert ours <= 2 * (torchs.double() - exact).square().mean().sqrt()


def test_online_attention_without_keys_yields_once():
    states = list(online_attention(randn(2, 3), randn(0, 3), randn(0, 4)))
    assert len(states) == 1
    output, logsumexp = finish(states[0])
    assert torch.equal(output, torch.zeros(2, 4))
    assert (logsumexp == -math.inf).all()


# ---------------------------------------------------------------- numbers of other kinds


def test_numpy_numbers_and_arrays_are_taken():
    assert torch.equal(masks.causal(np.int64(5)), masks.causal(5))
    window = masks.sliding_window(np.int32(5), window=np.int64(2))
    assert torch.equal(window, masks.sliding_window(5, window=2))
    assert torch.equal(masks.padding(np.array([3, 2])), masks.padding([3, 2]))
    assert torch.equal(masks.padding([np.int64(3), 2]), masks.padding([3, 2]))
    torch.manual_seed(0)
    attention, x = attnkit.MultiHeadAttention(np.int64(8), np.int32(2)), randn(2, 3, 8)
    assert type(attention.embed_dim) is type(attention.num_heads) is type(attention.head_dim) is int
    mask = np.tril(np.ones((3, 3), dtype=bool))
    for call in (attention, lambda x, **how: SDPA(x, x, x, **how), attnkit.LuongAttention(8, 8)):
        close(call(x, mask=mask).output, call(x, mask=torch.from_numpy(mask)).output, 1e-7)
    close(
        SDPA(x, x, x, scale=np.float32(0.5), dropout_p=np.float64(0.0)).output,
        SDPA(x, x, x, scale=0.5).output,
        1e-7,
    )
    with pytest.raises(TypeError, match="mask: expected"):
        SDPA(x, x, x, mask=mask.astype(float))


# ---------------------------------------------------------------- tensors of other layouts


@every_mechanism
def test_nested_and_sparse_tensors_are_refused_by_name(mechanism):
    _, key, value = inputs(mechanism, dtype=torch.float32)
    nested = torch.nested.nested_tensor([randn(2, 8), randn(3, 8)], layout=torch.jagged)
    for odd in (nested, randn(2, 3, 8).to_sparse()):
        with pytest.raises(TypeError, match=r"^query: expected a dense tensor"):
            make(mechanism, dtype=torch.float32)(odd, key, value)
