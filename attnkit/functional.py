"""Attention as functions: scores, the masked softmax, and the two together.

Shapes: L queries, S keys, E features of query and key, Ev features of a value, A hidden features,
`...` leading dimensions that broadcast. Masks are boolean and True means "may attend".
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import checks
from attnkit.numerics import (
    as_autocast,
    narrow,
    seeing,
    set_aside_nonfinite,
    widen,
    without_autocast,
)
from attnkit.scores import additive_scores, concat_scores, dot_scores, general_scores
from attnkit.trace import observe, watching

__all__ = [
    "Attended",
    "additive_scores",
    "attend",
    "concat_scores",
    "dot_scores",
    "general_scores",
    "masked_softmax",
    "scaled_dot_product_attention",
]


class Attended(NamedTuple):
    """What every mechanism returns: `output` (..., L, Ev), and `weights` (..., L, S) or None."""

    output: Tensor
    weights: Tensor | None


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Softmax over the last dimension, among the keys that the mask lets through.

    .. math:: w_j = \frac{m_j\, e^{s_j}}{\sum_k m_k\, e^{s_k}}

    Masked places get weight 0, whatever their score (NaN and Inf included), and gradient 0. A row
    with nothing to see gets weights 0 and finite gradients. The softmax runs in at least float32;
    the result has the dtype of `scores`.

    Args:
        scores: (..., L, S), floating.
        mask: boolean, broadcastable to `scores`; True where the query may attend.

    Raises:
        TypeError: `scores` is not floating, or `mask` is not boolean.
        ValueError: `mask` does not broadcast to `scores`, or is on another device.

    Example:
        >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False] * 3]))
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000]])
    """
    checks.floating("scores", scores)
    checks.dims("scores", scores, 1, "(..., S)")
    if mask is not None:
        checks.mask(mask, scores.shape, device=scores.device)
    return _softmax(scores, mask)


def _softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    (wide,) = widen(scores)
    if mask is None:
        return narrow(wide.softmax(-1), scores.dtype)
    hidden = ~mask
    if _no_empty_row(mask):
        weights = wide.masked_fill(hidden, -math.inf).softmax(-1)
        if not weights.requires_grad:
            return narrow(weights, scores.dtype)
    else:
        # An empty row holds zeros, since the softmax of -inf alone is NaN, and a NaN that is masked
        # afterwards would still stop autograd's anomaly detection.
        some = seeing(mask)
        fill = torch.zeros_like(some, dtype=wide.dtype).masked_fill(some, -math.inf)
        weights = torch.where(mask, wide, fill).softmax(-1)
    # In a row that is not empty these are zeros already; but a gradient that is NaN stops here.
    return narrow(weights.masked_fill(hidden, 0.0), scores.dtype)


def _no_empty_row(mask: Tensor) -> bool:
    # Asking is cheaper than a pass over all weights; elsewhere it would stall or not compile.
    return mask.is_cpu and not torch.compiler.is_compiling() and bool(seeing(mask).all())


def attend(
    scores: Tensor, value: Tensor, *, mask: Tensor | None = None, dropout_p: float = 0.0
) -> Attended:
    """Turn scores into weights and average the values with them.

    scores (..., L, S), value (..., S, Ev) -> output (..., L, Ev), weights (..., L, S). The weights
    come back before dropout. A mechanism is its scores, followed by this.

    Raises:
        TypeError: an input is not floating, or `mask` is not boolean.
        ValueError: `mask` does not broadcast to `scores`, `value` has not one row for each score,
            or `dropout_p` is not a probability.

    Example:
        >>> scores, value = torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[2.0], [4.0], [100.0]])
        >>> attend(scores, value, mask=torch.tensor([True, True, False]))
        Attended(output=tensor([[3.]]), weights=tensor([[0.5000, 0.5000, 0.0000]]))
    """
    checks.floating("scores", scores)
    checks.dims("scores", scores, 2, "(..., L, S)")
    checks.floating("value", value)
    checks.dims("value", value, 2, "(..., S, Ev)")
    checks.size("value", value, -2, scores.shape[-1], "one value for each score")
    checks.probability("dropout_p", dropout_p)
    if mask is not None:
        checks.mask(mask, scores.shape, device=scores.device)
    return _attend(scores, value, mask, dropout_p)


