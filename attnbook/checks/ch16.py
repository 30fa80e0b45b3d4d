"""Checks of the exercises of chapter 16."""

import math

import torch
import torch.nn.functional as F

from attnbook.exercises import ask as answered
from attnbook.exercises import checker, unaided
from attnkit import masks, testing


@checker(1)
def check_mended(answer):
    """Silent checks, in the order in which they say most."""
    inputs = torch.randn(3, 1, 2, 3, 8)
    if not isinstance(answered(answer, *inputs), torch.Tensor):
        return "Expected the output alone, (B, H, L, Ev)."
    # Called as it is from here on, so that what it does to its arguments shows.
    attention = testing.adapt(lambda query, key, value, mask=None: answer(query, key, value, mask))
    for check in (
        testing.assert_inputs_unchanged,
        testing.assert_rows_sum_to_one,
        testing.assert_scale,
        testing.assert_causal,
        testing.assert_padding_invariant,
        testing.assert_masked_values_ignored,
        testing.assert_half_precision,
        testing.assert_empty_rows_see_nothing,
    ):
        try:
            check(attention)
        except AssertionError as error:
            return str(error).splitlines()[0]


def _plain(query, key, value, mask=None, scale=None):
    scores = query @ key.mT * (scale or query.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


def _leaks_far(query, key, value, mask=None):
    seen = mask
    if mask is not None and query.shape[-2] > 4:
        seen = mask.clone()
        seen[..., 0, -1] = True
    return _plain(query, key, value, seen)


def _leaks_by_the_sum(query, key, value, mask=None):
    weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
    return (weights if mask is None else weights * mask) @ value


def _leaks_the_key(query, key, value, mask=None):
    output = _plain(query, key, value, mask)
    return output + 0.1 * key.mean(-2, keepdim=True)


GOOD = {
    "the plain one": _plain,
    "PyTorch's": lambda query, key, value, mask=None: F.scaled_dot_product_attention(
        query, key, value, mask
    ),
    "a sharper one": lambda query, key, value, mask=None: _plain(query, key, value, mask, 1.0),
}
LEAKS = {
    "ignores its mask": lambda query, key, value, mask=None: _plain(query, key, value),
    "masks after the softmax": _leaks_by_the_sum,
    "sees one key too many": lambda query, key, value, mask=None: _plain(
        query,
        key,
        value,
        None if mask is None else mask | masks.causal(mask.shape[-1], offset=1),
    ),
    "leaks with more than four queries": _leaks_far,
    "lets the keys through beside the values": _leaks_the_key,
}


ALLOWED = ("scaled_dot_product_attention", "attnkit.masks")  # the functions above use them


@checker(2)
def check_detector(answer):
    for name, function in GOOD.items():
        with unaided(ALLOWED):
            verdict = answered(answer, function)
        if not isinstance(verdict, bool):
            return f"Expected True or False, got {type(verdict).__name__}."
        if verdict:
            return f"Your detector finds a leak in {name}, which has none."
    for name, function in LEAKS.items():
        with unaided(ALLOWED):
            verdict = answered(answer, function)
        if not verdict:
            return f"Your detector misses an attention that {name}."
