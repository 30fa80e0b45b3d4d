"""Luong's three scores, beyond the contract: parameters, and products too large for float16."""

import torch

from attnkit import LuongAttention


def test_products_that_float16_cannot_hold():
    """300 * 300 is above 65504: the score runs in float32."""
    x = torch.tensor([[[300.0], [-300.0]]], dtype=torch.float16)
    output, weights = LuongAttention(1, 1)(x, need_weights=True)
    assert weights.tolist() == [[[1, 0], [0, 1]]]
    assert torch.equal(output, x)
