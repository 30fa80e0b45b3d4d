r"""Softmax attention without the (..., L, S) tensor, forward and backward.

Dao et al. (2022), "FlashAttention: fast and memory-efficient exact attention with IO-awareness".
The forward pass reads the keys block by block with the running maximum and sum of
`online_softmax`, and keeps the output and one logsumexp for each query. The backward pass makes
each block of weights anew from it (algorithm 4):

.. math::

    P = e^{S - \mathrm{logsumexp}}, \quad dV = P^\top dO, \quad dP = dO\, V^\top, \quad
    dS = P \circ (dP - \mathrm{rowsum}(dO \circ O))

Blocks that a causal mask, a window or a boolean mask hides altogether are never worked on. This is
PyTorch, to be read and run anywhere; on a GPU with Triton, `triton_flash` is the same in a kernel.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit import checks
from attnkit.efficient import triton as kernels
from attnkit.efficient.key_ranges import Spans, set_aside, spans, whole_mask
from attnkit.efficient.online_softmax import finish, finite_or_zero, start, update
from attnkit.functional import Attended, _check_sdpa, scaled_dot_product_attention
from attnkit.numerics import HALF, as_autocast
from attnkit.trace import watching

# Queries and keys of a block. On a CPU these keep a block of one head's scores in cache.
ROWS, KEYS = 128, 512
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
        offset: how far the keys run ahead of the queries. Demanded with `causal` or `window` when
            L != S.
        scale: factor of the scores; 1/sqrt(E) when left out.
        enable_gqa: grouped heads in dimension -3, as in `scaled_dot_product_attention`.
        need_weights: return the weights (..., L, S) as well, which then are held in memory.

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
    target = _check_sdpa(query, key, value, scale, 0.0, enable_gqa, need_weights)
    if mask is not None:
        checks.mask(mask, target, device=query.device)
    options = {"causal": causal, "window": window, "offset": offset}
    heads = {"scale": scale, "enable_gqa": enable_gqa}
    short = query.is_cpu and target[-2] * target[-1] <= SHORT**2
    whole = None
    if need_weights or short or watching():
        whole = whole_mask(mask, spans(*target[-2:], **options, device=query.device), target[-1])
    if need_weights or short:
        return scaled_dot_product_attention(
            query, key, value, mask=whole, need_weights=need_weights, **heads
        )
    if watching():
        with torch.no_grad():
            scaled_dot_product_attention(query, key, value, mask=whole, need_weights=True, **heads)
    result = flash_with_logsumexp(query, key, value, mask=mask, **options, **heads)
    return Attended(result.output, None)


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
    exp(score - logsumexp). It is -inf for a query that sees nothing. Gradients flow through both.

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
    target = _check_sdpa(query, key, value, scale, 0.0, enable_gqa, False)
    length, keys = target[-2:]
    seen = spans(length, keys, causal=causal, window=window, offset=offset, device=query.device)
    if mask is not None:
        checks.mask(mask, target, device=query.device)
        mask = mask.expand(*mask.shape[:-2], length, keys)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    query, key, value = as_autocast(query, key, value)
    key, value, spoiled = set_aside(key, value, mask, seen, target)

    with torch.autocast(query.device.type, enabled=False):
        kernel = kernels.find("flash", query, key, value) if mask is None else None
        if kernel is not None:
            lead = None if enable_gqa else target[:-2]
            output, logsumexp = kernel.attend(
                *(_four_dims(x, lead) for x in (query, key, value)),
                scale=scale,
                causal=causal,
                window=window,
                offset=offset or 0,
            )
        else:
            if enable_gqa:
                query, key, value, mask = _grouped(query, key, value, mask, target)
            lead = checks.leading_dims(query=query, key=key, value=value)
            query, key, value = (x.expand(*lead, *x.shape[-2:]) for x in (query, key, value))
            output, logsumexp = _Flash.apply(query, key, value, mask, seen, scale)
    output = output.reshape(*target[:-1], value.shape[-1])
    if spoiled is not None:
        output = output.masked_fill(spoiled, math.nan)
    return Flash(output, logsumexp.reshape(target[:-1]))


class _Flash(torch.autograd.Function):
    """Output (..., L, Ev) and logsumexp (..., L) of tensors with the same leading dimensions."""

    @staticmethod
    def forward(ctx, query, key, value, mask, seen, scale) -> tuple[Tensor, Tensor]:
        wide = torch.float32 if query.dtype in HALF else query.dtype
        output = value.new_zeros(*query.shape[:-1], value.shape[-1])
        logsumexp = query.new_full(query.shape[:-1], -math.inf, dtype=wide)
        for rows, blocks in _blocks(query, key, mask, seen):
            some = query[..., rows, :].to(wide) * scale
            running = start(some, value[..., :0, :].to(wide))
            for keys in blocks:
                scores = some @ key[..., keys, :].to(wide).mT  # (..., l, s)
                _hide(scores, mask, seen, rows, keys, -math.inf)
                running = update(running, scores, value[..., keys, :].to(wide))
            finished = finish(running)
            output[..., rows, :], logsumexp[..., rows] = finished[0].to(output.dtype), finished[1]
        ctx.save_for_backward(query, key, value, mask, output, logsumexp)
        ctx.seen, ctx.scale = seen, scale
        return output, logsumexp

    @staticmethod
    def backward(ctx, grad, grad_logsumexp) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise NotImplementedError(
                "flash_attention: expected to be differentiated once, got create_graph=True; "
                "scaled_dot_product_attention with need_weights=True can be differentiated again"
            )
        query, key, value, mask, output, logsumexp = ctx.saved_tensors
        scale, wide = ctx.scale, logsumexp.dtype
        delta = (grad.to(wide) * output).sum(-1) - grad_logsumexp  # (..., L)
        base = finite_or_zero(logsumexp)
        grads = [torch.zeros_like(x, dtype=wide) for x in (query, key, value)]
        for rows, blocks in _blocks(query, key, mask, ctx.seen):
            some, some_grad = query[..., rows, :].to(wide) * scale, grad[..., rows, :].to(wide)
            for keys in blocks:
                some_key, some_value = key[..., keys, :].to(wide), value[..., keys, :].to(wide)
                weights = (some @ some_key.mT).sub_(base[..., rows, None]).exp_()  # (..., l, s)
                _hide(weights, mask, ctx.seen, rows, keys, 0.0)
                grads[2][..., keys, :] += weights.mT @ some_grad
                slope = (some_grad @ some_value.mT).sub_(delta[..., rows, None]).mul_(weights)
                grads[0][..., rows, :] += slope @ some_key
                grads[1][..., keys, :] += slope.mT @ some
        grads[0] *= scale
        same = zip(grads, (query, key, value), strict=True)
        return *(x.to(like.dtype) for x, like in same), None, None, None


def _blocks(
    query: Tensor, key: Tensor, mask: Tensor | None, seen: Spans | None
) -> Iterator[tuple[slice, Iterator[slice]]]:
    """Each block of queries, with the blocks of keys that any of them may see."""
    for begin in range(0, query.shape[-2], ROWS):
        rows = slice(begin, min(begin + ROWS, query.shape[-2]))
        span = slice(0, key.shape[-2]) if seen is None else seen.rows(rows).span()
        if mask is not None and span.start < span.stop:
            span = _visible(mask[..., rows, :], span)
        starts = range(span.start, span.stop, KEYS)
        yield rows, (slice(first, min(first + KEYS, span.stop)) for first in starts)


def _visible(mask: Tensor, span: slice) -> slice:
    """The part of `span` from the first key that any query of the mask sees to the last."""
    places = mask.flatten(0, -2).any(0)[span].nonzero()
    if not len(places):
        return slice(0, 0)
    return slice(span.start + int(places[0]), span.start + int(places[-1]) + 1)


def _hide(
    scores: Tensor, mask: Tensor | None, seen: Spans | None, rows: slice, keys: slice, fill: float
) -> None:
    """Write `fill` where a query may not see a key, in place."""
    if mask is not None:
        scores.masked_fill_(~mask[..., rows, keys], fill)
    if seen is not None and not (some := seen.rows(rows)).covers(keys):
        scores.masked_fill_(~some.mask(keys), fill)


def _four_dims(x: Tensor, lead: tuple[int, ...] | None) -> Tensor:
    """(B, H, length, features), whatever the leading dimensions were; None keeps their sizes."""
    if lead is not None:
        x = x.expand(*lead, *x.shape[-2:])
    return x.flatten(0, -4) if x.dim() > 3 else x[(None,) * (4 - x.dim())]


def _grouped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, target: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Give query and mask their groups as a dimension (..., H_kv, H / H_kv, L, E)."""
    kv_heads = key.shape[-3]
    query = query.unflatten(-3, (kv_heads, -1))
    if mask is not None and mask.dim() > 2:
        shared = mask.shape[-3] == 1
        mask = mask.unsqueeze(-3) if shared else mask.unflatten(-3, (kv_heads, -1))
    return query, key.unsqueeze(-3), value.unsqueeze(-3), mask
