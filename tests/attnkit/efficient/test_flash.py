"""Online softmax and flash attention: equal to the plain form, in its memory and its refusals."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import attnkit
from attnkit import masks
from attnkit.efficient import flash, flash_attention, flash_with_logsumexp
from attnkit.efficient.online_softmax import finish, merge, online_attention, start, update
from tests.attnkit.efficient.same import assert_same, drawn, random
from tests.refusals.wrong_calls import refused

SEEN = {
    "everything": {},
    "causal": {"causal": True, "offset": 0},
    "causal, last with last": {"causal": True, "offset": None},
    "window": {"window": 3, "offset": 1},
    "causal window": {"causal": True, "window": 4, "offset": -1},
    "far before": {"causal": True, "offset": -4},
}


def problem(lead=(2, 4), L=7, S=9, E=6, Ev=5, *, kv_lead=None, dtype=torch.float64):
    kv_lead = lead if kv_lead is None else kv_lead
    shapes = (*lead, L, E), (*kv_lead, S, E), (*kv_lead, S, Ev)
    return drawn(*shapes, seed=L * 1000 + S, dtype=dtype)


def options_and_mask(seen, L, S):
    """The options with their offset filled in, and the mask that they stand for."""
    options = dict(seen)
    if "offset" in options and options["offset"] is None:
        options["offset"] = S - L
    if "window" in options:
        causal = options.get("causal", False)
        mask = masks.sliding_window(
            L, S, window=options["window"], causal=causal, offset=options["offset"]
        )
    elif options:
        mask = masks.causal(L, S, offset=options["offset"])
    else:
        mask = torch.ones(L, S, dtype=torch.bool)
    return options, mask


def assert_plain(inputs, expected_mask, *, enable_gqa=False, **options):
    plain = {"mask": expected_mask, "enable_gqa": enable_gqa, "need_weights": True}
    assert_same(
        lambda *x: flash_attention(*x, enable_gqa=enable_gqa, **options).output,
        lambda *x: attnkit.scaled_dot_product_attention(*x, **plain).output,
        inputs,
    )


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN.keys())
@pytest.mark.parametrize("L, S", [(1, 1), (1, 7), (7, 1), (7, 129), (129, 7), (13, 13)])
def test_value_and_gradient_are_those_of_the_plain_form(L, S, seen):
    options, mask = options_and_mask(seen, L, S)
    assert_plain(problem((2,), L, S), mask, **options)


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN.keys())
def test_a_mask_comes_on_top(seen):
    options, mask = options_and_mask(seen, 7, 9)
    for shape in [(7, 9), (1, 9), (4, 7, 9), (2, 1, 7, 9), (2, 4, 1, 9)]:
        extra = random(*shape) < 0.5
        assert_plain(problem(), mask & extra, mask=extra, **options)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("shape", [None, (7, 9), (2, 1, 1, 9), (2, 4, 7, 9)], ids=str)
def test_grouped_heads(kv_heads, shape):
    extra = None if shape is None else random(*shape) < 0.5
    order = masks.causal(7, 9, offset=2)
    mask = order if extra is None else order & extra
    inputs = problem(kv_lead=(2, kv_heads))
    assert_plain(inputs, mask, mask=extra, causal=True, offset=2, enable_gqa=True)


def test_leading_dimensions_broadcast():
    query, key, value = problem((2, 1), 5, 6)[0], problem((3,), 5, 6)[1], problem((1, 3), 5, 6)[2]
    assert flash_attention(query, key, value).output.shape == (2, 3, 5, 5)
    assert_plain([query, key, value], None)


def test_gradients_are_those_of_the_numbers():
    inputs = problem((2,), 5, 4, 3, 2)
    mask = torch.tensor([True, False, True, True])

    def both(*tensors):
        result = flash_with_logsumexp(*tensors, mask=mask, causal=True, offset=0)
        return result.output, result.logsumexp

    assert torch.autograd.gradcheck(both, inputs)


def test_logsumexp_gives_the_weights():
    query, key, value = problem()
    options, mask = options_and_mask(SEEN["causal window"], 7, 9)
    _, logsumexp = flash_with_logsumexp(query, key, value, **options)
    weights = ((query / math.sqrt(6)) @ key.mT - logsumexp[..., None]).exp().where(mask, 0.0)
    expected = flash_attention(query, key, value, need_weights=True, **options).weights
    assert (weights.nan_to_num(0.0, 0.0, 0.0) - expected).abs().max() < 1e-12
    assert (logsumexp[..., 0] == -math.inf).all()  # offset -1: the first query sees nothing


def test_large_scores_do_not_overflow():
    query, key, value = (x.detach() for x in problem(dtype=torch.float32))
    output = flash_attention(200 * query, 200 * key, value).output
    exact = F.scaled_dot_product_attention(*(x.double() for x in (200 * query, 200 * key, value)))
    assert (output - exact).abs().max() < 1e-2


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kv_heads", [2, 4])
def test_junk_out_of_sight_is_harmless_and_in_sight_is_shown(junk, kv_heads):
    inputs = [x.detach() for x in problem(L=9, kv_lead=(2, kv_heads))]
    options = {"causal": True, "window": 3, "enable_gqa": True}
    clean = flash_attention(*inputs, **options).output
    inputs[1][0, 1, 4], inputs[2][0, 1, 4] = junk, junk
    inputs = [x.requires_grad_() for x in inputs]
    output = flash_attention(*inputs, **options).output
    heads = slice(4 // kv_heads, 2 * 4 // kv_heads)
    touched = torch.zeros(2, 4, 9, dtype=torch.bool)
    touched[0, heads, 4:7] = True
    assert (output.isnan().all(-1) == touched).all()
    assert ((output - clean)[~touched] == 0).all()
    output[~touched].square().sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


def test_a_short_sequence_takes_the_plain_form(monkeypatch):
    monkeypatch.setattr(flash, "SHORT", 9)
    monkeypatch.setattr(flash, "flash_with_logsumexp", None)
    extra = random(7, 9) < 0.5
    assert_plain(problem(), masks.causal(7, 9, offset=2) & extra, mask=extra, causal=True, offset=2)


@pytest.mark.parametrize("seen, most", [("causal", 0.6), ("causal window", 0.25)])
def test_hidden_blocks_are_not_worked_on(seen, most):
    query, key, _ = problem((1,), 64, 64)
    seen = flash.key_ranges(
        64, 64, causal=True, window=SEEN[seen].get("window"), offset=0, device="cpu"
    )
    by_range, by_mask = (
        sum(
            (rows.stop - rows.start) * (keys.stop - keys.start)
            for rows, blocks in flash._blocks(query, key, *how)
            for keys in blocks
        )
        for how in ((None, seen), (seen.mask(slice(0, 64)), None))
    )
    assert by_mask == by_range <= most * 64 * 64


def test_a_second_derivative_is_refused():
    inputs = problem()
    with pytest.raises(NotImplementedError, match="create_graph"):
        torch.autograd.grad(flash_attention(*inputs).output.sum(), inputs, create_graph=True)


# The online softmax


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 12), max_size=5), seed=st.integers(0, 999), share=st.floats(0, 1)
)
def test_any_blocks_in_any_order_give_the_softmax(cuts, seed, share):
    generator = torch.Generator().manual_seed(seed)
    scores = 30 * torch.randn(2, 3, 12, generator=generator, dtype=torch.float64)
    value = torch.randn(2, 12, 4, generator=generator, dtype=torch.float64)
    mask = torch.rand(2, 3, 12, generator=generator) < share
    masked = scores.masked_fill(~mask, -math.inf)
    edges = sorted({0, 12, *cuts})
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    running = start(masked, value)
    order = torch.randperm(len(blocks), generator=generator).tolist()
    for i in order:
        running = update(running, masked[..., blocks[i]], value[:, blocks[i]])
    output, logsumexp = finish(running)
    expected = attnkit.masked_softmax(scores, mask) @ value
    assert (output - expected).abs().max() < 1e-12
    sees = mask.any(-1)
    assert (logsumexp[~sees] == -math.inf).all()
    assert torch.allclose(logsumexp[sees], masked.logsumexp(-1)[sees], rtol=1e-12, atol=1e-12)


def test_merging_two_readers_is_reading_on():
    scores, value = torch.randn(2, 3, 12).double(), torch.randn(2, 12, 4).double()
    scores[0, 0, :6] = -math.inf
    nothing = start(scores, value)
    left = update(nothing, scores[..., :6], value[:, :6])
    right = update(nothing, scores[..., 6:], value[:, 6:])
    both = update(left, scores[..., 6:], value[:, 6:])
    for merged in (merge(left, right), merge(right, left), merge(nothing, both)):
        for mine, theirs in zip(finish(merged), finish(both), strict=True):
            assert (mine - theirs).abs().max() < 1e-12


@pytest.mark.parametrize("block_size", [1, 2, 4, 9, 20])
def test_the_teaching_form_ends_where_the_plain_form_does(block_size):
    query, key, value = problem()
    mask = masks.causal(7, 9, offset=-1)
    steps = list(online_attention(query, key, value, mask=mask, block_size=block_size))
    assert len(steps) == -(-9 // block_size)
    output = finish(steps[-1])[0]
    expected = attnkit.scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)
    assert (output - expected.output).abs().max() < 1e-12
    for before, after in pairwise(steps):
        assert (after.maximum >= before.maximum).all()


Q, K, V = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 3)


def call(query=Q, key=K, value=V, **options):
    return flash_attention(query, key, value, **options)


def teach(query=Q, key=K, value=V, **options):
    return online_attention(query, key, value, **options)


test_wrong_calls = refused("efficient", "flash", names=globals())
