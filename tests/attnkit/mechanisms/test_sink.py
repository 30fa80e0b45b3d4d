"""The learned sink, beyond the contract: what its weights are, with a bias too."""

import math

import pytest
import torch
from torch.testing import assert_close

from attnkit import MultiHeadAttention, masks, trace
from attnkit.mechanisms import SinkAttention


@pytest.fixture
def attention():
    torch.manual_seed(0)
    made = SinkAttention(8, 2).double()
    torch.nn.init.uniform_(made.sink, -2, 2)
    return made


def plain_twin(attention):
    plain = MultiHeadAttention(8, 2).double()
    plain.load_state_dict({name: x for name, x in attention.state_dict().items() if name != "sink"})
    return plain


@pytest.mark.parametrize("biased", [False, True])
def test_weights_are_the_usual_ones_times_the_share_of_the_keys(attention, biased):
    x, mask = torch.randn(3, 5, 8).double(), masks.causal(5) & masks.padding([5, 3, 0], 5)
    bias = torch.randn(3, 2, 5, 5).double() if biased else None
    with trace.record(attention) as calls:
        _, weights = attention(x, mask=mask, bias=bias, need_weights=True)
    usual = plain_twin(attention)(x, mask=mask, bias=bias, need_weights=True).weights
    scores = calls[0]["scores"].masked_fill(~mask[:, None], -math.inf)
    share = (scores.logsumexp(-1) - attention.sink[:, None]).sigmoid()
    assert_close(weights, usual * share[..., None])
