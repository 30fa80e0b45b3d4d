"""Masks, and how they compose.

A mask is a boolean tensor that broadcasts to (..., L, S), L queries by S keys, and **True means
"may attend"**, as in `F.scaled_dot_product_attention` and ONNX's Attention operator. Masks
compose with `&`, `|` and `~`::

    masks.causal(L) & masks.padding(lengths)

Libraries disagree on polarity. Convert at the border, with the adapter named after the source:
`from_torch_padding` and `from_torch_attention` take what `nn.MultiheadAttention` takes.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from attnkit.guard import checks
from attnkit.guard.dtypes import values_unavailable


def causal(
    query_len: int,
    key_len: int | None = None,
    *,
    offset: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let query i see key j when j <= i + offset. Shape (L, S).

    Args:
        query_len: L, at least 0.
        key_len: S; `query_len` when omitted.
        offset: how far the keys run ahead of the queries. 0 when L == S. When L != S it must be
            given, because two conventions are in use: `offset=0` aligns query 0 with key 0
            ("upper left", PyTorch's `is_causal`), and `offset=S - L` aligns the last query with
            the last key ("lower right", decoding with a cache, flash-attention from 2.1 on).
        device: where to build the mask.

    Raises:
        ValueError: `offset` is missing although L != S, or a length is negative.
        TypeError: a length or the offset is not an int.

    Example:
        >>> causal(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
        >>> causal(1, 4, offset=3)  # one new query at the end of a cache of 4
        tensor([[True, True, True, True]])
    """
    query_len, key_len, offset = _aligned(query_len, key_len, offset)
    return _ones(query_len, key_len, device).tril_(offset)  # (L, S)


