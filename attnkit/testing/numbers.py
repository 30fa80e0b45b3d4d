"""Checks of the numbers: rows that sum to one, the scale, heads, half precision."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from attnkit import masks
from attnkit.formula import default_scale
from attnkit.testing.adapter import Adapted, NotApplicable, _is_keras, adapt, random_mask, same
from attnkit.testing.masking import LENGTHS


def assert_rows_sum_to_one(attention: Any, *, train: bool = False) -> None:
    """Check that the weights of each query are an average: not negative, and 1 in sum.

    Twice: on the weights, where the attention returns them, which must also be 0 on hidden keys;
    and on the output, since an average of equal values is that value, however many there are and
    whatever the mask. So it works on an attention that returns no weights. The sum may be off by
    0.1%, and by 1% where the weights were rounded to bfloat16. A softmax with a sink, which gives a
    share of each row to no key, does not pass: its rows sum to less by design.

    Args:
        attention: anything that `adapt` takes.
        train: ask it in train mode. `nn.MultiheadAttention` and many others return weights after
            dropout there, which sum to anything from 0 to 2, and do not pass.

    Raises:
        AssertionError: with the smallest and the largest sum, or how far the output moves.

    Example:
        >>> import torch
        >>> assert_rows_sum_to_one(torch.nn.MultiheadAttention(8, 2))
    """
    attention = adapt(attention)
    for length in (1, *LENGTHS):
        keys = length if attention.self_attention else length + 1
        mask = None if attention.causal else random_mask(attention, 2, length, keys, seed=length)
        inputs = attention.inputs(2, length, keys, seed=5)
        _, weights = attention(*inputs, mask, train=train)
        if weights is not None:
            _check_weights(attention, weights, mask, train)
        _check_constant_values(attention, length, keys, mask, train)


def _check_weights(attention: Adapted, weights: Tensor, mask: Tensor | None, train: bool) -> None:
    low, high = (x.item() for x in weights.sum(-1).aminmax())
    where = f"({attention.name}, {'train' if train else 'eval'} mode, {weights.shape[-1]} keys)"
    slack = 1e-2 if weights.equal(weights.bfloat16().to(weights.dtype)) else 1e-3
    if not (abs(low - 1) < slack and abs(high - 1) < slack):
        raise AssertionError(
            f"assert_rows_sum_to_one: the weights of a query sum to {low:.3g} up to {high:.3g} "
            f"{where}.\n    Likely bug: "
            + (
                "the softmax runs over the queries (dim=1 or -2) in place of the keys (dim=-1)."
                if (weights.sum(-2) - 1).abs().max() < slack
                else "weights scaled after the softmax; or none, if a sink takes a share."
                if high < 0.99
                else "the mask multiplies the weights after the softmax, or the weights are "
                "returned after dropout."
            )
        )
    if weights.min() < 0:
        raise AssertionError(f"assert_rows_sum_to_one: a weight is negative {where}.")
    if mask is not None:
        visible = mask.unsqueeze(1) if weights.dim() == 4 else mask
        hidden = weights.masked_fill(visible, 0.0).max().item()
        if hidden > 1e-6:
            raise AssertionError(
                f"assert_rows_sum_to_one: a hidden key has the weight {hidden:.3g} {where}.\n"
                "    Likely bug: the mask does not reach the weights that are returned, or is "
                "flipped."
            )


def _check_constant_values(
    attention: Adapted, length: int, keys: int, mask: Tensor | None, train: bool
) -> None:
    query, key, value = attention.inputs(2, length, keys, seed=6)
    one = value[..., :1, :].expand(value.shape)
    if attention.self_attention:
        query = key = one
    many = attention(query, key, one, mask, train=train)[0]
    first = query[..., :1, :] if attention.self_attention else query
    single = attention(first, key[..., :1, :], one[..., :1, :], None, train=train)[0]
    if train and not torch.isclose(many, single.expand(many.shape), atol=1e-4).all():
        return  # dropout lies between; the weights have been looked at
    if not same(many, single.expand(many.shape)).all():
        raise AssertionError(
            f"assert_rows_sum_to_one: with {keys} equal values the output is not that of one of "
            f"them, off by {(many - single).abs().max():.3g} ({attention.name}).\n    Likely bug: "
            "the softmax runs over the wrong dimension, or the mask multiplies the weights after "
            "the softmax, so that a row no longer sums to 1."
        )


def assert_scale(attention: Any, *, scale: float | None = None) -> None:
    """Check that the scores are scale * q·k, with 1/sqrt(D) for heads of size D.

    The scale is measured: of weights that are a softmax of scale * q·k, the differences of the
    logarithms are scale times those of the products. Functions are tried at two sizes and with
    two heads, since at one size, or with one head, several wrong scales agree with the right one.

    Args:
        attention: a function on heads, or a module that returns its weights per head and whose
            projected heads are known (`adapt(project=...)`).
        scale: what to expect; 1/sqrt(D) when omitted.

    Raises:
        AssertionError: with the scale that was found, and what it is.
        NotApplicable: weights or projected heads are not to be had.

    Example:
        >>> import torch
        >>> assert_scale(lambda query, key, value: (query @ key.mT).softmax(-1) @ value)
        Traceback (most recent call last):
            ...
        AssertionError: assert_scale: the scores are 1 * q·k, expected 0.5 * q·k for heads ...
    """
    given = adapt(attention)
    for size in (4, 9, 16) if given.heads is not None else (given.dims[0],):
        tried = given if given.heads is None else replace(given, dims=(size, size, size))
        slopes, residuals, head_dim = fit_scale(tried, 4, 4, seed=7)
        expected = default_scale(head_dim) if scale is None else scale
        if residuals.max() > 0.02:
            raise AssertionError(
                f"assert_scale: the weights are not a softmax of a multiple of q·k ({given.name}, "
                f"heads of size {head_dim}).\n    Likely bug: another score, a softmax over "
                "the wrong dimension, heads mixed up, or weights that are not those used."
            )
        found = slopes.mean().item()
        if abs(found - expected) > 0.02 * expected:
            width = head_dim * len(slopes)
            raise AssertionError(
                f"assert_scale: the scores are {found:.3g} * q·k, expected {expected:.3g} * q·k "
                f"for heads of size {head_dim} ({given.name}).\n    Likely bug: "
                f"{_which_scale(found, head_dim, width, query_len=4)}."
            )


def _which_scale(found: float, head_dim: int, width: int, query_len: int) -> str:
    candidates = {
        "the scale is missing": 1.0,
        f"divided by D = {head_dim}: the root is missing": 1 / head_dim,
        f"divided by the root of the model's width {width}, not of the head's": width**-0.5,
        "multiplied by the root of D, where it should be divided": head_dim**0.5,
        "scaled twice": 1 / head_dim if head_dim == 1 else head_dim**-0.25,
        f"divided by the root of the length {query_len}": query_len**-0.5,
    }
    for words, value in candidates.items():
        if abs(found - value) < 0.02 * value:
            return words
    return "a scale that is none of the usual mistakes"


def assert_heads_independent(attention: Any) -> None:
    """Check that each head works on its own queries, keys and values.

    Of a function on heads, one head's query, key and value are replaced at a time, and only the
    output of that head may move; with fewer key heads, query head h reads key head
    h // (H // H_kv), as in the papers and in PyTorch. Of a module, the weights of head h must be
    the softmax of the products of its own projected heads; one map for several heads fails, since
    a mean over heads is what no head looks at.

    Raises:
        AssertionError: with the heads that are mixed up, or how many share a map.
        NotApplicable: a module gives no weights, or its projected heads are not known.

    Example:
        >>> import torch
        >>> assert_heads_independent(torch.nn.MultiheadAttention(8, 2))
    """
    attention = adapt(attention)
    if attention.heads is None:
        _check_projected_heads(attention)
        return
    for kv_heads in dict.fromkeys((attention.kv_heads, attention.heads)):
        _check_each_head(replace(attention, kv_heads=kv_heads))


def _check_projected_heads(attention: Adapted) -> None:
    if attention.project is None:
        raise NotApplicable(
            f"assert_heads_independent: the projected heads of {attention.name} are not known: "
            "give adapt(project=...)"
        )
    query, key, value = attention.inputs(1, 4, 4, seed=8)
    weights = attention(query, key, value)[1]
    heads = attention.project(query, key)[0].shape[1]
    if weights is not None and weights.dim() == 3 and heads > 1:
        raise AssertionError(
            f"assert_heads_independent: the weights have shape {tuple(weights.shape)}, one map for "
            f"{heads} heads ({attention.name}).\n    Likely bug: they are averaged over the heads "
            "without saying so. Return (B, H, L, S), or ask PyTorch's module for that with "
            "average_attn_weights=False."
        )
    _, residuals, _ = fit_scale(attention, 4, 4, seed=8)
    if residuals.max() > 0.02:
        heads = [h for h, residual in enumerate(residuals.tolist()) if residual > 0.02]
        raise AssertionError(
            f"assert_heads_independent: the weights of heads {heads} are not those of their own "
            f"queries and keys ({attention.name}).\n    Likely bug: heads split with view and no "
            "transpose, a fused projection cut in another order, or weights averaged over heads."
        )


def _check_each_head(attention: Adapted) -> None:
    heads, kv_heads = attention.heads, attention.kv_heads
    inputs = attention.inputs(1, 3, 4, seed=9)
    base = attention(*inputs)[0]
    if base.shape[1] != heads:
        raise AssertionError(
            f"assert_heads_independent: the output has shape {tuple(base.shape)}, expected "
            f"{heads} heads in dimension 1 ({attention.name})."
        )
    for part, count in (("query", heads), ("key and value", kv_heads)):
        for head in range(count):
            changed = [x.clone() for x in inputs]
            other = attention.inputs(1, 3, 4, seed=10)
            for n in (0,) if part == "query" else (1, 2):
                changed[n][:, head] = other[n][:, head]
            moved = (~same(attention(*changed)[0], base, loose=0.1)).flatten(2).any(-1)[0]
            found = moved.nonzero().flatten().tolist()
            group = heads // count
            expected = list(range(head * group, (head + 1) * group))
            if found != expected:
                tiled = group > 1 and found == list(range(head, heads, kv_heads))
                raise AssertionError(
                    f"assert_heads_independent: {part} head {head} moves the output of heads "
                    f"{found}, expected {expected} ({attention.name}, {heads} heads, {kv_heads} "
                    "key heads).\n    Likely bug: "
                    + (
                        "key heads are tiled (repeat) where they should be interleaved "
                        "(repeat_interleave)."
                        if tiled
                        else "heads are mixed: a softmax over the heads, a wrong view, or a mean."
                    )
                )


def assert_weights_change_nothing(attention: Any) -> None:
    """Check that asking for weights changes neither the output nor what the mask hides.

    Raises:
        AssertionError: with how far the two outputs are apart.
        NotApplicable: the attention cannot be called both ways.

    Example:
        >>> import torch
        >>> assert_weights_change_nothing(torch.nn.MultiheadAttention(8, 2))
    """
    attention = adapt(attention)
    if not attention.asks_weights:
        raise NotApplicable(f"{attention.name} is not told whether weights are wanted")
    for length in (1, *LENGTHS):
        keys = length if attention.self_attention else length + 1
        inputs = attention.inputs(2, length, keys, seed=11)
        for mask in (None, random_mask(attention, 2, length, keys, seed=length)):
            with_weights = attention(*inputs, mask)[0]
            without = attention(*inputs, mask, need_weights=False)[0]
            if not same(with_weights, without).all():
                difference = (with_weights - without).abs().max().item()
                raise AssertionError(
                    f"assert_weights_change_nothing: asking for weights moves the output by "
                    f"{difference:.3g} ({attention.name}, length {length}, "
                    f"{'no mask' if mask is None else 'with a mask'}).\n    Likely bug: the path "
                    "with weights is another one, and mask, scale or causality did not get there."
                )


def assert_half_precision(
    attention: Any, *, dtypes: tuple[torch.dtype, ...] = (torch.float16, torch.bfloat16)
) -> None:
    """Check float16 and bfloat16 against float64: no error, no NaN, and rounding alone.

    With a causal mask where the attention takes one. A module is copied for each dtype.

    Raises:
        AssertionError: with what happened.
        NotApplicable: a Keras layer, whose dtype is chosen when it is made.

    Example:
        >>> import torch.nn.functional as F
        >>> assert_half_precision(F.scaled_dot_product_attention)
    """
    attention = adapt(attention)
    if _is_keras(attention.subject):
        raise NotApplicable("a Keras layer has its dtype from when it is made")
    is_module = isinstance(attention.subject, nn.Module)
    if is_module and attention.copied is None:
        raise NotApplicable("a module with a call of its own cannot be copied to another dtype")
    for length in (2, 4):
        for dtype in dtypes:
            inputs = [x.to(dtype) for x in attention.inputs(1, length, length, seed=12)]
            mask = None
            if attention.takes_mask and not attention.causal:
                mask = masks.causal(length, device=attention.device)[None]
            low, exact = (
                (attention.copied(kind) if is_module else attention)
                for kind in (dtype, torch.float64)
            )
            expected = exact(*(x.double() for x in inputs), mask)[0]
            try:
                output = low(*inputs, mask)[0]
            except RuntimeError as error:
                raise AssertionError(
                    f"assert_half_precision: {dtype} raises {error} ({attention.name}, length "
                    f"{length}).\n    Likely bug: a constant such as -1e9, which float16 cannot "
                    "hold. Use -inf, or torch.finfo(dtype).min."
                ) from error
            budget = 16 * torch.finfo(dtype).eps * expected.abs().max().item()
            error = (output.double() - expected).abs().max().item()
            if not error <= budget:
                raise AssertionError(
                    f"assert_half_precision: in {dtype} the output is off by {error:.3g}, more "
                    f"than rounding explains ({budget:.3g}; {attention.name}, length {length}).\n"
                    "    Likely bug: scores or softmax overflow: keep both in float32."
                )


def recover_weights(
    attention: Adapted, query: Tensor, key: Tensor, mask: Tensor | None = None
) -> Tensor:
    """The weights, returned, or read off values that are unit vectors: (B, H, L, S)."""
    if attention.self_attention:
        key = query
    value = attention.inputs(query.shape[0], query.shape[-2], key.shape[-2])[2]
    if attention.heads is not None:
        size = key.shape[-2]
        value = torch.eye(size, dtype=key.dtype, device=key.device).expand(*key.shape[:-1], size)
        return attention(query, key, value, mask)[0]
    weights = attention(query, key, value, mask)[1]
    if weights is None:
        raise NotApplicable(f"{attention.name} returns no weights, and its values are projected")
    return weights.unsqueeze(1) if weights.dim() == 3 else weights


def fit_scale(attention: Adapted, queries: int, keys: int, seed: int) -> tuple[Tensor, Tensor, int]:
    """Fit log-weights to products of query and key: slope and residual of each head, and D.

    Of weights that are a softmax of scale * q·k the differences of the logarithms are scale times
    the differences of the products, whatever else was added to a row.
    """
    if attention.project is None:
        raise NotApplicable(
            f"the projected heads of {attention.name} are not known: give adapt(project=...)"
        )
    query, key, _ = attention.inputs(1, queries, keys, std=1.0, seed=seed)
    with torch.no_grad():
        weights = recover_weights(attention, query, key)[0].double()  # (H, L, S)
        q, k = (x[0].double() for x in attention.project(query, key))  # (H, L, D), (H, S, D)
    if k.shape[0] != q.shape[0]:
        k = k.repeat_interleave(q.shape[0] // k.shape[0], 0)
    if weights.shape[0] != q.shape[0]:
        raise NotApplicable(
            f"{attention.name} returns weights of {weights.shape[0]} heads, and has {q.shape[0]}"
        )
    products = q @ k.mT  # (H, L, S)
    logs = weights.clamp_min(1e-30).log()
    kept = (weights > 1e-6) & (weights[..., :1] > 1e-6)  # what underflowed says nothing
    products = ((products - products[..., :1]) * kept).flatten(1)
    logs = ((logs - logs[..., :1]) * kept).flatten(1)
    slope = (products * logs).sum(1) / products.square().sum(1).clamp_min(1e-30)
    residual = (logs - slope[:, None] * products).norm(dim=1) / logs.norm(dim=1).clamp_min(1e-12)
    return slope, residual, q.shape[-1]
