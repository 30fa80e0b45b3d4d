"""Usual calls are short: few calls inside attnkit, and no work that they do not need.

More work gives the same result, so no test of results would notice it.
"""

import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import attnkit
from attnkit import AdditiveAttention, LuongAttention, MultiHeadAttention, formula, masks

HOME = str(Path(attnkit.__file__).parent)
sdpa = attnkit.scaled_dot_product_attention


def inside(call) -> Counter:
    entered = Counter()

    def note(frame, event, _):
        code = frame.f_code
        # Up to Python 3.11 a comprehension counts as a function.
        if event == "call" and code.co_filename.startswith(HOME) and code.co_name[0] != "<":
            entered[Path(code.co_filename).stem, code.co_name] += 1

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(previous)
    return entered


def assert_short(call, calls: int, checks: int) -> None:
    """It makes at most so many calls inside attnkit, and of them so many checks."""
    entered = inside(call)
    counted = sum(n for (file, _), n in entered.items() if file == "checks")
    assert entered.total() <= calls, entered
    assert counted <= checks, entered


def three(*shape):
    return torch.randn(3, *shape).unbind()


@pytest.mark.parametrize(("shape", "options", "calls", "checks"), [
    ((2, 4, 6, 8), {}, 2, 0),
    ((2, 6, 8), {}, 18, 6),
    ((6, 8), {}, 18, 6),
    ((2, 4, 6, 8), {"mask": masks.causal(6)}, 20, 8),
    ((2, 6, 8), {"mask": masks.causal(6)}, 23, 8),
    ((2, 4, 6, 8), {"mask": masks.causal(6)[None, None]}, 20, 8),
    ((2, 4, 6, 8), {"need_weights": True}, 20, 6),
    ((2, 6, 8), {"need_weights": True}, 20, 6),
    ((2, 4, 6, 8), {"mask": masks.causal(6), "need_weights": True}, 26, 8),
    ((2, 6, 8), {"mask": masks.causal(6), "need_weights": True}, 26, 8),
])  # fmt: skip
def test_a_usual_call_of_the_function(shape, options, calls, checks):
    query, key, value = three(*shape)
    assert_short(lambda: sdpa(query, key, value, **options), calls, checks)
    if not options and len(shape) < 4:  # as short with fewer queries
        assert_short(lambda: sdpa(query[..., :4, :], key, value), calls, checks)


def test_more_keys_than_queries():
    query, key, value = three(2, 4, 6, 8)
    assert_short(lambda: sdpa(query[..., :4, :], key, value), 15, 6)


@pytest.mark.parametrize(("build", "options", "calls", "checks"), [
    (lambda: MultiHeadAttention(16, 4), {}, 21, 5),
    (lambda: MultiHeadAttention(16, 4), {"need_weights": True}, 26, 5),
    (lambda: MultiHeadAttention(16, 4), {"mask": masks.causal(6)}, 30, 7),
    (lambda: MultiHeadAttention(16, 4, num_kv_heads=2), {"mask": masks.causal(6)}, 31, 7),
    (lambda: AdditiveAttention(16, 16, 8), {}, 26, 4),
    (lambda: LuongAttention(16, 16), {"mask": masks.causal(6)}, 34, 6),
])  # fmt: skip
@torch.no_grad()
def test_a_usual_call_of_a_module(build, options, calls, checks):
    module, x = build(), torch.randn(2, 6, 16)
    keys = {} if isinstance(module, MultiHeadAttention) else {"key": x}
    assert_short(lambda: module(x, **keys, **options), calls, checks)


def the_rows_of_weights(monkeypatch, module, *inputs):
    rows, linear = [], F.linear

    def note(x, weight, bias=None):
        rows.append(len(weight))
        return linear(x, weight, bias)

    monkeypatch.setattr(F, "linear", note)
    module(*inputs)
    return rows


def test_no_input_is_projected_to_what_nobody_reads(monkeypatch):
    """Of the packed matrix, each of three inputs meets its own third."""
    module = MultiHeadAttention(16, 4, num_kv_heads=2)
    inputs = three(2, 6, 16)
    assert the_rows_of_weights(monkeypatch, module, *inputs) == [16, 8, 8, 16]
    assert the_rows_of_weights(monkeypatch, module, inputs[0]) == [32, 16]


@pytest.mark.parametrize("shape", [(2, 6, 8), (2, 4, 6, 8)])
def test_scores_are_scaled_while_they_are_multiplied(monkeypatch, shape):
    products, multiply = [], torch.baddbmm

    def note(*values, **options):
        products.append(options)
        return multiply(*values, **options)

    monkeypatch.setattr(torch, "baddbmm", note)
    query, key, value = three(*shape)
    sdpa(query, key, value, scale=0.5, need_weights=True)
    assert products == [{"beta": 0, "alpha": 0.5}]


@pytest.mark.parametrize("wanted", [None, 0, 1, 2])
def test_empty_rows_are_looked_for_where_a_gradient_is_wanted(monkeypatch, wanted):
    """Of the kernel it is known that it gives an empty row 0; of its gradient it is not."""
    looked, inputs = [], three(2, 4, 6, 8)
    any_visible = formula.any_visible

    def note(mask):
        looked.append(mask)
        return any_visible(mask)

    monkeypatch.setattr(formula, "any_visible", note)
    if wanted is not None:
        inputs[wanted].requires_grad_()
    sdpa(*inputs, mask=masks.causal(6))
    assert len(looked) == (wanted is not None)


@torch.no_grad()
def test_heads_with_weights_are_made_by_one_copy_and_multiplied_as_one_batch(monkeypatch):
    seen, attention = [], formula.attention

    def note(query, key, value, *rest):
        seen.extend((query, key, value))
        return attention(query, key, value, *rest)

    monkeypatch.setattr(formula, "attention", note)
    MultiHeadAttention(16, 4)(torch.randn(2, 6, 16), need_weights=True)
    assert [tuple(x.shape) for x in seen] == [(8, 6, 4)] * 3
    assert len({x.untyped_storage().data_ptr() for x in seen}) == 1
