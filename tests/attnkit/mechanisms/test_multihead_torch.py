"""`MultiHeadAttention` goes to torch and back: equal, with its frozen weights, sharing nothing."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import MultiHeadAttention


@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 5}], ids=["packed", "apart"])
@pytest.mark.parametrize("bias", [True, False])
def test_there_and_back_with_frozen_weights(sizes, bias):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, dropout=0.2, bias=bias, batch_first=True, **sizes)
    theirs = theirs.double().eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    theirs.out_proj.weight.requires_grad_(False)
    if bias:
        theirs.in_proj_bias.requires_grad_(False)
    with torch.no_grad():  # a copy made here is frozen no more than one made elsewhere
        ours = MultiHeadAttention.from_torch(theirs)
    assert not ours.out_proj.weight.requires_grad
    first = next(iter(ours.children()))
    assert first.weight.requires_grad
    assert not bias or (not first.bias.requires_grad and ours.out_proj.bias.requires_grad)
    back = ours.to_torch()
    assert (back.dropout, back.training, back.batch_first) == (0.2, False, True)
    for (name, a), (other, b) in zip(
        back.named_parameters(), theirs.named_parameters(), strict=True
    ):
        assert name == other
        assert torch.equal(a, b), name
        assert a.requires_grad == b.requires_grad, name
        assert a.data_ptr() != b.data_ptr()
    query = torch.randn(3, 4, 8, dtype=torch.double)
    key = torch.randn(3, 5, ours.kdim, dtype=torch.double)
    value = torch.randn(3, 5, ours.vdim, dtype=torch.double)
    assert_close(back(query, key, value)[0], ours(query, key, value).output)


def test_grouped_heads_are_refused():
    with pytest.raises(ValueError, match=r"num_kv_heads: expected 4 .* got 2"):
        MultiHeadAttention(8, 4, num_kv_heads=2).to_torch()
