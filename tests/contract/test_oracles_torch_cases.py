"""The cases of PyTorch's own test of `nn.MultiheadAttention`, as a table, put to attnkit's.

The table follows `test/nn/test_multihead_attention.py` of PyTorch: the same settings, sizes drawn
from the same ranges, by name. What that file checks against a reference of its own, this one checks
against PyTorch's module with the same weights. Cases that do not apply are listed with the reason.
"""

import random

import pytest
import torch
from torch import nn

from attnkit import MultiHeadAttention, masks
from booktools.address import ROOT

#: name in PyTorch's test -> what it draws: a padding mask, and whether key and query are as wide.
DRAWN = {
    "no_masking": {},
    "key_padding_mask": {"padding": True},
    "same_embed_dim": {"padding": True, "same": True},
}

NOT_APPLICABLE = {
    "add_bias_kv": "a learned key beside those given; from_torch refuses such a module",
    "add_zero_attn": "a key of zeros beside those given; from_torch refuses such a module",
    "add_bias_kv_zero_attn": "both of the above",
    "saved_kv": "projected keys given from outside (static_k); here a cache holds them",
    "all_arguments1": "add_zero_attn and saved_kv",
    "all_arguments2": "add_bias_kv, add_zero_attn and saved_kv",
    "all_arguments3": "add_zero_attn and saved_kv; its equal widths are same_embed_dim above",
    "nested_tensor_outside_fast_path": "nested tensors are refused, by name",
    "self_attn_two_masks_fast_path_mock": "asks whether one kernel of PyTorch's was called",
    "fast_path_query_and_bias_have_different_dtypes": "asks whether one kernel is left alone",
    "fast_path_check_with_mask_does_not_break_in_compile": "of nn.TransformerEncoder",
}


def pair(embed_dim, heads, **options):
    """PyTorch's module with random biases, and ours with its weights, in float64."""
    theirs = nn.MultiheadAttention(embed_dim, heads, batch_first=True, **options).double().eval()
    for name, parameter in theirs.named_parameters():
        if name.endswith("bias"):
            nn.init.uniform_(parameter, -0.5, 0.5)
    return theirs, MultiHeadAttention.from_torch(theirs)


def agree(ours, theirs, visible):
    """Equal where a query sees a key; elsewhere PyTorch has NaN and attnkit 0."""
    assert ours.shape == theirs.shape
    rows = visible.any(-1)
    assert rows.any()
    assert not ours.isnan().any()
    assert (ours[rows] - theirs[rows]).abs().max() < 1e-12
    assert (ours[~rows] == 0).all()


@pytest.mark.parametrize("average", [True, False], ids=["average", "per-head"])
@pytest.mark.parametrize("name", DRAWN)
def test_drawn(name, average):
    settings, rng = DRAWN[name], random.Random(name)
    torch.manual_seed(0)
    for _ in range(20):
        batch, length = rng.randint(2, 10), rng.randint(2, 10)
        heads = 2 * rng.randint(2, 5)
        embed_dim = heads * rng.randint(3, 10)
        key_dim = embed_dim if settings.get("same") else rng.randint(5, 20)
        theirs, ours = pair(embed_dim, heads, kdim=key_dim, vdim=key_dim)
        query = torch.rand(batch, 1, embed_dim).double()
        key = torch.rand(batch, length, key_dim).double()
        allowed = torch.rand(1, length) < 0.5
        allowed[0, 0] = True
        options = {"attn_mask": ~allowed}
        visible = allowed.expand(batch, 1, length)
        if settings.get("padding"):
            ignored = (torch.rand(1, length) < 0.5).expand(batch, length)
            options["key_padding_mask"] = ignored
            visible = visible & masks.from_torch_padding(ignored)
        if not visible.any():
            continue
        expected, their_weights = theirs(query, key, key, average_attn_weights=average, **options)
        output, weights = ours(query, key, key, mask=visible, need_weights=True)
        agree(output, expected, visible)
        agree(weights.mean(1) if average else weights.movedim(1, 2), 
              their_weights if average else their_weights.movedim(1, 2), visible)  # fmt: skip


def test_3d_attn_mask():
    """A mask for each sequence and head gives each sequence what it gets alone."""
    torch.manual_seed(0)
    theirs, ours = pair(8, 4)
    query, key = torch.rand(8, 2, 8).double(), torch.rand(8, 3, 8).double()
    allowed = torch.rand(8, 2, 3) < 0.6
    expected, _ = theirs(query, key, key, attn_mask=~allowed.repeat_interleave(4, 0))
    per_head = ours(query, key, key, mask=allowed[:, None].expand(8, 4, 2, 3)).output
    agree(per_head, expected, allowed)
    for b in range(8):
        one = slice(b, b + 1)
        agree(ours(query[one], key[one], mask=allowed[b]).output, expected[one], allowed[one])


def test_self_attn_two_masks():
    torch.manual_seed(0)
    theirs, ours = pair(14, 7)
    x = torch.rand(8, 5, 14).double()
    hidden, ignored = torch.rand(5, 5) < 0.5, torch.rand(8, 5) < 0.5
    visible = masks.from_torch_attention(hidden) & masks.from_torch_padding(ignored)
    with torch.no_grad():
        expected, _ = theirs(x, x, x, attn_mask=hidden, key_padding_mask=ignored)
        agree(ours(x, mask=visible).output, expected, visible)


def test_how_many_do_not_apply_is_what_the_reference_says():
    page = " ".join((ROOT / "appendices/api/testing.md").read_text("utf8").split())
    assert f"{len(NOT_APPLICABLE)} do not apply" in page
