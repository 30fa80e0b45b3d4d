"""Checks for anybody's attention: a module, a layer or a function, in one line each.

    from attnkit import testing

    testing.assert_causal(module)
    testing.assert_padding_invariant(module)

Each takes an attention as `adapt` understands it, runs it on small inputs, the smallest first, and
raises AssertionError with the smallest input that fails and the likely bug. Each is silent on
PyTorch's, Keras's and attnkit's attention, apart from the choices that its docstring names.
Chapter 16 shows what each catches.
"""

from attnkit.testing.adapter import Adapted, NotApplicable, adapt
from attnkit.testing.invariance import (
    assert_batch_independent,
    assert_inputs_unchanged,
    assert_permutation_equivariant,
    assert_queries_independent,
)
from attnkit.testing.masking import (
    assert_causal,
    assert_combines_masks,
    assert_empty_rows_see_nothing,
    assert_masked_values_ignored,
    assert_padding_invariant,
    assert_sees,
    assert_window,
)
from attnkit.testing.numbers import (
    assert_half_precision,
    assert_heads_independent,
    assert_rows_sum_to_one,
    assert_scale,
    assert_weights_change_nothing,
)
from attnkit.testing.running import (
    assert_cache_equals_full,
    assert_compiles_once,
    assert_dropout_off_in_eval,
)

__all__ = [
    "Adapted",
    "NotApplicable",
    "adapt",
    "assert_batch_independent",
    "assert_cache_equals_full",
    "assert_causal",
    "assert_combines_masks",
    "assert_compiles_once",
    "assert_dropout_off_in_eval",
    "assert_empty_rows_see_nothing",
    "assert_half_precision",
    "assert_heads_independent",
    "assert_inputs_unchanged",
    "assert_masked_values_ignored",
    "assert_padding_invariant",
    "assert_permutation_equivariant",
    "assert_queries_independent",
    "assert_rows_sum_to_one",
    "assert_scale",
    "assert_sees",
    "assert_weights_change_nothing",
    "assert_window",
]
