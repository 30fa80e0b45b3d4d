"""Sliding-window attention: equal to the masked full form, and less work."""

import math
from functools import partial

import pytest
import torch

import attnkit
from attnkit import masks
from attnkit.call import Call
from attnkit.efficient import sliding_window_attention, window
from attnkit.efficient.key_ranges import key_ranges
from tests.attnkit.efficient.same import assert_same, drawn, random
from tests.refusals.wrong_calls import refused

# Uncompiled, FlexAttention is a check of its mask, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")

# Each call without torch.compile takes FlexAttention up to a second.
BACKENDS = pytest.mark.parametrize(
    "backend", ["blocks", pytest.param("flex", marks=pytest.mark.build)]
)


def problem(lead=(2, 4), L=7, S=9, *, kv_lead=None, dtype=torch.float64):
    kv_lead = lead if kv_lead is None else kv_lead
    shapes = (*lead, L, 6), (*kv_lead, S, 6), (*kv_lead, S, 5)
    return drawn(*shapes, seed=L * 1000 + S, dtype=dtype)


def assert_full(inputs, expected_mask, **options):
    full = partial(attnkit.scaled_dot_product_attention, mask=expected_mask)
    assert_same(
        lambda *x: sliding_window_attention(*x, **options).output,
        lambda *x: full(*x).output,
        inputs,
    )


@BACKENDS
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("width", [1, 3, 200])
@pytest.mark.parametrize(
    "L, S, offset",
    [
        (1, 1, None),
        (7, 7, None),
        (129, 129, None),
        (1, 7, 6),
        (129, 7, 0),
        (7, 129, 40),
        (9, 5, -3),
    ],
)
def test_equals_the_masked_full_form(L, S, offset, width, causal, backend):
    mask = masks.sliding_window(L, S, window=width, causal=causal, offset=offset)
    inputs = problem((2,), L, S)
    if backend == "flex":
        inputs = [x.detach() for x in inputs]
        output = sliding_window_attention(
            *inputs, window=width, causal=causal, offset=offset, backend="flex"
        ).output
        expected = attnkit.scaled_dot_product_attention(*inputs, mask=mask).output
        assert (output - expected).abs().max() < 1e-10
    else:
        assert_full(inputs, mask, window=width, causal=causal, offset=offset)


@pytest.mark.parametrize("shape", [(9,), (1, 9), (2, 1, 1, 9), (2, 4, 1, 9), (9, 9), (2, 1, 9, 9)])
@pytest.mark.build
def test_a_mask_comes_on_top(shape):
    extra = random(*shape) < 0.5
    near = masks.sliding_window(9, window=3)
    inputs = problem(L=9)
    assert_full(inputs, near & extra, window=3, mask=extra)
    if len(shape) == 1 or shape[-2] == 1:
        inputs = [x.detach() for x in inputs]
        output = sliding_window_attention(*inputs, window=3, mask=extra, backend="flex").output
        expected = attnkit.scaled_dot_product_attention(*inputs, mask=near & extra).output
        assert (output - expected).abs().max() < 1e-10


@pytest.mark.build
def test_flex_makes_a_mask_once_and_for_training_too():
    window._shared.cache_clear()
    inputs = [x.detach() for x in problem(L=9)]
    with torch.inference_mode():
        sliding_window_attention(*inputs, window=3, backend="flex")
    sliding_window_attention(*inputs, window=3, backend="flex")
    assert window._shared.cache_info()[:2] == (1, 1)
    ranges = key_ranges(9, 9, causal=True, window=3, offset=None, device=inputs[0].device)
    assert not window._shared(ranges).kv_indices.is_inference()


@BACKENDS
@pytest.mark.build
def test_grouped_heads_and_scale(backend):
    inputs = [x.detach() for x in problem(L=9, kv_lead=(2, 2))]
    options = {"enable_gqa": True, "scale": 0.3}
    output = sliding_window_attention(*inputs, window=3, backend=backend, **options).output
    mask = masks.sliding_window(9, window=3)
    expected = attnkit.scaled_dot_product_attention(*inputs, mask=mask, **options).output
    assert (output - expected).abs().max() < 1e-10


