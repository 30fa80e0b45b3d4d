"""`MultiHeadAttention.from_torch` copies: equal, frozen weights frozen, nothing shared."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import MultiHeadAttention


@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 5}], ids=["packed", "apart"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_copy_keeps_what_is_frozen_and_shares_nothing(sizes, bias):
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
    assert (ours.dropout, ours.training) == (0.2, False)
    frozen = {name for name, x in ours.named_parameters() if not x.requires_grad}
    inputs = ["in_proj"] if not sizes else ["query_proj", "key_proj", "value_proj"]
    assert frozen == {"out_proj.weight", *(f"{name}.bias" for name in inputs if bias)}
    shared = {x.data_ptr() for x in theirs.parameters()}
    assert not shared & {x.data_ptr() for x in ours.parameters()}
    query = torch.randn(3, 4, 8, dtype=torch.double)
    key = torch.randn(3, 5, ours.kdim, dtype=torch.double)
    value = torch.randn(3, 5, ours.vdim, dtype=torch.double)
    assert_close(theirs(query, key, value)[0], ours(query, key, value).output)
