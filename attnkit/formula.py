r"""The mathematics of attention: equation 1, its masked softmax, and PyTorch's kernel for both.

.. math::

    \mathrm{Attention}(Q, K, V) =
        \mathrm{softmax}(\mathrm{scale} \cdot Q K^\top + \mathrm{bias})\, V

Nothing here checks, casts or expects NaN: `attnkit.call` does that once, before and after. Shapes:
L queries, S keys, E features of query and key, Ev features of a value; a mask is boolean, True
where the query may attend.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit.guard.dtypes import needs_grad, values_unavailable


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float = 1.0,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Equation 1 of Vaswani et al. (2017), as it is written: output (..., L, Ev), weights."""
    scores = product(query, key.mT, scale)  # scale * query @ key.mT, (..., L, S)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask)  # (..., L, S), before dropout
    del scores  # as large as the weights, and not needed for the product
    return product(F.dropout(weights, dropout_p) if dropout_p else weights, value), weights


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


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the visible keys; 0 elsewhere, and in the whole row of a fully masked query."""
    if mask is None:
        return scores.softmax(-1)
    empty = empty_rows(mask)
    if empty is None:
        weights = torch.where(mask, scores, -math.inf).softmax(-1)
        if not weights.requires_grad:
            return weights
    else:
        # The softmax of -inf alone is NaN, and would stop autograd's anomaly detection even where
        # it is masked afterwards: an empty row is filled with zeros.
        fill = torch.zeros_like(empty, dtype=scores.dtype).masked_fill(~empty, -math.inf)
        weights = torch.where(mask, scores, fill).softmax(-1)
    # Already 0 in rows that are not empty; this stops gradients that are NaN.
    return weights.masked_fill(~mask, 0.0)


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    lead: tuple[int, ...],
    grouped: bool = False,
) -> Tensor:
    """The output of equation 1 by F.scaled_dot_product_attention, which returns no weights.

    Args:
        query, key, value, mask, bias, scale: as in `attention`; scale None is 1/sqrt(E).
        lead: the leading dimensions of the output.
        grouped: whether key and value have fewer heads than the query.
    """
    # With three dimensions, in the mask alone too, the kernel that holds all weights would run.
    empty = None
    if mask is not None:
        # On a CPU the kernel itself gives an empty row 0 (from torch 2.5 on); of its gradient, and
        # of other devices and compilers, that is not known.
        trusted = mask.is_cpu and not values_unavailable(mask)
        if not trusted or needs_grad(query, key, value, bias):
            empty = empty_rows(mask)
        if bias is not None:
            mask = torch.where(mask, bias, -math.inf)
        if empty is not None:
            mask = mask.masked_fill(empty, 1)  # True, or a bias that is finite
        if mask.dim() > 3 and len(lead) > 2:  # heads may stay one, the batch may not
            mask = mask.expand(*lead[:-1], *mask.shape[-3:]).flatten(0, -4)
        elif mask.dim() == 3:
            mask = mask[None]
    kv_lead = (*lead[:-1], key.shape[-3]) if grouped else lead
    if query.dim() != 4 or key.dim() != 4 or not query.shape[:2] == lead == key.shape[:2]:
        query, key = four_dims(query, lead), four_dims(key, kv_lead)
    if value.shape[:-2] != kv_lead or value.dim() != 4:
        value = four_dims(value, kv_lead)
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=scale, enable_gqa=grouped
    )
    if len(lead) != 2:
        output = output.reshape(*lead, *output.shape[-2:])
    return output if empty is None else output.masked_fill(empty, 0.0)


def four_dims(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """(..., length, features) as (B, H, length, features)."""
    if x.shape[:-2] != lead:
        x = x.expand(*lead, *x.shape[-2:])
    if x.dim() == 4:
        return x
    return x.flatten(0, -4) if x.dim() > 4 else x[(None,) * (4 - x.dim())]


def repeat_heads(x: Tensor, heads: int) -> Tensor:
    """Repeat each of H_kv heads (..., H_kv, S, E) H // H_kv times: (..., H, S, E), interleaved."""
    return x.repeat_interleave(heads // x.shape[-3], dim=-3)


def any_visible(mask: Tensor) -> Tensor:
    """Whether a query may see any key: mask (..., L, S) -> boolean (..., L, 1)."""
    if mask.shape[-1] == 0 or torch.compiler.is_compiling():
        return mask.any(-1, keepdim=True)
    # A maximum over bytes, which on a CPU is up to 25 times faster than any() over booleans; but
    # the C++ that Inductor writes for it does not compile (PyTorch 2.13).
    return mask.view(torch.uint8).amax(-1, keepdim=True).view(torch.bool)


def empty_rows(mask: Tensor) -> Tensor | None:
    """The fully masked queries (..., L, 1) of a mask (..., L, S); None if it is known to have none.

    On a GPU, and where the values cannot be read, it is not known.
    """
    visible = any_visible(mask)
    if mask.is_cpu and not values_unavailable(mask) and visible.all():
        return None
    return ~visible
