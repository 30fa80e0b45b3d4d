r"""Softmax attention without the (..., L, S) tensor, forward and backward.

Dao et al. (2022), "FlashAttention: fast and memory-efficient exact attention with IO-awareness".
The forward pass reads the keys block by block with the running maximum and sum of
`online_softmax`, and keeps the output and one logsumexp for each query. The backward pass makes
each block of weights anew from it (algorithm 4):

.. math::

    P = e^{S - \mathrm{logsumexp}}, \quad dV = P^\top dO, \quad dP = dO\, V^\top, \quad
    dS = P \circ (dP - \mathrm{rowsum}(dO \circ O))

Blocks that a causal mask, a window or a boolean mask hides entirely are skipped. This is PyTorch,
to be read and run anywhere. On a GPU the kernel behind `scaled_dot_product_attention` is faster.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.call import Attended, Call, check
from attnkit.efficient.key_ranges import KeyRanges, key_ranges
from attnkit.efficient.online_softmax import finish, finite_or_zero, start, update
from attnkit.guard.dtypes import HALF, values_unavailable, without_autocast

# Queries and keys of a block. On a CPU these keep a block of one head's scores in cache; elsewhere
# blocks are larger, since each costs a dozen launches.
ROWS, KEYS, LARGER = 128, 512, 8
# Up to so many queries and keys the plain form is faster on a CPU: its scores fit the cache.
SHORT = 512


class Flash(NamedTuple):
    """Output (..., L, Ev), and the logsumexp (..., L) of each query's visible scores."""

    output: Tensor
    logsumexp: Tensor


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    offset: int | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    need_weights: bool = False,
) -> Attended:
    """Equal to `scaled_dot_product_attention`, in memory linear in the lengths.

    Short sequences on a CPU run in the plain form, which is faster there.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend. It comes on
            top of `causal` and `window`, which need no tensor.
        causal: query i sees key j only when j <= i + offset, as in `masks.causal`.
        window: query i sees only the `window` keys that end at its own, i + offset; without
            `causal` as many on the other side too, as in `masks.sliding_window`.
        offset: how far the keys run ahead of the queries. Required with `causal` or `window` when
            L != S.
        scale: factor of the scores; 1/sqrt(E) when omitted.
        enable_gqa: grouped heads in dimension -3, as in `scaled_dot_product_attention`.
        need_weights: return the weights (..., L, S) as well (allocates L x S).

    Returns:
        `Attended(output, weights)`. A second derivative raises an error in the tiled form.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes, devices, heads or lengths do not fit.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 2, 300, 16).unbind()
        >>> output = flash_attention(query, key, value, causal=True).output
        >>> expected = torch.nn.functional.scaled_dot_product_attention(
        ...     query, key, value, is_causal=True)
        >>> torch.allclose(output, expected, atol=1e-5)
        True
    """
    options = {"causal": causal, "window": window, "offset": offset}
    call, scale = _open(query, key, value, mask, options, scale, enable_gqa, need_weights)
    plain = need_weights or values_unavailable(query)  # before a length is read
    if plain or (query.is_cpu and query.shape[-2] * key.shape[-2] <= SHORT**2):
        return call.finish(*call.dot_product(scale, need_weights=need_weights))
    output, _ = _blockwise(call, scale)
    call.record(output, None, lambda: call.dot_scores(scale))
    return call.finish(output)


