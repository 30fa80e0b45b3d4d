"""Checks of what must make no difference: order, batch, other queries, an earlier call."""

from typing import Any

import torch
from torch import Tensor

from attnkit.testing.adapter import NotApplicable, adapt, random_mask, same
from attnkit.testing.masking import LENGTHS


def assert_permutation_equivariant(attention: Any) -> None:
    """Check that keys may come in any order, and tokens of self-attention with their outputs.

    Attention without positions is blind to order (chapter 07). Where it is not, positions come
    in unasked, or the features of one token are mixed with those of another.

    Raises:
        AssertionError: with the smallest length at which order matters.
        NotApplicable: the attention is causal by itself, so that order must matter.

    Example:
        >>> import torch
        >>> assert_permutation_equivariant(torch.nn.MultiheadAttention(8, 2))
    """
    attention = adapt(attention)
    if attention.causal:
        raise NotApplicable("assert_permutation_equivariant: a causal attention knows order")
    for length in LENGTHS:
        order = torch.arange(length - 1, -1, -1)
        query, key, value = attention.inputs(1, length, seed=13)
        mask = random_mask(attention, 1, length, length, seed=length)
        straight, weights = attention(query, key, value, mask)
        shuffled_mask = None if mask is None else mask[..., order]
        shuffled = [query, key[..., order, :], value[..., order, :]]
        if attention.self_attention:
            shuffled = [query[..., order, :]] * 3
            shuffled_mask = None if mask is None else shuffled_mask[..., order, :]
            straight = straight[..., order, :] if straight.shape[-2] == length else straight
            weights = None if weights is None else weights[..., order, :]
        output, other = attention(*shuffled, shuffled_mask)
        if not same(output, straight).all():
            raise AssertionError(
                "assert_permutation_equivariant: keys in another order change the output by "
                f"{(output - straight).abs().max():.3g} ({attention.name}, length {length}).\n"
                "    Likely bug: heads split by view without a transpose, so that positions are "
                "read as features; positions added on the way; or a mask by position that was "
                "not asked for."
            )
        if weights is not None and not same(other, weights[..., order]).all():
            raise AssertionError(
                "assert_permutation_equivariant: the output keeps to the order of the keys and "
                f"the weights do not ({attention.name}, length {length}).\n    Likely bug: the "
                "weights that are returned are not those that were used."
            )


def assert_batch_independent(attention: Any) -> None:
    """Check that a sequence gets in a batch what it gets alone.

    Raises:
        AssertionError: with the sequence that differs.

    Example:
        >>> import torch
        >>> assert_batch_independent(torch.nn.MultiheadAttention(8, 2))
        >>> sequence_first = torch.nn.MultiheadAttention(8, 2)
        >>> assert_batch_independent(
        ...     adapt(sequence_first, lambda q, k, v: sequence_first(q, k, v)[0], embed_dim=8)
        ... )
        Traceback (most recent call last):
            ...
        AssertionError: assert_batch_independent: sequence 0 gets another output alone than in ...
    """
    attention = adapt(attention)
    for length in (1, *LENGTHS):
        inputs = attention.inputs(3, length, seed=14)
        mask = None if attention.causal else random_mask(attention, 3, length, length, seed=length)
        whole = attention(*inputs, mask)[0]
        for b in range(3):
            one = slice(b, b + 1)
            alone = attention(*(x[one] for x in inputs), None if mask is None else mask[one])[0]
            if alone.shape != whole[one].shape or not same(alone, whole[one]).all():
                raise AssertionError(
                    f"assert_batch_independent: sequence {b} gets another output alone than in a "
                    f"batch of 3 ({attention.name}, length {length}).\n    Likely bug: batch and "
                    "length are swapped (batch_first), the softmax runs over the batch, or one "
                    "sequence's mask is used for another."
                )


def assert_queries_independent(attention: Any) -> None:
    """Check that each query is answered alone: the others make no difference.

    Raises:
        AssertionError: with the query that differs.
        NotApplicable: self-attention of one sequence, whose other queries are other keys; ask
            `assert_causal`.

    Example:
        >>> assert_queries_independent(lambda q, k, v: (q @ k.mT).softmax(-2) @ v)
        Traceback (most recent call last):
            ...
        AssertionError: assert_queries_independent: query 0 gets another output alone than among ...
    """
    attention = adapt(attention)
    if attention.self_attention:
        raise NotApplicable("assert_queries_independent: other queries are other keys here")
    if attention.causal:
        raise NotApplicable("assert_queries_independent: alone, a query would lose its place")
    for length in LENGTHS:
        query, key, value = attention.inputs(2, length, length + 1, seed=15)
        mask = random_mask(attention, 2, length, length + 1, seed=length)
        whole = attention(query, key, value, mask)[0]
        for i in range(length):
            row = slice(i, i + 1)
            alone = attention(
                query[..., row, :], key, value, None if mask is None else mask[:, row]
            )[0]
            if whole.shape[-2] != length or not same(alone, whole[..., row, :]).all():
                raise AssertionError(
                    f"assert_queries_independent: query {i} gets another output alone than among "
                    f"{length} ({attention.name}).\n    Likely bug: the softmax runs over the "
                    "queries (dim=1 or -2), or queries are averaged."
                )


def assert_inputs_unchanged(attention: Any) -> None:
    """Check that the caller's tensors are as before, and that nothing is kept between calls.

    Raises:
        AssertionError: with the argument that was written to.

    Example:
        >>> def hasty(query, key, value):
        ...     query *= query.shape[-1] ** -0.5
        ...     return (query @ key.mT).softmax(-1) @ value
        >>> assert_inputs_unchanged(hasty)
        Traceback (most recent call last):
            ...
        AssertionError: assert_inputs_unchanged: the caller's query was changed in place ...
    """
    attention = adapt(attention)
    inputs = attention.inputs(2, 3, seed=16)
    mask = None if attention.causal else random_mask(attention, 2, 3, 3, seed=3)
    before = [None if x is None else x.clone() for x in (*inputs, mask)]
    names = ("query", "key", "value", "mask")

    def call() -> Tensor:
        try:
            return attention(*inputs, mask)[0].clone()
        except RuntimeError as error:
            if "in-place" in str(error):
                raise AssertionError(
                    f"assert_inputs_unchanged: an input was changed in place ({attention.name}): "
                    f"{error}"
                ) from error
            raise

    first = call()
    for name, now, then in zip(names, (*inputs, mask), before, strict=True):
        if then is not None and not torch.equal(now, then):
            raise AssertionError(
                f"assert_inputs_unchanged: the caller's {name} was changed in place "
                f"({attention.name}).\n    Likely bug: `*=`, `masked_fill_` or `+=` on an "
                "argument, or on a view of it."
            )
    other = attention.inputs(2, 3, seed=17)
    attention(*other, mask)
    if not same(call(), first).all():
        raise AssertionError(
            f"assert_inputs_unchanged: a call in between changes the answer ({attention.name}).\n"
            "    Likely bug: a mask, a cache or an output kept on self from an earlier call."
        )
