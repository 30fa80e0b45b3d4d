"""Attention as functions: scores, the masked softmax, and the two together.

Shapes: L queries, S keys, E features of query and key, Ev features of a value, A hidden features,
`...` leading dimensions that broadcast. Masks are boolean and True means "may attend".
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import formula
from attnkit.call import Attended, Call, check, hide_nonfinite
from attnkit.guard import checks
from attnkit.guard.dtypes import narrow, widen
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
        >>> import torch
        >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False] * 3]))
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000]])
    """
    checks.floating("scores", scores)
    checks.dims("scores", scores, 1, "(..., S)")
    if mask is not None:
        mask = checks.mask(mask, scores.shape, device=scores.device)
        mask = mask if scores.dim() > 1 else mask[0]
    return narrow(formula.masked_softmax(*widen(scores), mask), scores.dtype)


def attend(
    scores: Tensor, value: Tensor, *, mask: Tensor | None = None, dropout_p: float = 0.0
) -> Attended:
    """Turn scores into weights and average the values with them.

    scores (..., L, S), value (..., S, Ev) -> output (..., L, Ev), weights (..., L, S). The weights
    come back before dropout. A mechanism is its scores, followed by this. Masked values never
    reach the output or a gradient, even when they hold NaN or Inf; a query that does see one gives
    NaN.

    Raises:
        TypeError: an input is not floating, or `mask` is not boolean.
        ValueError: `mask` does not broadcast to `scores`, `value` has not one row for each score,
            or `dropout_p` is not a probability.

    Example:
        >>> import torch
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
        lead = checks.leading_dims(scores=scores, value=value)
        mask = checks.mask(mask, (*lead, *scores.shape[-2:]), device=scores.device)
    value, nan_rows = (value, None) if mask is None else hide_nonfinite(value, mask)
    weights = narrow(formula.masked_softmax(*widen(scores), mask), scores.dtype)
    if not watching():
        del scores  # as large as the weights, and not needed for the product
    output = F.dropout(weights, dropout_p) @ value  # (..., L, Ev)
    if nan_rows is not None:
        output = output.masked_fill(nan_rows, math.nan)
    if watching():
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
    `need_weights` changes neither the mask nor the output. A second derivative exists with
    `need_weights=True` alone, since PyTorch's kernel has none. With dropout the explicit form runs
    whether or not weights are asked for, so that one seed gives one output.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend. A fully
            masked query gives weights 0, output 0 and finite gradients. Masked keys and values
            never reach the output, even when they hold NaN or Inf; a query that does see a key or
            value with NaN or Inf gives NaN whenever a mask is in use.
        bias: floating, broadcastable to (..., L, S), added to the scaled scores (ALiBi, relative
            positions). Where it is -inf it masks.
        scale: factor of the scores; 1/sqrt(E) when omitted.
        dropout_p: probability of dropping a weight. Unlike a module, a function has no
            training mode: pass 0 during evaluation.
        enable_gqa: let `query` have H heads in dimension -3 and `key` and `value` H_kv, a divisor
            of H; query head h reads key head h // (H // H_kv).
        need_weights: return the weights (..., L, S), per head and before dropout.

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights or None.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes, devices, heads, `scale` or `dropout_p` do not fit.

    Example:
        >>> import torch
        >>> query = torch.tensor([[2.0, 0.0]])
        >>> key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> output, weights = scaled_dot_product_attention(query, key, key, need_weights=True)
        >>> weights  # proportional to exp(2 / sqrt(2)), exp(0) and exp(2 / sqrt(2))
        tensor([[0.4458, 0.1084, 0.4458]])
        >>> scaled_dot_product_attention(query, key, key, mask=torch.tensor([False] * 3)).output
        tensor([[0., 0.]])
    """
    # Where nothing could be refused, converted or hidden, the kernel alone: on a small call every
    # check is felt, a fifth of B4 H8 E64, L=S=16 (benchmarks/dot_product.py).
    if (
        (mask is bias is scale is None and enable_gqa is need_weights is False and dropout_p == 0.0)
        and type(query) is type(key) is type(value) is Tensor
        and not (query.is_nested or key.is_nested or value.is_nested)
        and query.layout == key.layout == value.layout == torch.strided
        and (query.dim() == 4 and query.shape == key.shape == value.shape and query.numel() > 0)
        and (query.is_floating_point() and query.dtype == key.dtype == value.dtype)
        and query.device == key.device == value.device
        and not watching()
    ):
        return Attended(F.scaled_dot_product_attention(query, key, value), None)
    target, mask, scale = check(
        query, key, value,
        mask=mask, bias=bias, scale=scale, enable_gqa=enable_gqa, need_weights=need_weights,
    )  # fmt: skip
    dropout_p = checks.probability("dropout_p", dropout_p)
    call = Call(query, key, value, mask, bias, lead=target[:-2], grouped=enable_gqa)
    return call.finish(*call.dot_product(scale, dropout_p, need_weights))