@BACKENDS
@pytest.mark.parametrize("junk", [math.nan, math.inf])
def test_junk_out_of_sight_is_harmless_and_in_sight_is_shown(junk, backend):
    inputs = [x.detach() for x in problem((2,), 9, 9)]
    clean = sliding_window_attention(*inputs, window=3, backend=backend).output
    inputs[1][0, 4], inputs[2][0, 4] = junk, junk
    output = sliding_window_attention(*inputs, window=3, backend=backend).output
    touched = torch.zeros(2, 9, dtype=torch.bool)
    touched[0, 4:7] = True
    assert (output.isnan().all(-1) == touched).all()
    assert (output - clean)[~touched].abs().max() < 1e-12


@pytest.mark.parametrize("L", [1, 2, 3])
def test_junk_is_seen_by_the_queries_that_a_window_and_a_mask_let_see_it(L):
    inputs = [x.detach() for x in problem((2,), L, L)]
    inputs[1][:, 0] = math.nan
    extra = torch.ones(L, L, dtype=torch.bool)
    extra[-1, 0] = False
    output = sliding_window_attention(*inputs, window=L, mask=extra).output
    expected = masks.sliding_window(L, window=L)[:, 0] & extra[:, 0]
    assert torch.equal(output.isnan().all(-1), expected.expand(2, L))
    assert torch.equal(output.isnan().any(-1), expected.expand(2, L))


def test_a_short_sequence_takes_the_plain_form(monkeypatch):
    monkeypatch.setattr(window, "SHORT", 9)
    monkeypatch.setattr(window, "_in_blocks", None)
    mask = random(9) < 0.5
    assert_full(problem(L=9), masks.sliding_window(9, window=3) & mask, window=3, mask=mask)


def test_weights_are_those_of_the_masked_full_form():
    inputs = problem(L=9)
    output, weights = sliding_window_attention(*inputs, window=3, need_weights=True)
    assert (weights[..., ~masks.sliding_window(9, window=3)] == 0).all()
    assert (output - sliding_window_attention(*inputs, window=3).output).abs().max() < 1e-12


def test_wide_windows_take_bigger_blocks_within_bounds(monkeypatch):
    monkeypatch.undo()
    assert window._rows(4096, 8) == window.MIN_ROWS
    assert window._rows(4096, 256) == 256
    assert window._rows(4096, 4000) == window.MAX_ROWS
    assert window._rows(10, 256) == 10
    assert window._rows(0, 256) == 1


@pytest.mark.parametrize(
    "queries, rows, backend",
    [(9, 1, "blocks"), (9, 9, "blocks"), (2, 1, "blocks"), (2, 2, "blocks"), (9, 1, "flex")],
)
@pytest.mark.build
def test_junk_under_a_mask_is_harmless_and_beside_it_is_shown(queries, rows, backend):
    query, key, value = (x.detach() for x in problem((2,), queries, 9))
    mask = torch.ones(2, rows, 9, dtype=torch.bool)
    mask[0, :, 7] = False
    options = {"mask": mask, "window": 3, "offset": 9 - queries, "backend": backend}
    clean = sliding_window_attention(query, key, value, **options).output
    key[0, 7], value[0, 7] = math.nan, math.nan
    output = sliding_window_attention(query, key, value, **options).output
    assert (output - clean).abs().max() < 1e-12
    key[0, 6] = math.nan
    output = sliding_window_attention(query, key, value, **options).output
    sees = masks.sliding_window(queries, 9, window=3, offset=9 - queries)[:, 6]
    assert (output.isnan().all(-1) == torch.stack([sees, torch.zeros_like(sees)])).all()


def test_a_query_that_holds_nan_still_gives_hidden_keys_weight_0():
    query, key, value = (x.detach() for x in problem((1,), 5, 5))
    query[..., 2, :] = math.nan
    weights = sliding_window_attention(query, key, value, window=2, need_weights=True).weights
    assert weights[..., 2, 1:3].isnan().all()
    assert (weights[..., 2, [0, 3, 4]] == 0).all()


def test_keys_that_nobody_sees_are_not_read(monkeypatch):
    read, fused = [], Call.fused

    def counting(call, scale):
        read.append(call.query.shape[-2] * call.key.shape[-2])
        return fused(call, scale)

    monkeypatch.setattr(Call, "fused", counting)
    inputs = problem((1,), 64, 64)
    sliding_window_attention(*inputs, window=8)
    assert sum(read) <= 64 * (8 + 4)


Q, K, V = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 3)


def near(query=Q, key=K, value=V, **options):
    options = {"window": 2, "offset": 0, **options}
    return sliding_window_attention(query, key, value, **options)


SQUARE_MASK = torch.ones(5, 7, dtype=torch.bool)


test_wrong_calls = refused("efficient", "window", names=globals())
