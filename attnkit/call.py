"""The steps that all attention calls share: check once, replace NaN and Inf, compute, restore.

A function or module checks its arguments with `check` or `check_module`, opens a `Call`, computes
with `call.query`, `call.key` and `call.value` (`attnkit.formula` has the mathematics, and expects
nothing unusual), and returns what `call.finish` makes of the result.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from attnkit import formula
from attnkit.guard import checks
from attnkit.guard.dtypes import (
    as_autocast,
    autocasting,
    narrow,
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
    """

    __slots__ = (
        "bias", "dtype", "grouped", "key", "lead", "mask", "nan_rows", "query", "ranges", "value",
    )  # fmt: skip

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
    ):
        if autocasting(query):
            query, key, value = as_autocast(query, key, value)
        self.query, self.key, self.value = query, key, value
        self.mask, self.bias, self.ranges = mask, bias, ranges
        self.lead, self.grouped = lead, grouped
        self.dtype, self.nan_rows = value.dtype, None
        if (mask is not None or ranges is not None) and not all_finite(query, key, value):
            self._replace_nonfinite()

    @property
    def whole_mask(self) -> Tensor | None:
        """The mask (..., L, S), that of the ranges included."""
        return self.mask if self.ranges is None else self.ranges.whole(self.mask)

    def dot_product(
        self, scale: float, dropout_p: float = 0.0, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Equation 1: output, and weights before dropout or None.

        The kernel runs where only the output is wanted; never with dropout, so that one seed gives
        one output.
        """
        query, key, value, bias = self.query, self.key, self.value, self.bias
        mask = self.mask if self.ranges is None else self.whole_mask
        if need_weights or dropout_p or not key.shape[-2]:
            query, key, value = widen(query, key, value)
            if self.grouped:
                heads = query.shape[-3]
                key, value = formula.repeat_heads(key, heads), formula.repeat_heads(value, heads)
            bias = None if bias is None else bias.to(query.dtype)
            lead = query.shape[:-2]
            # As one leading dimension, if they agree: 4% of a small call (benchmarks/multihead.py).
            flat = len(lead) > 1 and mask is bias is None
            flat = flat and lead == key.shape[:-2] == value.shape[:-2]
            if flat:
                query, key, value = query.flatten(0, -3), key.flatten(0, -3), value.flatten(0, -3)
            with without_autocast(query):
                output, weights = formula.attention(query, key, value, mask, bias, scale, dropout_p)
            if flat:
                output = output.view(*lead, *output.shape[-2:])
                weights = weights.view(*lead, *weights.shape[-2:])
            if output.dtype != self.dtype:
                output = output.to(self.dtype)
        else:
            bias = None if bias is None else bias.to(query.dtype)
            output = formula.fused_attention(
                query, key, value, mask, bias, scale, self.lead, self.grouped
            )
            weights = None
        if watching():
            self.record(output, weights, lambda: self.dot_scores(scale))
        return output, weights if need_weights else None

    def dot_scores(self, scale: float) -> Tensor:
        """The scores of equation 1 (..., L, S), in at least float32."""
        query, key = widen(self.query, self.key)
        if self.grouped:
            key = formula.repeat_heads(key, query.shape[-3])
        scores = formula.product(query, key.mT, scale)
        return scores if self.bias is None else scores + self.bias.to(scores.dtype)

    def record(self, output: Tensor, weights: Tensor | None, scores: Callable[[], Tensor]) -> None:
        """Report the call to active recorders.

        `scores` is called, and missing weights are computed, only if there are any.
        """
        if not watching():
            return
        with torch.no_grad(), without_autocast(output):
            mask, plain = self.whole_mask, scores()
            if weights is None:
                weights = formula.masked_softmax(plain, mask)
            observe(scores=plain, mask=mask, weights=weights, output=output)

    def finish(self, output: Tensor, weights: Tensor | None = None) -> Attended:
        """Return to the dtype of the inputs, and write NaN to the queries that see a NaN or Inf.

        output (*lead, L, Ev), or with the heads of `lead` merged; weights (..., L, S) or None.
        """
        if output.dtype != self.dtype:
            output = output.to(self.dtype)
        if weights is not None:
            weights = narrow(weights, self.dtype)
            if weights.shape[:-2] != self.lead:
                weights = weights.expand(*self.lead, *weights.shape[-2:])
        rows = self.nan_rows
        if rows is None:
            return Attended(output, weights)
        if weights is not None:
            weights = weights.masked_fill(rows & self.whole_mask, math.nan)
        if rows.dim() > output.dim():  # one head that sees it is enough
            rows = rows.any(-3)
        return Attended(output.masked_fill(rows, math.nan), weights)

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
            sees = formula.any_visible(mask)
        else:  # in memory linear in the lengths
            visible = torch.ones_like(bad_key) if mask is None else mask[..., 0, :]
            seen, sees = ranges.any(bad_key & visible), ranges.any(visible)
        self.nan_rows = seen | (sees & bad_query)  # (..., L, 1)
        self.query = torch.where(query_ok, self.query, 0.0)
        self.key = torch.where(key_ok, self.key, 0.0)
        self.value = torch.where(value_ok, self.value, 0.0)


def all_finite(*tensors: Tensor) -> bool:
    """True if every element is known to be finite; False if not, or if it cannot be checked."""
    if not tensors[0].is_cpu or values_unavailable(tensors[0]):
        return False
    for tensor in tensors:
        # The sum of finite numbers may overflow, so a false alarm is possible; a miss is not.
        total = (tensor.detach() if tensor.requires_grad else tensor).sum()
        if not math.isfinite(total.item()):
            return False
    return True


def project(layer: Callable[[Tensor], Tensor], x: Tensor, mask: Tensor | None) -> Tensor:
    """`layer(x)`, where rows of `x` that hold NaN or Inf become rows of NaN, without gradient.

    Once a NaN has been through a projection, the gradient of its weights is NaN whatever the mask
    does afterwards, since 0 * NaN is NaN. Without a mask nothing can be hidden.
    """
    if mask is None or all_finite(x):
        return layer(x)
    bad = ~x.isfinite().all(-1, keepdim=True)
    return layer(x.masked_fill(bad, 0.0)).masked_fill(bad, math.nan)


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
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else checks.number("scale", scale)
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
