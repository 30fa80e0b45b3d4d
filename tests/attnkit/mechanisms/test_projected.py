"""Projected attention over raw states, and the adapter for time-first tensors."""

import torch

from attnkit import ProjectedAttention, trace

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


def test_parameters():
    attention = ProjectedAttention(4, 6, 8)
    shapes = {name: tuple(x.shape) for name, x in attention.named_parameters()}
    assert shapes == {"query_proj.weight": (8, 4), "key_proj.weight": (8, 6)}
    assert "query_dim=4, key_dim=6, hidden_dim=8" in repr(attention)
