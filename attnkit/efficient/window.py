"""Sliding-window attention that does only the work that its window asks for.

Child et al. (2019), "Generating long sequences with sparse transformers", and Beltagy et al.
(2020), "Longformer": a query that sees w keys costs w scores, so L queries cost L * w rather than
L * L. A mask alone saves nothing. Here the queries are taken in blocks, and each block meets only
the keys that one of its queries may see; on a GPU, PyTorch's FlexAttention does the same in a
kernel.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise

import torch
from torch import Tensor

from attnkit import checks, masks
from attnkit.efficient.key_ranges import Spans, joined, keys_alone, part_of, set_aside, spans
from attnkit.functional import Attended, _check_sdpa, scaled_dot_product_attention
from attnkit.numerics import as_autocast
from attnkit.trace import unobserved, watching

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
        offset: the key at query i's own place is i + offset; demanded when L != S.
        mask: boolean, broadcastable to (..., L, S), on top of the window. A mask of the keys alone,
            (..., 1, S), keeps the memory linear.
        scale: factor of the scores; 1/sqrt(E) when left out.
        enable_gqa: grouped heads in dimension -3, as in `scaled_dot_product_attention`.
        need_weights: return the weights (..., L, S), zeros included: that is quadratic again.
        backend: "blocks" runs anywhere; "flex" is FlexAttention, which takes a mask of the keys
            alone; "auto" takes flex on a GPU where it can.

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
    checks.dims("query", checks.tensor("query", query), 2, "(..., L, E)")
    checks.dims("key", checks.tensor("key", key), 2, "(..., S, E)")
    length, keys = query.shape[-2], key.shape[-2]
    options = {"scale": scale, "enable_gqa": enable_gqa}
    place = {"causal": causal, "window": window, "offset": offset, "device": query.device}
    target = None
    if mask is not None:
        target = _check_sdpa(query, key, value, scale, 0.0, enable_gqa, need_weights)
        checks.mask(mask, target, device=query.device)
    whole = partial(_whole, query, key, value, mask, place, options)
    if need_weights or (backend == "auto" and length <= SHORT):
        return whole(need_weights)
    target = target or _check_sdpa(query, key, value, scale, 0.0, enable_gqa, need_weights)
    seen = spans(length, keys, **place)
    if watching():
        with torch.no_grad():
            whole(True)
    if backend == "flex" or (backend == "auto" and query.is_cuda and keys_alone(mask)):
        return Attended(_flex(query, key, value, mask, seen, target, options), None)
    with unobserved():
        output = _in_blocks(query, key, value, mask, seen, _rows(length, window), options)
    return Attended(output, None)


def _whole(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    place: dict[str, object],
    options: dict[str, object],
    need_weights: bool,
) -> Attended:
    """The plain form: all scores, and a mask."""
    near = masks.sliding_window(query.shape[-2], key.shape[-2], **place)  # (L, S)
    near = near if mask is None else near & mask
    return scaled_dot_product_attention(
        query, key, value, mask=near, need_weights=need_weights, **options
    )


def _in_blocks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    seen: Spans,
    block_rows: int,
    options: dict[str, object],
) -> Tensor:
    """Blocks of queries, each against the one stretch of keys that its queries see."""
    queries, outputs = query.split(block_rows, -2), []
    rows = [slice(n * block_rows, (n + 1) * block_rows) for n in range(len(queries))]
    seen_by = [seen.rows(block) for block in rows]
    stretches = [block.span() for block in seen_by]
    cuts = sorted({0, key.shape[-2]}.union(*((span.start, span.stop) for span in stretches)))
    number = {cut: n for n, cut in enumerate(cuts)}
    sizes = [end - begin for begin, end in pairwise(cuts)] or [0]
    keys, values = key.split(sizes, -2), value.split(sizes, -2)
    for some, block, visible, span in zip(queries, rows, seen_by, stretches, strict=True):
        near = None if visible.covers(span) else visible.mask(span)  # (l, s)
        if mask is not None:
            part = part_of(mask, block, span)
            near = part if near is None else near & part
        pieces = range(number[span.start], number[span.stop])
        outputs.append(
            scaled_dot_product_attention(
                some, joined(keys, pieces), joined(values, pieces), mask=near, **options
            ).output
        )
    return torch.cat(outputs, -2) if len(outputs) > 1 else outputs[0]


def _flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    seen: Spans,
    target: tuple[int, ...],
    options: dict[str, object],
) -> Tensor:
    """FlexAttention, which skips whole blocks by a `BlockMask` and masks within the others."""
    from torch.nn.attention.flex_attention import create_block_mask

    if not keys_alone(mask):
        checks.fail("mask", "shape (..., 1, S) with backend='flex'", f"{checks.shape(mask)}")
    query, key, value = as_autocast(query, key, value)
    key, value, spoiled = set_aside(key, value, mask, seen, target)
    *lead, length, keys = target
    heads = lead[-1] if len(lead) > 1 else 1
    batch = math.prod(lead) // max(1, heads)
    shapes = [query.shape, key.shape, value.shape]
    if not options["enable_gqa"]:
        shapes = [(*lead, *shape[-2:]) for shape in shapes]
    four = [
        x.expand(shape).reshape(batch, -1, *shape[-2:])
        for x, shape in zip((query, key, value), shapes, strict=True)
    ]
    keep = torch.ones((), dtype=torch.bool, device=query.device) if mask is None else mask
    keep = keep.expand(*lead, 1, keys).reshape(batch, heads, keys)

    def visible(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (k >= seen.first[q]) & (k < seen.last[q]) & keep[b, h, k]

    shared = mask is None
    block_mask = create_block_mask(
        visible, None if shared else batch, None if shared else heads, length, keys,
        device=query.device.type,
    )  # fmt: skip
    output = _flex_attention(query.device.type)(
        *four, block_mask=block_mask, scale=options["scale"], enable_gqa=options["enable_gqa"]
    )
    output = output.reshape(*lead, *output.shape[-2:])
    return output if spoiled is None else output.masked_fill(spoiled, math.nan)


@lru_cache
def _flex_attention(device: str) -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    # Only compiled does it skip anything; where there is no GPU it serves as a check of the mask.
    return torch.compile(flex_attention) if device == "cuda" else flex_attention


def _rows(length: int, window: int) -> int:
    """Queries of a block: about the window, so that a block reads at most twice what it needs."""
    return max(1, min(length, max(MIN_ROWS, min(MAX_ROWS, window))))