def flash_with_logsumexp(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    offset: int | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Flash:
    """`flash_attention`, returning also the logsumexp (..., L), float32 or wider.

    With it the results for two sets of keys can be joined, and the weights be made anew:
    exp(score - logsumexp). It is -inf for a fully masked query. Gradients flow through both.

    Raises:
        TypeError, ValueError: as `flash_attention`.

    Example:
        >>> import torch
        >>> query, key = torch.randn(5, 8), torch.randn(7, 8)
        >>> output, logsumexp = flash_with_logsumexp(query, key, key)
        >>> scores = query @ key.T / 8**0.5
        >>> torch.allclose(logsumexp, scores.logsumexp(-1), atol=1e-5)
        True
    """
    options = {"causal": causal, "window": window, "offset": offset}
    call, scale = _open(query, key, value, mask, options, scale, enable_gqa)
    output, logsumexp = _blockwise(call, scale)
    return Flash(call.finish(output).output, logsumexp)


def _open(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    options: dict[str, object],
    scale: float | None,
    enable_gqa: bool,
    need_weights: bool = False,
) -> tuple[Call, float]:
    """Check the arguments; return the call and the scale."""
    target, mask, scale = check(
        query, key, value,
        mask=mask, scale=scale, enable_gqa=enable_gqa, need_weights=need_weights,
    )  # fmt: skip
    ranges = key_ranges(*target[-2:], **options, device=query.device)
    lead = target[:-2]
    return Call(query, key, value, mask, lead=lead, ranges=ranges, grouped=enable_gqa), scale


def _blockwise(call: Call, scale: float) -> tuple[Tensor, Tensor]:
    """Output (..., L, Ev) and logsumexp (..., L), block by block."""
    query, key, value, mask = call.query, call.key, call.value, call.mask
    length, keys, lead = query.shape[-2], key.shape[-2], call.lead
    mask = mask if mask is None else mask.expand(*mask.shape[:-2], length, keys)
    if call.grouped:
        query, key, value, mask = _grouped(query, key, value, mask)
        lead = query.shape[:-2]
    query, key, value = (x.expand(*lead, *x.shape[-2:]) for x in (query, key, value))
    with without_autocast(query):
        output, logsumexp = _Flash.apply(query, key, value, mask, call.ranges, scale)
    rows = (*call.lead, length)
    return output.reshape(*rows, value.shape[-1]), logsumexp.reshape(rows)


class _Flash(torch.autograd.Function):
    """Output (..., L, Ev) and logsumexp (..., L) of tensors with the same leading dimensions."""

    @staticmethod
    def forward(ctx, query, key, value, mask, ranges, scale) -> tuple[Tensor, Tensor]:
        wide = torch.float32 if query.dtype in HALF else query.dtype
        output = value.new_zeros(*query.shape[:-1], value.shape[-1])
        logsumexp = query.new_full(query.shape[:-1], -math.inf, dtype=wide)
        for rows, blocks in _blocks(query, key, mask, ranges):
            block = query[..., rows, :].to(wide) * scale
            running = start(block, value[..., :0, :].to(wide))
            for keys in blocks:
                scores = block @ key[..., keys, :].to(wide).mT  # (..., l, s)
                _hide(scores, mask, ranges, rows, keys, -math.inf)
                running = update(running, scores, value[..., keys, :].to(wide))
            finished = finish(running)
            output[..., rows, :], logsumexp[..., rows] = finished[0].to(output.dtype), finished[1]
        ctx.save_for_backward(query, key, value, mask, output, logsumexp)
        ctx.ranges, ctx.scale = ranges, scale
        return output, logsumexp

    @staticmethod
    def backward(ctx, grad, grad_logsumexp) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise NotImplementedError(
                "flash_attention: does not support create_graph=True; "
                "scaled_dot_product_attention with need_weights=True does"
            )
        query, key, value, mask, output, logsumexp = ctx.saved_tensors
        scale, wide = ctx.scale, logsumexp.dtype
        delta = (grad.to(wide) * output).sum(-1) - grad_logsumexp  # (..., L)
        base = finite_or_zero(logsumexp)
        grads = [torch.zeros_like(x, dtype=wide) for x in (query, key, value)]
        for rows, blocks in _blocks(query, key, mask, ctx.ranges):
            block, block_grad = query[..., rows, :].to(wide) * scale, grad[..., rows, :].to(wide)
            for keys in blocks:
                block_key, block_value = key[..., keys, :].to(wide), value[..., keys, :].to(wide)
                weights = (block @ block_key.mT).sub_(base[..., rows, None]).exp_()  # (..., l, s)
                _hide(weights, mask, ctx.ranges, rows, keys, 0.0)
                grads[2][..., keys, :] += weights.mT @ block_grad
                slope = (block_grad @ block_value.mT).sub_(delta[..., rows, None]).mul_(weights)
                grads[0][..., rows, :] += slope @ block_key
                grads[1][..., keys, :] += slope.mT @ block
        grads[0] *= scale
        same = zip(grads, (query, key, value), strict=True)
        return *(x.to(like.dtype) for x, like in same), None, None, None


def _blocks(
    query: Tensor, key: Tensor, mask: Tensor | None, ranges: KeyRanges | None
) -> Iterator[tuple[slice, Iterator[slice]]]:
    """Each block of queries, with the blocks of keys that any of them may see."""
    tall, wide = (side if query.is_cpu else LARGER * side for side in (ROWS, KEYS))
    for begin in range(0, query.shape[-2], tall):
        rows = slice(begin, min(begin + tall, query.shape[-2]))
        span = slice(0, key.shape[-2]) if ranges is None else ranges.rows(rows).span()
        if mask is not None and span.start < span.stop:
            span = _visible_part(mask[..., rows, :], span)
        starts = range(span.start, span.stop, wide)
        yield rows, (slice(first, min(first + wide, span.stop)) for first in starts)


def _visible_part(mask: Tensor, span: slice) -> slice:
    """The part of `span` from the first key that any query of the mask sees to the last."""
    visible = mask.flatten(0, -2).any(0)[span].nonzero()
    if not len(visible):
        return slice(0, 0)
    return slice(span.start + int(visible[0]), span.start + int(visible[-1]) + 1)


def _hide(
    scores: Tensor,
    mask: Tensor | None,
    ranges: KeyRanges | None,
    rows: slice,
    keys: slice,
    fill: float,
) -> None:
    """Write `fill` where a query may not see a key, in place."""
    if mask is not None:
        scores.masked_fill_(~mask[..., rows, keys], fill)
    if ranges is not None and not (block := ranges.rows(rows)).covers(keys):
        scores.masked_fill_(~block.mask(keys), fill)


def _grouped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Give query and mask their groups as a dimension (..., H_kv, H / H_kv, L, E)."""
    kv_heads = key.shape[-3]
    query = query.unflatten(-3, (kv_heads, -1))
    if mask is not None and mask.dim() > 2:
        shared = mask.shape[-3] == 1
        mask = mask.unsqueeze(-3) if shared else mask.unflatten(-3, (kv_heads, -1))
    return query, key.unsqueeze(-3), value.unsqueeze(-3), mask
