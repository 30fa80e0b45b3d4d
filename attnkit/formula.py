r"""The mathematics of attention: equation 1, its scale, and its masked softmax.

.. math::

    \mathrm{Attention}(Q, K, V) =
        \mathrm{softmax}(\mathrm{scale} \cdot Q K^\top + \mathrm{bias})\, V

Nothing here checks, casts or expects NaN: `attnkit.call` does that once, before and after. Shapes:
L queries, S keys, E features of query and key, Ev features of a value; a mask is boolean, True
where the query may attend.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit.guard.dtypes import values_unavailable


def default_scale(features: int) -> float:
    """1/sqrt(E): scores of independent features of variance 1 then have variance 1, whatever E."""
    return 1 / math.sqrt(features)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float = 1.0,
    dropout_p: float = 0.0,
    empty: Tensor | str | None = "unknown",
    shown: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None,
    lead: tuple[int, ...] = (),
) -> tuple[Tensor, Tensor]:
    """Equation 1 of Vaswani et al. (2017), as it is written: output (..., L, Ev), weights.

    The weights that come back are those that the output is made of, so that it has a gradient by
    them: with leading dimensions `lead`, where those of the inputs were made one; and by `shown`,
    which gives, of the weights, those to return and those to multiply with.
    """
    scores = product(query, key.mT, scale)  # scale * query @ key.mT, (..., L, S)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask, empty)  # (..., L, S), before dropout
    del scores  # as large as the weights, and not needed for the product
    if lead:
        weights = weights.view(*lead, *weights.shape[-2:])
    returned, weights = (weights, weights) if shown is None else shown(weights)
    if lead:
        weights = weights.flatten(0, -3)
    return product(F.dropout(weights, dropout_p) if dropout_p else weights, value), returned


def product(left: Tensor, right: Tensor, scale: float = 1.0) -> Tensor:
    """`scale * left @ right`, in one pass where the leading dimensions agree.

    `benchmarks/dot_product.py`, with weights: a tenth of a small call.
    """
    lead = left.shape[:-2]
    if not lead or lead != right.shape[:-2]:
        return (left if scale == 1 else scale * left) @ right
    if len(lead) > 1:
        left, right = left.flatten(0, -3), right.flatten(0, -3)
    if scale == 1:
        result = torch.bmm(left, right)
    else:
        result = torch.baddbmm(left.new_empty(()), left, right, beta=0, alpha=scale)
    return result.unflatten(0, lead) if len(lead) > 1 else result


def masked_softmax(
    scores: Tensor, mask: Tensor | None = None, empty: Tensor | str | None = "unknown"
) -> Tensor:
    """Softmax over the visible keys; 0 elsewhere, and in the whole row of a fully masked query.

    `empty` is `empty_rows(mask)`, from a caller that knows it.
    """
    if mask is None:
        return scores.softmax(-1)
    if isinstance(empty, str):
        empty = empty_rows(mask)
    fill = -math.inf
    if empty is not None:
        # The softmax of -inf alone is NaN, and would stop autograd's anomaly detection even where
        # it is masked afterwards: an empty row is filled with zeros.
        fill = torch.zeros_like(empty, dtype=scores.dtype).masked_fill(~empty, -math.inf)
    weights = torch.where(mask, scores, fill).softmax(-1)
    if empty is None and not weights.requires_grad:
        return weights
    # Already 0 in rows that are not empty; this stops gradients that are NaN.
    return weights.masked_fill(~mask, 0.0)


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    """Repeat each of H_kv heads (..., H_kv, S, E) H // H_kv times: (..., H, S, E), interleaved."""
    return x.repeat_interleave(heads // x.shape[-3], dim=-3)


def any_visible(mask: Tensor) -> Tensor:
    """Whether a query may see any key: mask (..., L, S) -> boolean (..., L, 1)."""
    size = mask.numel()  # no int while it is exported as dynamic, or it would have to stay small
    if (isinstance(size, int) and size < 2048) or values_unavailable(mask):
        return mask.any(-1, keepdim=True)
    # A maximum over bytes, which on a CPU is up to 25 times faster than any() over many booleans;
    # but the C++ that Inductor writes for it does not compile (PyTorch 2.13), torch.jit.trace knows
    # no view as bytes, and vmap none before PyTorch 2.13.
    return mask.view(torch.uint8).amax(-1, keepdim=True).view(torch.bool)


def empty_rows(mask: Tensor) -> Tensor | None:
    """The fully masked queries (..., L, 1) of a mask (..., L, S); None if it is known to have none.

    On a GPU, and where the values cannot be read, it is not known.
    """
    visible = any_visible(mask)
    if mask.is_cpu and not values_unavailable(mask) and visible.all():
        return None
    return ~visible
