"""Sliding-window attention that computes only the scores inside its window.

Child et al. (2019), "Generating long sequences with sparse transformers", and Beltagy et al.
(2020), "Longformer": a query that sees w keys costs w scores, so L queries cost L * w rather than
L * L. A mask alone saves nothing. Here the queries are taken in blocks, and each block meets only
the keys that one of its queries may see; on a GPU, PyTorch's FlexAttention does the same in a
kernel.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from attnkit.call import Attended, Call, check
from attnkit.efficient.key_ranges import KeyRanges, joined, key_ranges, keys_alone, part_of, zeros
from attnkit.guard import checks
from attnkit.guard.dtypes import values_unavailable, without_autocast

# Queries of a block: with fewer, calls cost more than work; with more, hidden keys are read.
MIN_ROWS, MAX_ROWS = 64, 512
# Up to this many queries the masked full form is as fast: what it wastes still fits the cache.
SHORT = 512
BACKENDS = ("auto", "blocks", "flex")


def sliding_window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    window: int,
    causal: bool = True,
    offset: int | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    need_weights: bool = False,
    backend: str = "auto",
) -> Attended:
    """Attend to the keys near each query's own place, in time and memory linear in the length.

    Equal to `scaled_dot_product_attention` with `masks.sliding_window`, and `window` counts as it
    does there: the query's own key included, 2 * window - 1 keys in all without `causal`.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        window: keys that a query sees, at least 1.
        causal: False to look ahead as well.
        offset: the key at query i's own place is i + offset; required when L != S.
        mask: boolean, broadcastable to (..., L, S), on top of the window. A mask of the keys alone,
            (..., 1, S), keeps the memory linear.
        scale: factor of the scores; 1/sqrt(E) when omitted.
        enable_gqa: grouped heads in dimension -3, as in `scaled_dot_product_attention`.
        need_weights: return the weights (..., L, S), zeros included: that is quadratic again.
        backend: "blocks" runs anywhere; "flex" is FlexAttention, which takes a mask of the keys
            alone, and compiled at least 16 features; "auto" takes flex on a GPU where it can.

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights or None.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes, devices, heads or lengths do not fit, or `window` is below 1.

    Example:
        >>> import torch
        >>> from attnkit import masks, scaled_dot_product_attention
        >>> query, key, value = torch.randn(3, 2, 300, 16).unbind()
        >>> near = sliding_window_attention(query, key, value, window=10).output
        >>> mask = masks.sliding_window(300, window=10)
        >>> full = scaled_dot_product_attention(query, key, value, mask=mask).output
        >>> torch.allclose(near, full, atol=1e-5)
        True
    """
    checks.integer("window", window, minimum=1)
    checks.choice("backend", backend, BACKENDS)
    target, mask, scale = check(
        query, key, value,
        mask=mask, scale=scale, enable_gqa=enable_gqa, need_weights=need_weights,
    )  # fmt: skip
    length, keys = target[-2:]
    ranges = key_ranges(
        length, keys, causal=causal, window=window, offset=offset, device=query.device
    )
    call = Call(query, key, value, mask, lead=target[:-2], ranges=ranges, grouped=enable_gqa)
    short = (backend == "auto" and length <= SHORT) or 0 in target
    if need_weights or short or values_unavailable(query):  # all scores, and a mask (L, S)
        return call.finish(*call.dot_product(scale, need_weights=need_weights))
    with without_autocast(query):
        # Of fewer features compiled FlexAttention has no kernel.
        fits = query.is_cuda and keys_alone(mask) and min(query.shape[-1], value.shape[-1]) >= 16
        if backend == "flex" or (backend == "auto" and fits):
            output = _flex(call, scale)
        else:
            output = _in_blocks(call, scale, _rows(length, window))
    call.record(output, None, lambda: call.dot_scores(scale))
    return call.finish(output)


def _in_blocks(call: Call, scale: float, block_rows: int) -> Tensor:
    """Blocks of queries, each against the one range of keys that its queries see."""
    queries, outputs = call.query.split(block_rows, -2), []
    rows = [slice(n * block_rows, (n + 1) * block_rows) for n in range(len(queries))]
    ranges = [call.ranges.rows(block) for block in rows]
    spans = [block.span() for block in ranges]
    cuts = sorted({0, call.key.shape[-2]}.union(*((span.start, span.stop) for span in spans)))
    number = {cut: n for n, cut in enumerate(cuts)}
    sizes = [end - begin for begin, end in pairwise(cuts)] or [0]
    keys, values = call.key.split(sizes, -2), call.value.split(sizes, -2)
    for block, visible, span, query in zip(rows, ranges, spans, queries, strict=True):
        if span.start == span.stop:
            outputs.append(zeros(call, query))
            continue
        near = None if visible.covers(span) else visible.mask(span)  # (l, s)
        if call.mask is not None:
            part = part_of(call.mask, block, span)
            near = part if near is None else near & part
        pieces = range(number[span.start], number[span.stop])
        key, value = joined(keys, pieces), joined(values, pieces)
        outputs.append(call.part(query, key, value, near).fused(scale))
    return torch.cat(outputs, -2) if len(outputs) > 1 else outputs[0]


def _flex(call: Call, scale: float) -> Tensor:
    """FlexAttention, which skips whole blocks by a `BlockMask` and masks within the others."""
    mask, ranges, lead = call.mask, call.ranges, call.lead
    if not keys_alone(mask):
        checks.fail("mask", "shape (..., 1, S) with backend='flex'", f"{checks.shape(mask)}")
    heads = lead[-1] if len(lead) > 1 else 1
    batch = math.prod(lead) // heads
    four = [
        (x if call.grouped else x.expand(*lead, *x.shape[-2:])).reshape(batch, -1, *x.shape[-2:])
        for x in (call.query, call.key, call.value)
    ]
    keep = None if mask is None else mask.expand(*lead, 1, ranges.keys).reshape(batch, heads, -1)
    block_mask = _shared(ranges) if keep is None else _block_mask(ranges, keep)
    output = _flex_attention(ranges.device.type)(
        *four, block_mask=block_mask, scale=scale, enable_gqa=call.grouped
    )
    return output.reshape(*lead, *output.shape[-2:])


def _block_mask(ranges: KeyRanges, keep: Tensor | None = None) -> object:
    from torch.nn.attention.flex_attention import create_block_mask

    def visible(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        near = (k >= q + ranges.low) & (k < q + ranges.high)
        return near if keep is None else near & keep[b, h, k]

    lead = (None, None) if keep is None else keep.shape[:2]
    with torch.inference_mode(False):  # or a later backward pass could not use a kept one
        return create_block_mask(visible, *lead, *ranges[:2], device=str(ranges.device))


# Making one takes a GPU 40 times as long as attention with it (benchmarks/long.py).
_shared = lru_cache(maxsize=16)(_block_mask)


@lru_cache
def _flex_attention(device: str) -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    # Only compiled does it skip anything; where there is no GPU it serves as a check of the mask.
    return torch.compile(flex_attention) if device == "cuda" else flex_attention


def _rows(length: int, window: int) -> int:
    """Queries of a block: about the window, so that a block reads at most twice what it needs."""
    return max(1, min(length, max(MIN_ROWS, min(MAX_ROWS, window))))
