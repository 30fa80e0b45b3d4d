"""Projected attention, beyond the contract: its parameters."""

from attnkit import ProjectedAttention


def test_parameters():
    attention = ProjectedAttention(4, 6, 8)
    shapes = {name: tuple(x.shape) for name, x in attention.named_parameters()}
    assert shapes == {"query_proj.weight": (8, 4), "key_proj.weight": (8, 6)}
    assert "query_dim=4, key_dim=6, hidden_dim=8" in repr(attention)
