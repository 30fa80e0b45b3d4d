"""Luong's three scores, by hand and against each other."""

import math

import pytest
import torch
from torch.testing import assert_close

from attnkit import LuongAttention, trace

B, L, S = 2, 3, 5


def scores_of(attention, *tensors):
    with trace.record() as calls:
        attention(*tensors)
    return calls[0]["scores"]


def tensors(query_dim, key_dim):
    torch.manual_seed(1)
    return torch.randn(B, L, query_dim), torch.randn(B, S, key_dim)


def set_weights(attention, **values):
    with torch.no_grad():
        for name, value in values.items():
            getattr(attention, name).copy_(torch.tensor(value))


def test_dot_by_hand():
    query = torch.tensor([[[1.0, 2.0]]])
    key = torch.tensor([[[3.0, -1.0], [0.0, 0.5], [-2.0, 1.0]]])
    scores = scores_of(LuongAttention(2, 2, score="dot"), query, key)
    assert scores.tolist() == [[[1.0, 1.0, 0.0]]]


def test_general_by_hand():
    attention = LuongAttention(2, 3, score="general")
    set_weights(attention, weight=[[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]])
    query, key = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0, 5.0]]])
    assert scores_of(attention, query, key).tolist() == [[[1 * (3 + 10) + 2 * (-4 + 2.5)]]]


def test_concat_by_hand():
    attention = LuongAttention(1, 2, score="concat", hidden_dim=2)
    set_weights(attention, weight=[[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]], v=[2.0, -3.0])
    query, key = torch.tensor([[[0.1]]]), torch.tensor([[[0.2, 0.3]]])
    expected = 2 * math.tanh(0.1 + 0.4 + 0.9) - 3 * math.tanh(-0.1 + 0.1 + 0.075)
    assert_close(scores_of(attention, query, key), torch.tensor([[[expected]]]))


def test_dot_is_the_default_and_has_nothing_to_learn():
    attention = LuongAttention(4, 4)
    assert attention.score == "dot"
    assert list(attention.parameters()) == []
    assert repr(attention) == "LuongAttention(query_dim=4, key_dim=4, score='dot')"


@pytest.mark.parametrize("score, hidden_dim, shapes", [
    ("general", None, {"weight": (4, 6)}),
    ("concat", None, {"weight": (4, 10), "v": (4,)}),
    ("concat", 7, {"weight": (7, 10), "v": (7,)}),
])  # fmt: skip
def test_parameters(score, hidden_dim, shapes):
    attention = LuongAttention(4, 6, score=score, hidden_dim=hidden_dim)
    assert {name: tuple(x.shape) for name, x in attention.named_parameters()} == shapes


@pytest.mark.parametrize(
    "score, name, fan_in",
    [("general", "weight", 100), ("concat", "weight", 500), ("concat", "v", 400)],
)
def test_parameters_start_as_those_of_a_linear_layer_do(score, name, fan_in):
    torch.manual_seed(0)
    parameter = getattr(LuongAttention(400, 100, score=score), name)
    bound = 1 / math.sqrt(fan_in)
    assert parameter.abs().max() <= bound
    assert parameter.min() < -0.9 * bound
    assert_close(parameter.std().item(), bound / math.sqrt(3), rtol=0.06, atol=0)


def test_products_that_float16_cannot_hold():
    """300 * 300 is above 65504: the score runs in float32."""
    x = torch.tensor([[[300.0], [-300.0]]], dtype=torch.float16)
    output, weights = LuongAttention(1, 1)(x, need_weights=True)
    assert weights.tolist() == [[[1, 0], [0, 1]]]
    assert torch.equal(output, x)
