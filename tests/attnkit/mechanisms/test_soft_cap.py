"""The soft cap, beyond the contract: what it leaves alone, and what it never exceeds."""

import torch
from torch.testing import assert_close

from attnkit import MultiHeadAttention, masks
from attnkit.mechanisms import SoftCapAttention


def made(cap):
    torch.manual_seed(0)
    return SoftCapAttention(8, 2, cap=cap).double()


def test_far_above_the_scores_it_is_multi_head_attention():
    capped, plain = made(1e6), MultiHeadAttention(8, 2).double()
    plain.load_state_dict(capped.state_dict())
    x, mask = torch.randn(2, 5, 8).double(), masks.causal(5)
    for found, wanted in zip(
        capped(x, mask=mask, need_weights=True), plain(x, mask=mask, need_weights=True), strict=True
    ):
        assert_close(found, wanted)


def test_no_weight_outgrows_another_by_more_than_the_cap_allows():
    capped, x = made(1.5), 1e3 * torch.randn(2, 5, 8).double()
    weights = capped(x, need_weights=True).weights
    assert 0.99 < (weights.amax(-1) / weights.amin(-1)).log().max() / 3 <= 1