def _attend(scores: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> Attended:
    weights = _softmax(scores, mask)
    kept = F.dropout(weights, dropout_p) if dropout_p else weights
    if not watching():
        scores = None  # as large as the weights: given back before the product needs room
    output = kept @ value  # (..., L, Ev)
    observe(scores=scores, mask=mask, weights=weights, output=output)
    return Attended(output, weights)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
    enable_gqa: bool = False,
    need_weights: bool = False,
) -> Attended:
    r"""Average the values by how well their keys match each query.

    .. math::

        \mathrm{Attention}(Q, K, V) =
            \mathrm{softmax}(\mathrm{scale} \cdot Q K^\top + \mathrm{bias})\, V

    Vaswani et al. (2017), equation 1. Without weights and dropout, PyTorch's fused kernel runs.
    `need_weights` changes neither the mask nor the output. With dropout the explicit form runs
    whether or not weights are asked for, so that one seed gives one output.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend. A query that
            may see nothing gives weights 0, output 0 and finite gradients. Masked keys and values
            never reach the output, even when they hold NaN or Inf; a query that does see a key or
            value with NaN or Inf gives NaN whenever a mask is in use.
        bias: floating, broadcastable to (..., L, S), added to the scaled scores (ALiBi, relative
            positions). Where it is -inf it masks.
        scale: factor of the scores; 1/sqrt(E) when left out.
        dropout_p: probability of dropping a weight. Functions know no train or eval: pass 0 in
            eval.
        enable_gqa: let `query` have H heads in dimension -3 and `key` and `value` H_kv, a divisor
            of H; query head h reads key head h // (H // H_kv).
        need_weights: return the weights (..., L, S), per head and before dropout.

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights or None.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes, devices, heads, `scale` or `dropout_p` do not fit.

    Example:
        >>> query = torch.tensor([[2.0, 0.0]])
        >>> key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> output, weights = scaled_dot_product_attention(query, key, key, need_weights=True)
        >>> weights  # proportional to exp(2 / sqrt(2)), exp(0) and exp(2 / sqrt(2))
        tensor([[0.4458, 0.1084, 0.4458]])
        >>> scaled_dot_product_attention(query, key, key, mask=torch.tensor([False] * 3)).output
        tensor([[0., 0.]])
    """
    plain = mask is bias is scale is None and enable_gqa is need_weights is False
    if plain and isinstance(dropout_p, float) and not dropout_p and _is_plain(query, key, value):
        return Attended(F.scaled_dot_product_attention(query, key, value), None)
    target = _check_sdpa(query, key, value, scale, dropout_p, enable_gqa, need_weights)
    if mask is not None:
        checks.mask(mask, target, device=query.device)
        mask = mask if mask.dim() > 1 else torch.atleast_2d(mask)
    if bias is not None:
        bias = torch.atleast_2d(checks.bias(bias, target, device=query.device))
        visible = bias != -math.inf
        mask = visible if mask is None else mask & visible
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    query, key, value = as_autocast(query, key, value)

    spoiled = None
    if mask is not None:
        key, value, spoiled = set_aside_nonfinite(key, value, mask, query_heads=target[-3:-2])
    if need_weights or dropout_p > 0 or target[-1] == 0:
        output, weights = _explicit(query, key, value, mask, bias, scale, dropout_p, enable_gqa)
        weights = weights if need_weights else None
    else:
        output = _fused(query, key, value, mask, bias, scale, target[:-2], enable_gqa)
        weights = None
        if watching():
            with torch.no_grad():
                _explicit(query, key, value, mask, bias, scale, 0.0, enable_gqa)
    return Attended(output if spoiled is None else output.masked_fill(spoiled, math.nan), weights)


def _is_plain(query: object, key: object, value: object) -> bool:
    """Whether nothing is wrong with the inputs and nothing is left to do but call the kernel.

    It asks for less than could be had, in few steps: on a small call every check is felt.
    """
    if not (isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor)):
        return False
    shape, dtype = query.shape, query.dtype
    return (
        len(shape) == 4
        and shape[2] > 0
        and shape[3] > 0
        and shape == key.shape == value.shape
        and dtype.is_floating_point
        and dtype == key.dtype == value.dtype
        and query.device == key.device == value.device
        and not watching()
        and not torch.is_autocast_enabled(query.device.type)
    )


