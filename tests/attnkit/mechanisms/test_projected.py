"""Projected attention over raw states, and the adapter for time-first tensors."""

import math

import torch
from torch.testing import assert_close

from attnkit import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    trace,
)

B, L, S = 2, 3, 5


def test_by_hand():
    attention = ProjectedAttention(1, 2, 4)
    with torch.no_grad():
        attention.query_proj.weight.copy_(torch.tensor([[1.0], [2.0], [0.0], [0.0]]))
        attention.key_proj.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1], [5, 5]]))
    query, key = torch.tensor([[[3.0]]]), torch.tensor([[[1.0, 2.0], [0.5, -1.0]]])
    with trace.record() as calls:
        attention(query, key)
    assert calls[0]["scores"].tolist() == [[[(3 * 1 + 6 * 2) / 2, (3 * 0.5 - 6) / 2]]]


def test_it_is_luongs_general_score_of_low_rank():
    torch.manual_seed(0)
    attention, general = ProjectedAttention(4, 6, 3), LuongAttention(4, 6, score="general")
    weight = attention.query_proj.weight.T @ attention.key_proj.weight / math.sqrt(3)
    with torch.no_grad():
        general.weight.copy_(weight)
    assert torch.linalg.matrix_rank(weight) == 3
    query, key = torch.randn(B, L, 4), torch.randn(B, S, 6)
    assert_close(
        attention(query, key, need_weights=True),
        general(query, key, need_weights=True),
        atol=1e-6,
        rtol=0,
    )


def test_values_are_the_raw_states():
    torch.manual_seed(0)
    attention, states = ProjectedAttention(4, 6, 8), torch.randn(B, S, 6)
    output, weights = attention(torch.randn(B, L, 4), states, need_weights=True)
    assert_close(output, weights @ states)


def test_parameters():
    attention = ProjectedAttention(4, 6, 8)
    shapes = {name: tuple(x.shape) for name, x in attention.named_parameters()}
    assert shapes == {"query_proj.weight": (8, 4), "key_proj.weight": (8, 6)}
    assert "query_dim=4, key_dim=6, hidden_dim=8" in repr(attention)


MECHANISMS = {
    "projected": lambda: ProjectedAttention(4, 4, 8),
    "additive": lambda: AdditiveAttention(4, 4, 8),
    "multihead": lambda: MultiHeadAttention(4, 2),
}
