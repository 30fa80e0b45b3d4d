"""Masks: every cell against the sentence that defines it, and the adapters against torch."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from attnkit import masks

lengths = st.integers(0, 9)


def from_rule(query_len, key_len, rule):
    rows = [[rule(i, j) for j in range(key_len)] for i in range(query_len)]
    return torch.tensor(rows, dtype=torch.bool).reshape(query_len, key_len)


@given(query_len=lengths, key_len=lengths, offset=st.integers(-9, 9))
def test_causal(query_len, key_len, offset):
    mask = masks.causal(query_len, key_len, offset=offset)
    assert mask.dtype == torch.bool
    assert torch.equal(mask, from_rule(query_len, key_len, lambda i, j: j <= i + offset))


def test_causal_of_one_length_aligns_the_two_ends():
    assert torch.equal(masks.causal(3), torch.ones(3, 3).tril().bool())
    assert torch.equal(masks.causal(3), masks.causal(3, 3))


def test_causal_alignments_are_those_of_torch():
    # Imports torch's compiler, a second that not every worker needs to spend.
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    q, k = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 5, 4)
    for offset, bias in ((0, causal_upper_left(3, 5)), (2, causal_lower_right(3, 5))):
        ours = F.scaled_dot_product_attention(q, k, k, attn_mask=masks.causal(3, 5, offset=offset))
        assert torch.allclose(ours, F.scaled_dot_product_attention(q, k, k, attn_mask=bias))


@given(st.lists(lengths, min_size=1, max_size=4), st.integers(0, 3))
def test_padding(sizes, more):
    max_len = max(sizes) + more
    mask = masks.padding(sizes, max_len)
    assert mask.shape == (len(sizes), 1, max_len)
    expected = from_rule(len(sizes), max_len, lambda b, j: j < sizes[b])
    assert torch.equal(mask[:, 0], expected)
    assert torch.equal(mask, masks.padding(torch.tensor(sizes, dtype=torch.int32), max_len))


def test_a_mask_is_where_its_lengths_are_whatever_the_default_device():
    sizes = torch.tensor([2, 4])
    with torch.device("meta"):
        assert masks.padding(sizes, 4).device == sizes.device
    assert torch.equal(masks.padding(sizes, device="cpu"), masks.padding([2, 4]))


def test_padding_ends_at_the_longest_by_default():
    assert masks.padding([2, 4]).shape == (2, 1, 4)
    assert masks.padding([], 4).shape == (0, 1, 4)


@given(lengths, lengths, st.integers(1, 12), st.integers(-9, 9), st.booleans())
def test_sliding_window(query_len, key_len, window, offset, causal):
    mask = masks.sliding_window(query_len, key_len, window=window, causal=causal, offset=offset)
    furthest = 0 if causal else window - 1
    expected = from_rule(
        query_len, key_len, lambda i, j: i + offset - window < j <= i + offset + furthest
    )
    assert torch.equal(mask, expected)


@given(lengths, st.data())
def test_prefix(length, data):
    prefix_len = data.draw(st.integers(0, length))
    expected = from_rule(length, length, lambda i, j: j <= i or j < prefix_len)
    assert torch.equal(masks.prefix(length, prefix_len), expected)


def test_blocks():
    ids = torch.tensor([0, 0, 1, 2, 2])
    assert torch.equal(masks.blocks(ids), from_rule(5, 5, lambda i, j: ids[i] == ids[j]))
    batched = masks.blocks(ids.expand(3, 5), torch.tensor([2, 1]).expand(3, 2))
    assert torch.equal(batched[1], from_rule(5, 2, lambda i, j: ids[i] == 2 - j))


@pytest.mark.parametrize("build", [
    lambda device: masks.causal(3, device=device),
    lambda device: masks.sliding_window(3, window=2, device=device),
    lambda device: masks.prefix(3, 2, device=device),
    lambda device: masks.padding([2, 1], device=device, max_len=3),
])  # fmt: skip
def test_masks_are_built_where_asked(build):
    assert build("meta").device.type == "meta"
    assert build(None).device.type == "cpu"