def _explicit(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float,
    dropout_p: float,
    enable_gqa: bool,
) -> Attended:
    """The three lines of equation 1, in at least float32."""
    dtype = query.dtype
    query, key, value = widen(query, key, value)
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(groups, dim=-3)  # (..., H, S, E)
        value = value.repeat_interleave(groups, dim=-3)  # (..., H, S, Ev)
    with without_autocast(query):
        # Not named here, so that `_attend` holds the only reference and can give it back.
        output, weights = _attend(_scaled_scores(query, key, scale, bias), value, mask, dropout_p)
    return Attended(narrow(output, dtype), narrow(weights, dtype))


def _scaled_scores(query: Tensor, key: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """scale * Q K^T + bias, (..., L, S); where the leading dimensions agree, in one pass."""
    lead = query.shape[:-2]
    if lead == key.shape[:-2] and lead:
        flat_query, flat_key = query.flatten(0, -3), key.flatten(0, -3)
        nothing = flat_query.new_empty(())  # what beta=0 leaves out
        scores = torch.baddbmm(nothing, flat_query, flat_key.mT, beta=0, alpha=scale)
        scores = scores.view(*lead, *scores.shape[-2:])
    else:
        scores = (query * scale) @ key.mT
    return scores if bias is None else scores + bias.to(scores.dtype)


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float,
    lead: tuple[int, ...],
    enable_gqa: bool,
) -> Tensor:
    """PyTorch's kernel, given rows that are never empty and four dimensions, which it is fast on.

    `lead` are the leading dimensions of the output. With three dimensions, in the mask alone too,
    the kernel that holds all weights would run.
    """
    empty = None
    if mask is not None:
        empty = None if _no_empty_row(mask) else ~seeing(mask)  # (..., L, 1)
        if bias is not None:
            mask = torch.where(mask, bias.to(query.dtype), -math.inf)
        if empty is not None:
            mask = mask.masked_fill(empty, 1)  # True, or a bias that is finite
        mask = _kernel_mask(mask, lead)
    kv_lead = (*lead[:-1], key.shape[-3]) if enable_gqa else lead
    query = _four_dims(query, lead)
    key, value = _four_dims(key, kv_lead), _four_dims(value, kv_lead)
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa
    )
    if len(lead) != 2:
        output = output.reshape(*lead, *output.shape[-2:])
    return output if empty is None else output.masked_fill(empty, 0.0)


def _four_dims(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    if x.shape[:-2] != lead:
        x = x.expand(*lead, *x.shape[-2:])
    if x.dim() == 4:
        return x
    return x.flatten(0, -4) if x.dim() > 4 else x[(None,) * (4 - x.dim())]


def _kernel_mask(mask: Tensor, lead: tuple[int, ...]) -> Tensor:
    """The mask with four dimensions, or two: with three the kernel does not run."""
    if mask.dim() > 3 and len(lead) > 2:  # its heads may stay one where the batch is spelled out
        return mask.expand(*lead[:-1], *mask.shape[-3:]).flatten(0, -4)
    return mask[None] if mask.dim() == 3 else mask  # the kernel takes two as well


def _check_sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float | None,
    dropout_p: float,
    enable_gqa: bool,
    need_weights: bool,
) -> tuple[int, ...]:
    """Check everything but mask and bias; return the shape (..., L, S) of the scores."""
    checks.query_key_value(query, key, value)
    checks.probability("dropout_p", dropout_p)
    checks.flag("enable_gqa", enable_gqa)
    checks.flag("need_weights", need_weights)
    if scale is not None:
        checks.number("scale", scale)
    checks.size("key", key, -1, query.shape[-1], "the feature size of query")
    if enable_gqa:
        lead = _grouped_heads(query, key, value)
    else:
        lead = checks.leading_dims(query=query, key=key, value=value)
    return (*lead, query.shape[-2], key.shape[-2])


def _grouped_heads(query: Tensor, key: Tensor, value: Tensor) -> torch.Size:
    for name, item in {"query": query, "key": key, "value": value}.items():
        checks.dims(name, item, 3, "(..., heads, length, features) when enable_gqa is True")
    heads, kv_heads = query.shape[-3], key.shape[-3]
    checks.size("value", value, -3, kv_heads, "the heads of key")
    if kv_heads == 0 or heads % kv_heads:
        checks.fail("key", f"a number of heads that divides the query's {heads}", str(kv_heads))
    if not query.shape[:-3] == key.shape[:-3] == value.shape[:-3]:
        checks.fail(
            "key",
            f"the leading dimensions of query, {tuple(query.shape[:-3])}, when enable_gqa is True",
            f"key {checks.shape(key)} and value {checks.shape(value)}",
        )
    return query.shape[:-2]