def padding(
    lengths: Tensor | Sequence[int],
    max_len: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let every query of sequence b see the first `lengths[b]` keys. Shape (B, 1, S).

    With heads, (B, H, L, S), add the missing dimension yourself: `padding(lengths)[:, None]`.
    `MultiHeadAttention` does that for you.

    Args:
        lengths: B numbers of real keys, an integer tensor (B,) or a sequence of ints. A length of
            0 is allowed: every query of that sequence is then fully masked and gives 0.
        max_len: S; the longest length when omitted.
        device: where to build the mask; where `lengths` are when omitted.

    Raises:
        TypeError: `lengths` holds something other than integers.
        ValueError: `lengths` is not one-dimensional, is empty without `max_len`, or holds a
            number below 0 or above `max_len`.

    Example:
        >>> padding([3, 1], max_len=4).int()
        tensor([[[1, 1, 1, 0]],
        <BLANKLINE>
                [[1, 0, 0, 0]]], dtype=torch.int32)
        >>> (causal(4) & padding([3, 1], max_len=4)).shape
        torch.Size([2, 4, 4])
    """
    lengths = _as_lengths(lengths)
    if max_len is None:
        if not len(lengths):
            checks.fail("lengths", "at least one length when max_len is omitted", "none")
        max_len = int(lengths.max())
    max_len = checks.integer("max_len", max_len, minimum=0)
    inspect = len(lengths) and not values_unavailable(lengths)
    if inspect and not 0 <= int(lengths.min()) <= int(lengths.max()) <= max_len:
        checks.fail("lengths", f"numbers from 0 to {max_len} (max_len)", str(lengths.tolist()))
    lengths = lengths if device is None else lengths.to(device)
    keys = torch.arange(max_len, device=lengths.device)
    return (keys < lengths[:, None])[:, None]  # (B, 1, S)


def sliding_window(
    query_len: int,
    key_len: int | None = None,
    *,
    window: int,
    causal: bool = True,
    offset: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let a query see only the keys near its own position. Shape (L, S).

    `window` counts keys and includes the query's own, so `window=1` is the key at the query's
    own place alone. With `causal=True` query i sees the `window` keys that end at i + offset.
    With `causal=False` it sees as many on the other side too, 2 * window - 1 in all.

    The same window elsewhere: flash-attention's and `nn.attention.varlen`'s
    `window_size=(window - 1, 0)` (causal) or `(window - 1, window - 1)`, which count keys beside
    the query's own. Keras's and Mistral's `sliding_window` count as we do; Keras's looks both ways
    unless `use_causal_mask=True`. ONNX has no window argument, so pass this mask.

    Args:
        query_len: L.
        key_len: S; `query_len` when omitted.
        window: number of keys, at least 1.
        causal: False to look ahead as well.
        offset: as in `causal`; demanded when L != S.
        device: where to build the mask.

    Raises:
        ValueError: `window` is below 1, or `offset` is missing although L != S.
        TypeError: an argument is not of the type named.

    Example:
        >>> sliding_window(4, window=2).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [0, 1, 1, 0],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    window = checks.integer("window", window, minimum=1)
    checks.flag("causal", causal)
    query_len, key_len, offset = _aligned(query_len, key_len, offset)
    ahead = 0 if causal else window - 1
    near = _ones(query_len, key_len, device)
    return near.triu_(offset - window + 1).tril_(offset + ahead)  # (L, S)


def prefix(length: int, prefix_len: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let every query see the first `prefix_len` keys, and the rest causally. Shape (L, L).

    The prefix language model's mask (Raffel et al. 2020, figure 4).

    Raises:
        ValueError: `prefix_len` is not between 0 and `length`.
        TypeError: an argument is not an int.

    Example:
        >>> prefix(4, 2).int()
        tensor([[1, 1, 0, 0],
                [1, 1, 0, 0],
                [1, 1, 1, 0],
                [1, 1, 1, 1]], dtype=torch.int32)
    """
    length = checks.integer("length", length, minimum=0)
    prefix_len = checks.integer("prefix_len", prefix_len, minimum=0, maximum=length)
    mask = causal(length, device=device)
    mask[:, :prefix_len] = True
    return mask  # (L, L)


def blocks(block_ids: Tensor, key_block_ids: Tensor | None = None) -> Tensor:
    """Let a query see the keys that carry its own block number. Shape (..., L, S).

    With the number of the document as the block, this is the mask of packed sequences; add
    `& causal(L)` for a language model.

    Args:
        block_ids: integers (..., L), one for each query.
        key_block_ids: integers (..., S) for the keys; `block_ids` when omitted.

    Raises:
        TypeError: the numbers are not an integer tensor.
        ValueError: a tensor has no dimension, or the two are on different devices.

    Example:
        >>> blocks(torch.tensor([0, 0, 1])).int()
        tensor([[1, 1, 0],
                [1, 1, 0],
                [0, 0, 1]], dtype=torch.int32)
    """
    key_block_ids = block_ids if key_block_ids is None else key_block_ids
    for name, ids in {"block_ids": block_ids, "key_block_ids": key_block_ids}.items():
        _integers(name, ids)
        checks.dims(name, ids, 1, "(..., length)")
    checks.same_device(block_ids=block_ids, key_block_ids=key_block_ids)
    return block_ids[..., :, None] == key_block_ids[..., None, :]  # (..., L, S)


def from_torch_padding(key_padding_mask: Tensor) -> Tensor:
    """Convert `nn.MultiheadAttention`'s `key_padding_mask` (B, S), where True means *ignore*.

    Returns a mask (B, 1, S) in which True means "may attend".

    Raises:
        TypeError: the mask is not boolean.
        ValueError: it is not two-dimensional.

    Example:
        >>> from_torch_padding(torch.tensor([[False, False, True]]))
        tensor([[[ True,  True, False]]])
    """
    checks.boolean("key_padding_mask", key_padding_mask)
    if key_padding_mask.dim() != 2:
        checks.fail("key_padding_mask", "shape (B, S)", f"shape {checks.shape(key_padding_mask)}")
    return ~key_padding_mask[:, None]  # (B, 1, S)


def from_torch_attention(attn_mask: Tensor) -> Tensor:
    """Convert `nn.MultiheadAttention`'s boolean `attn_mask`, where True means *not allowed*.

    The boolean `attn_mask` of `F.scaled_dot_product_attention` has the opposite meaning and needs
    no conversion. A float `attn_mask` is a bias: pass it as `bias=`.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: it has fewer than two dimensions.

    Example:
        >>> from_torch_attention(torch.ones(2, 2).triu(1).bool())
        tensor([[ True, False],
                [ True,  True]])
    """
    checks.boolean("attn_mask", attn_mask)
    checks.dims("attn_mask", attn_mask, 2, "(..., L, S)")
    return ~attn_mask  # (..., L, S)


def _aligned(query_len: int, key_len: int | None, offset: int | None) -> tuple[int, int, int]:
    query_len = checks.integer("query_len", query_len, minimum=0)
    key_len = query_len if key_len is None else checks.integer("key_len", key_len, minimum=0)
    if offset is None and query_len != key_len:
        checks.fail(
            "offset",
            f"an int when query_len ({query_len}) and key_len ({key_len}) differ: 0 aligns the "
            f"first query with the first key, key_len - query_len = {key_len - query_len} the "
            "last query with the last key",
            "None",
        )
    return query_len, key_len, 0 if offset is None else checks.integer("offset", offset)


def _ones(query_len: int, key_len: int, device: torch.device | str | None) -> Tensor:
    # Cut in place with tril_ and triu_, this is six times faster than comparing places.
    return torch.ones(query_len, key_len, dtype=torch.bool, device=device)  # (L, S)


def _as_lengths(lengths: Tensor | Sequence[int]) -> Tensor:
    if isinstance(lengths, np.ndarray):
        lengths = torch.tensor(lengths)
    if not isinstance(lengths, Tensor):
        if isinstance(lengths, str | bytes) or not isinstance(lengths, Sequence):
            checks.fail("lengths", "a tensor or a sequence of ints", repr(lengths), TypeError)
        lengths = [checks.integer(f"lengths[{n}]", length) for n, length in enumerate(lengths)]
        lengths = torch.tensor(lengths, dtype=torch.long)
    if lengths.dtype == torch.bool and lengths.dim() == 2:
        expected = (
            "an integer tensor (a boolean (B, S), True = real, is itself the mask: [:, None])"
        )
        checks.fail("lengths", expected, "torch.bool", TypeError)
    _integers("lengths", lengths)
    if lengths.dim() != 1:
        checks.fail("lengths", "shape (B,)", f"shape {checks.shape(lengths)}")
    return lengths


def _integers(name: str, value: Tensor) -> Tensor:
    checks.tensor(name, value)
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        checks.fail(name, "an integer tensor", str(value.dtype), TypeError)
    return value
