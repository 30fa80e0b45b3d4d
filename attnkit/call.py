"""The steps that all attention calls share: check once, replace NaN and Inf, compute, restore.

A function or module checks its arguments with `check` or `check_module`, opens a `Call`, computes
with `call.query`, `call.key` and `call.value`, and returns what `call.finish` makes of the result.
`Call.dot_product` computes in one of two forms: `written_out`, equation 1 of `attnkit.formula`,
which gives the weights too, or `fused`, PyTorch's kernel. Neither meets anything unusual.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import formula
from attnkit.guard import checks
from attnkit.guard.dtypes import (
    as_autocast,
    autocasting,
    needs_grad,
    transformed,
    values_unavailable,
    widen,
    without_autocast,
)
from attnkit.trace import observe, watching


class Attended(NamedTuple):
    """What every mechanism returns: `output` (..., L, Ev), and `weights` (..., L, S) or None."""

    output: Tensor
    weights: Tensor | None


class Ranges(Protocol):
    """A range of visible keys for each query, in place of a mask (L, S)."""

    def any(self, flags: Tensor) -> Tensor:
        """Whether a query sees a flagged key: flags (..., S) -> (..., L, 1)."""

    def whole(self, mask: Tensor | None) -> Tensor:
        """The mask (..., L, S) of the ranges, and of `mask` on top."""


_NOT_ASKED = object()


class Call:
    """One attention call: what it computes with, and the way back out.

    A weight of 0 does not stop a NaN, since 0 * NaN is NaN, neither in the output nor in a
    gradient. So where a mask is in use, queries, keys and values that hold NaN or Inf are replaced
    by zeros, and `finish` writes NaN to the queries that do see one.

    Args:
        query: (..., L, E), checked, and projected where the mechanism projects.
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (*lead, L, S), with two dimensions at least, or None.
        bias: floating, broadcastable to (*lead, L, S), nowhere -inf where `mask` lets it through.
        lead: the leading dimensions of the output, heads included.
        ranges: keys visible to each query, on top of `mask`.
        grouped: whether dimension -3 of key and value has fewer heads than that of the query.
        finite: whether query, key and value are known to hold neither NaN nor Inf.
    """

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        *,
        lead: tuple[int, ...],
        ranges: Ranges | None = None,
        grouped: bool = False,
        finite: bool = False,
    ):
        self.autocasts = autocasting(query)
        if self.autocasts:
            query, key, value = as_autocast(query, key, value)
        self.query, self.key, self.value = query, key, value
        self.mask, self.bias, self.ranges = mask, bias, ranges
        self.lead, self.grouped = lead, grouped
        self.dtype, self.nan_rows = value.dtype, None
        self._empty: Any = _NOT_ASKED
        hides = mask is not None or ranges is not None
        # Whether values can be read, and reading them makes no device wait.
        self.readable = hides and query.is_cpu and not values_unavailable(query)
        if hides and not finite and not (self.readable and all_finite(query, key, value)):
            self._replace_nonfinite()

    def part(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> "Call":
        """A call of some of the queries and keys, which were checked as parts of this one."""
        return Call(query, key, value, mask, lead=self.lead, grouped=self.grouped, finite=True)

    @property
    def whole_mask(self) -> Tensor | None:
        """The mask (..., L, S), that of the ranges included."""
        return self.mask if self.ranges is None else self.ranges.whole(self.mask)

    @property
    def empty(self) -> Tensor | None:
        """The queries that see nothing (..., L, 1); None if there are none, as far as is known.

        Worked out once a call, when it is first asked for. Where the values cannot be read, or
        only while a device waits, a tensor comes back even if there are none.
        """
        if self._empty is _NOT_ASKED:
            mask = self.mask if self.ranges is None else self.whole_mask
            visible = None if mask is None else formula.any_visible(mask)
            none = visible is None or (self.readable and visible.all())
            self._empty = None if none else ~visible
        return self._empty

    def softmax(self, scores: Tensor) -> Tensor:
        """The weights of scores (..., L, S): 0 where the mask hides, and in an empty row."""
        if self.mask is None:
            return scores.softmax(-1)
        return formula.masked_softmax(scores, self.mask, self.empty)

    def shown(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The weights to return, in the dtype of the inputs, and the weights to multiply with.

        The second have all their digits, and their gradient runs through the first: so the output
        can be differentiated by the weights that come back.
        """
        if weights.dtype == self.dtype or not weights.requires_grad:
            return weights, weights
        returned = weights.to(self.dtype)
        wide = returned.to(weights.dtype)
        return returned, wide + (weights - wide).detach()

    def dot_product(
        self, scale: float, dropout_p: float = 0.0, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Equation 1: output, and weights before dropout or None.

        The kernel runs where only the output is wanted; never with dropout, so that one seed gives
        one output.
        """
        if self.ranges is not None:  # from here on they are a mask
            self.mask, self.ranges = self.whole_mask, None
        refused = not self.query.is_cpu and transformed()  # a GPU's kernels take no mask in vmap
        if need_weights or dropout_p or refused or not self.key.shape[-2]:
            output, weights = self.written_out(scale, dropout_p)
        else:
            output, weights = self.fused(scale), None
        if watching():
            self.record(output, weights, lambda: self.dot_scores(scale))
        return output, weights if need_weights else None

    def written_out(self, scale: float, dropout_p: float) -> tuple[Tensor, Tensor]:
        """Output and weights of equation 1, by its products and its softmax."""
        query, key, value = widen(self.query, self.key, self.value)
        mask, bias = self.mask, self.bias
        if self.grouped:
            heads = query.shape[-3]
            key, value = formula.repeat_heads(key, heads), formula.repeat_heads(value, heads)
        if bias is not None:
            bias = _as_finite(bias, self.query.dtype).to(query.dtype)
        empty = None if mask is None else self.empty
        lead = query.shape[:-2]
        # As one leading dimension, if they agree: 4% of a small call (benchmarks/multihead.py).
        flat = len(lead) > 1 and mask is bias is None
        flat = flat and lead == key.shape[:-2] == value.shape[:-2]
        if flat:
            query, key, value = query.flatten(0, -3), key.flatten(0, -3), value.flatten(0, -3)
        shown = None if query.dtype == self.dtype else self.shown
        with without_autocast(query) if self.autocasts else nullcontext():
            output, weights = formula.attention(
                query, key, value, mask, bias, scale, dropout_p, empty, shown, lead if flat else ()
            )
        if flat:
            output = output.view(*lead, *output.shape[-2:])
        if output.dtype != self.dtype:
            output = output.to(self.dtype)
        return output, weights

    def fused(self, scale: float) -> Tensor:
        """The output of equation 1 by PyTorch's kernel, which returns no weights."""
        query, key, value, mask, lead = self.query, self.key, self.value, self.mask, self.lead
        empty = None
        if mask is not None:
            # On a CPU the kernel itself gives an empty row 0 (from torch 2.5 on); of its gradient,
            # and of other devices and compilers, that is not known.
            if not self.readable or needs_grad(query, key, value, self.bias):
                empty = self.empty
            if self.bias is not None:
                mask = torch.where(mask, _as_finite(self.bias, query.dtype), -math.inf)
            if empty is not None:  # True, or a bias that is finite
                mask = mask | empty if self.bias is None else mask.masked_fill(empty, 0.0)
            # With three dimensions the kernel that holds all weights would run.
            if mask.dim() > 3 and len(lead) > 2:  # heads may stay one, the batch may not
                mask = mask.expand(*lead[:-1], *mask.shape[-3:]).flatten(0, -4)
            elif mask.dim() == 3:
                mask = mask[None]
        kv_lead = (*lead[:-1], key.shape[-3]) if self.grouped else lead
        if query.dim() != 4 or query.shape[:2] != lead:
            query = four_dims(query, lead)
        if key.dim() != 4 or not key.shape[:2] == kv_lead == value.shape[:2]:
            key, value = four_dims(key, kv_lead), four_dims(value, kv_lead)
        output = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale, enable_gqa=self.grouped
        )
        if len(lead) != 2:
            output = output.reshape(*lead, *output.shape[-2:])
        return output if empty is None else output.masked_fill(empty, 0.0)

    def dot_scores(self, scale: float) -> Tensor:
        """The scores of equation 1 (..., L, S), in at least float32."""
        query, key = widen(self.query, self.key)
        if self.grouped:
            key = formula.repeat_heads(key, query.shape[-3])
        scores = formula.product(query, key.mT, scale)
        if self.bias is None:
            return scores
        return scores + _as_finite(self.bias, self.query.dtype).to(scores.dtype)

    def spread(
        self, weights: Tensor, dropout_p: float, scores: Callable[[], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Output and weights before dropout, where a mechanism has its own softmax."""
        (value,) = widen(self.value)
        if self.grouped:
            value = formula.repeat_heads(value, self.query.shape[-3])
        returned, weights = self.shown(weights)
        with without_autocast(value):
            output = formula.product(F.dropout(weights, dropout_p), value)
        self.record(output, returned, scores)
        return output.to(self.dtype), returned

    def record(self, output: Tensor, weights: Tensor | None, scores: Callable[[], Tensor]) -> None:
        """Report the call to active recorders.

        `scores` is called, and missing weights are computed, only if there are any.
        """
        if not watching():
            return
        with torch.no_grad(), without_autocast(output):
            mask, plain = self.whole_mask, scores()
            if weights is None:
                weights = formula.masked_softmax(plain, mask, self.empty)
            observe(scores=plain, mask=mask, weights=weights, output=output)

    def finish(self, output: Tensor, weights: Tensor | None = None) -> Attended:
        """Return to the dtype of the inputs, and write NaN to the queries that see a NaN or Inf.

        output (*lead, L, Ev), or with the heads of `lead` merged; weights (..., L, S) or None.
        """
        if output.dtype != self.dtype:
            output = output.to(self.dtype)
        if weights is not None and weights.dtype != self.dtype:
            weights = weights.to(self.dtype)
        if weights is not None and weights.shape[:-2] != self.lead:
            weights = weights.expand(*self.lead, *weights.shape[-2:])
        rows = self.nan_rows
        if rows is None:
            return Attended(output, weights)
        if weights is not None:
            weights = weights.masked_fill(rows & self.whole_mask, math.nan)
        if rows.dim() > output.dim():  # one head that sees it is enough
            rows = rows.any(-3)
        return Attended(output.masked_fill(rows, math.nan), weights)

    def zero_empty(self, output: Tensor) -> Tensor:
        """Write 0 to a query that sees nothing in any head: output (..., L, E), projected and with
        the heads of `lead` merged, so that the bias of that projection is 0 there too."""
        if self.key.shape[-2] == 0:
            return output * 0
        if self.mask is None or self.empty is None:
            return output
        return output.masked_fill(self.empty.all(-3), 0.0)

    def _replace_nonfinite(self) -> None:
        """Put zeros for NaN and Inf, and remember in `nan_rows` which queries see one."""
        query_ok, key_ok, value_ok = (x.isfinite() for x in (self.query, self.key, self.value))
        bad_query = ~query_ok.all(-1, keepdim=True)  # (..., L, 1)
        bad_key = ~(key_ok.all(-1) & value_ok.all(-1))  # (..., S)
        if self.grouped:
            bad_key = formula.repeat_heads(bad_key[..., None], self.query.shape[-3])[..., 0]
        mask, ranges = self.mask, self.ranges
        if ranges is not None and mask is not None and mask.shape[-2] > 1:
            mask, ranges = ranges.whole(mask), None
        if ranges is None:
            seen = formula.any_visible(mask & bad_key[..., None, :])
            sees = True if self.empty is None else ~self.empty
        else:  # in memory linear in the lengths
            visible = torch.ones_like(bad_key) if mask is None else mask[..., 0, :]
            seen, sees = ranges.any(bad_key & visible), ranges.any(visible)
        self.nan_rows = seen | (sees & bad_query)  # (..., L, 1)
        self.query = torch.where(query_ok, self.query, 0.0)
        self.key = torch.where(key_ok, self.key, 0.0)
        self.value = torch.where(value_ok, self.value, 0.0)


def all_finite(*tensors: Tensor) -> bool:
    """Whether every element is finite, of tensors whose values can be read."""
    for tensor in tensors:
        # The sum of finite numbers may overflow, so a false alarm is possible; a miss is not.
        total = (tensor.detach() if tensor.requires_grad else tensor).sum()
        if not math.isfinite(total.item()):
            return False
    return True


def _as_finite(bias: Tensor, dtype: torch.dtype) -> Tensor:
    """The bias in `dtype`, in which what was finite stays so: which rows see nothing is settled."""
    if torch.finfo(dtype).max < torch.finfo(bias.dtype).max:
        bias = bias.clamp(torch.finfo(dtype).min, torch.finfo(dtype).max)
    return bias.to(dtype)


def four_dims(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    """(..., length, features) as (B, H, length, features), which PyTorch's kernel takes."""
    if x.shape[:-2] != lead:
        x = x.expand(*lead, *x.shape[-2:])
    if x.dim() == 4:
        return x
    return x.flatten(0, -4) if x.dim() > 4 else x[(None,) * (4 - x.dim())]


def hide_nonfinite(value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """Values with zeros for NaN and Inf, and the queries (..., L, 1) that see one of these.

    None for the queries where every value is known to be finite.
    """
    if value.is_cpu and not values_unavailable(value) and all_finite(value):
        return value, None
    finite = value.isfinite()
    seen = formula.any_visible(mask & ~finite.all(-1)[..., None, :])
    return torch.where(finite, value, 0.0), seen


def project(layer: Callable[[Tensor], Tensor], x: Tensor, mask: Tensor | None) -> Tensor:
    """`layer(x)`, where rows of `x` that hold NaN or Inf become rows of NaN, without gradient.

    Once a NaN has been through a projection, the gradient of its weights is NaN whatever the mask
    does afterwards, since 0 * NaN is NaN. Without a mask nothing can be hidden.
    """
    if mask is None or (x.is_cpu and not values_unavailable(x) and all_finite(x)):
        return layer(x)
    bad = ~x.isfinite().all(-1, keepdim=True)
    return layer(x.masked_fill(bad, 0.0)).masked_fill(bad, math.nan)


def project_linear(
    layer: Callable[[Tensor], Tensor], x: Tensor, mask: Tensor | None
) -> tuple[Tensor, bool]:
    """`project`, and whether the result is known to be finite, so that `Call` need not look.

    A product passes NaN and Inf on: where it is all that the layer does, one look at the result is
    one at `x` too.
    """
    if mask is None:
        return layer(x), False
    if is_bare(layer) and x.is_cpu and not values_unavailable(x):
        projected = layer(x)
        if all_finite(projected):
            return projected, True
    return project(layer, x, mask), False


def is_bare(layer: Callable[[Tensor], Tensor]) -> bool:
    """Whether calling the layer is its product and nothing else, so that parts of it may be used.

    A hook, an adapter, a parametrization or a quantized layer wants to see the call; a weight that
    is no plain tensor may not know how to be cut.
    """
    if type(layer) is partial:
        return layer.func is F.linear
    return (
        type(layer) is nn.Linear
        and type(layer.weight) in (nn.Parameter, Tensor)
        and type(layer.weight.data) is Tensor
        and not (layer._forward_hooks or layer._forward_pre_hooks)
        and not (layer._backward_hooks or layer._backward_pre_hooks)
        and "forward" not in vars(layer)
        and not nn.modules.module._has_any_global_hook()  # from PyTorch 2.8 on
    )


def check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    need_weights: bool = False,
) -> tuple[tuple[int, ...], Tensor | None, float]:
    """Check the arguments that the functions share.

    Returns:
        (..., L, S); the mask, with two dimensions at least and without what a bias of -inf hides;
        and the scale, 1/sqrt(E) where it was omitted.
    """
    checks.query_key_value(query, key, value)
    checks.flag("enable_gqa", enable_gqa)
    checks.flag("need_weights", need_weights)
    checks.size("key", key, -1, query.shape[-1], "the feature size of query")
    features = query.shape[-1]
    scale = formula.default_scale(features) if scale is None else checks.number("scale", scale)
    lead = query.shape[:-2]
    if enable_gqa:
        _check_grouped_heads(query, key, value)
    elif not lead == key.shape[:-2] == value.shape[:-2]:
        if query.dim() == key.dim() > 3 and 1 < key.shape[-3] < query.shape[-3]:
            expected = f"the query's {query.shape[-3]} heads (or fewer, with enable_gqa=True)"
            checks.fail("key", expected, f"shape {checks.shape(key)}")
        lead = checks.leading_dims(query=query, key=key, value=value)
    target = (*lead, query.shape[-2], key.shape[-2])
    if mask is not None:
        mask = checks.mask(mask, target, device=query.device)
    if bias is not None:
        mask = visible(mask, checks.bias(bias, target, device=query.device))
    return target, mask, scale


def check_module(
    module: nn.Module,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    need_weights: bool,
    *,
    query_dim: int,
    key_dim: int,
    value_dim: int | None = None,
) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Check the inputs of a module against each other and the module.

    All three have the same number of dimensions. Otherwise a query (B, E) that lacks its length
    would pass for B queries, and be asked of every sequence.

    Returns:
        key, `query` when omitted; value, `key` when omitted; and (..., L, S).
    """
    if key is None and query_dim != key_dim:
        expected = f"a tensor, since key_dim ({key_dim}) is not query_dim ({query_dim})"
        checks.fail("key", expected, "None", TypeError)
    key = query if key is None else key
    value = key if value is None else value
    checks.query_key_value(query, key, value)
    checks.flag("need_weights", need_weights)
    checks.size("query", query, -1, query_dim, "query_dim")
    checks.size("key", key, -1, key_dim, "key_dim")
    if value_dim is not None:
        checks.size("value", value, -1, value_dim, "value_dim")
    lead = query.shape[:-2]
    if not lead == key.shape[:-2] == value.shape[:-2]:
        for name, item in (("query", query), ("value", value)):
            if item.dim() != key.dim():
                expected = f"{key.dim()} dimensions, as key {checks.shape(key)} has"
                checks.fail(name, expected, f"shape {checks.shape(item)}")
        lead = checks.leading_dims(query=query, key=key, value=value)
    parameter = _first_parameter(module)
    if parameter is not None and (
        parameter.dtype != query.dtype or parameter.device != query.device
    ):
        _check_parameter(query, parameter)
    return key, value, (*lead, query.shape[-2], key.shape[-2])


def visible(mask: Tensor | None, bias: Tensor) -> Tensor:
    """What a mask and a bias let through together: a bias of -inf masks."""
    seen = torch.atleast_2d(bias != -math.inf)
    return seen if mask is None else mask & seen


def _first_parameter(module: nn.Module) -> Tensor | None:
    """`next(module.parameters(), None)`, in a tenth of the time."""
    for parameter in module._parameters.values():
        if parameter is not None:
            return parameter
    for child in module._modules.values():
        if child is not None and (parameter := _first_parameter(child)) is not None:
            return parameter
    return None


def _check_parameter(query: Tensor, parameter: Tensor) -> None:
    if query.device != parameter.device:
        expected = f"device {parameter.device} (that of the module)"
        checks.fail("query", expected, f"device {query.device}")
    if not autocasting(query):
        expected = f"dtype {parameter.dtype} (that of the module)"
        checks.fail("query", expected, str(query.dtype), TypeError)


def _check_grouped_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
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
