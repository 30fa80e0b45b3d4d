"""Linear attention: parallel, recurrent and explicit are one; its state is carried along."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnkit import masks
from attnkit.efficient import (
    LinearState,
    elu_features,
    linear,
    linear_attention,
    linear_attention_recurrent,
    linear_attention_segment,
)
from tests.attnkit.efficient.same import assert_same, drawn, random
from tests.refusals.wrong_calls import refused

FEATURES = {"elu": elu_features, "relu": torch.relu}


def problem(lead=(2, 3), L=7, S=None, *, dtype=torch.float64):
    S = L if S is None else S
    shapes = (*lead, L, 6), (*lead, S, 6), (*lead, S, 5)
    return drawn(*shapes, seed=L * 1000 + S, dtype=dtype)


def textbook(query, key, value, mask, feature_map):
    """Equation 4 of Katharopoulos et al., with every pair written out."""
    scores = feature_map(query) @ feature_map(key).mT
    scores = scores.where(mask, 0.0)
    total = scores.sum(-1, keepdim=True)
    return (scores / total.where(total > 0, 1.0)) @ value


@pytest.mark.parametrize("feature_map", FEATURES.values(), ids=FEATURES.keys())
@pytest.mark.parametrize("L, S", [(1, 1), (7, 129), (129, 7), (1, 7)])
@pytest.mark.parametrize("shape", [None, (1, -1), (2, 1, 1, -1), (2, 3, -2, -1)], ids=str)
def test_parallel_form_is_the_textbook(L, S, shape, feature_map):
    size = {-1: S, -2: L}
    mask = torch.ones(L, S, dtype=torch.bool)
    given_mask = None
    if shape is not None:
        given_mask = mask = random(*(size.get(n, n) for n in shape)) < 0.5
    assert_same(
        lambda *x: linear_attention(*x, mask=given_mask, feature_map=feature_map).output,
        lambda *x: textbook(*x, mask, feature_map),
        problem(L=L, S=S),
    )


@pytest.mark.parametrize("feature_map", FEATURES.values(), ids=FEATURES.keys())
@pytest.mark.parametrize("length", [1, 4, 7, 129])
@pytest.mark.parametrize("shape", [None, (1, -1), (2, 1, 1, -1), (-1, -1)], ids=str)
def test_causal_form_is_the_textbook(length, shape, feature_map):
    mask = masks.causal(length)
    given_mask = None
    if shape is not None:
        given_mask = random(*(length if n == -1 else n for n in shape)) < 0.5
        mask = mask & given_mask
    assert_same(
        lambda *x: (
            linear_attention(*x, causal=True, mask=given_mask, feature_map=feature_map).output
        ),
        lambda *x: textbook(*x, mask, feature_map),
        problem(L=length),
    )


@pytest.mark.parametrize("feature_map", FEATURES.values(), ids=FEATURES.keys())
@pytest.mark.parametrize("length", [1, 7, 129])
def test_recurrent_equals_parallel(length, feature_map):
    assert_same(
        lambda *x: linear_attention_recurrent(*x, feature_map=feature_map)[0],
        lambda *x: linear_attention(*x, causal=True, feature_map=feature_map).output,
        problem(L=length),
    )


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 17), max_size=4), forms=st.lists(st.booleans(), min_size=5))
@pytest.mark.build
def test_segments_carry_the_state(cuts, forms):
    inputs = problem(L=17)
    edges = [0, *sorted(cuts), 17]

    def in_segments(*tensors):
        state, outputs = None, []
        for i, (start, stop) in enumerate(pairwise(edges)):
            form = linear_attention_recurrent if forms[i % 5] else linear_attention_segment
            output, state = form(*(x[..., start:stop, :] for x in tensors), state)
            outputs.append(output)
        return torch.cat(outputs, -2)

    assert_same(in_segments, lambda *x: linear_attention(*x, causal=True).output, inputs)


def test_state_is_the_two_sums_and_does_not_grow():
    query, key, value = problem()
    for form in (linear_attention_segment, linear_attention_recurrent):
        _, state = form(query, key, value)
        assert (state.key_value - elu_features(key).mT @ value).abs().max() < 1e-10
        assert (state.key - elu_features(key).sum(-2)).abs().max() < 1e-10
        _, later = form(query, key, value, state)
        assert later.key_value.shape == state.key_value.shape


def test_state_is_kept_in_float32_for_half_inputs():
    query, key, value = problem(dtype=torch.bfloat16)
    output, state = linear_attention_segment(query, key, value)
    assert output.dtype == torch.bfloat16
    assert state.key_value.dtype == state.key.dtype == torch.float32


def test_a_state_is_not_written_to():
    inputs = [x.detach() for x in problem()]
    _, state = linear_attention_segment(*inputs)
    before = [x.clone() for x in state]
    for form in (linear_attention_segment, linear_attention_recurrent):
        form(*inputs, state)
    assert all(torch.equal(a, b) for a, b in zip(state, before, strict=True))


def test_a_short_sequence_takes_the_plain_form(monkeypatch):
    monkeypatch.setattr(linear, "SHORT", 9)
    for form in ("_parallel", "_chunks"):
        monkeypatch.setattr(linear, form, None)
    keys = random(9) < 0.5
    assert_same(
        lambda *x: linear_attention(*x, causal=True, mask=keys).output,
        lambda *x: textbook(*x, masks.causal(9) & keys, elu_features),
        problem(L=9),
    )


def test_weights_sum_to_one_and_give_the_output():
    query, key, value = problem()
    output, weights = linear_attention(query, key, value, causal=True, need_weights=True)
    assert (weights.sum(-1) - 1).abs().max() < 1e-12
    assert (weights[..., ~masks.causal(7)] == 0).all()
    assert (weights @ value - output).abs().max() < 1e-12
    assert (linear_attention(query, key, value, causal=True).output - output).abs().max() < 1e-12


def test_features_that_meet_no_key_give_zero():
    query, key = torch.tensor([[1.0, -1.0]]), torch.tensor([[-1.0, 1.0], [-2.0, 3.0]])
    output, weights = linear_attention(
        query, key, torch.ones(2, 3), feature_map=torch.relu, need_weights=True
    )
    assert (output == 0).all()
    assert (weights == 0).all()


@pytest.mark.parametrize("junk", [math.nan, math.inf])
def test_a_later_nan_leaves_earlier_queries_alone(junk):
    inputs = [x.detach() for x in problem((2,), 9)]
    clean = linear_attention(*inputs, causal=True).output
    inputs[1][0, 5], inputs[2][0, 5] = junk, junk
    output = linear_attention(*inputs, causal=True).output
    assert (output[0, :5] - clean[0, :5]).abs().max() < 1e-12
    assert (output[1] - clean[1]).abs().max() < 1e-12
    assert output[0, 5:].isnan().all()
    hidden = torch.arange(9) != 5
    masked = linear_attention(*inputs, causal=True, mask=hidden[None]).output
    assert masked.isfinite().all()


def test_a_nan_in_one_segment_spoils_the_next():
    inputs = [x.detach() for x in problem((2,), 9)]
    inputs[1][0, 5] = math.nan
    for form in (linear_attention_segment, linear_attention_recurrent):
        output, state = form(*inputs)
        assert output[0, :5].isfinite().all()
        assert output[0, 5:].isnan().all()
        later, _ = form(*(x.nan_to_num() for x in inputs), state)
        assert later[0].isnan().all()
        assert later[1].isfinite().all()


Q, K, V = torch.randn(2, 5, 6), torch.randn(2, 7, 6), torch.randn(2, 7, 3)
MANY = torch.ones(5, 7, dtype=torch.bool)


def call(query=Q, key=K, value=V, **options):
    return linear_attention(query, key, value, **options)


def segment(query=K, key=K, value=V, state=None, **options):
    return linear_attention_segment(query, key, value, state, **options)


STATE = LinearState(torch.zeros(2, 6, 4), torch.zeros(2, 6))


test_wrong_calls = refused("efficient", "linear", names=globals())
