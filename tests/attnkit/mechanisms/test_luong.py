"""Luong's three scores, beyond the contract: parameters, and products too large for float16."""

import math

import pytest
import torch
from torch.testing import assert_close

from attnkit import LuongAttention


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
