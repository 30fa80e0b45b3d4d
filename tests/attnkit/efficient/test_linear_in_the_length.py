"""What is said to take time or memory linear in the length does so in the backward pass, too."""

from functools import partial

import pytest
import torch

from attnkit import efficient
from tests.attnkit.efficient.memory import largest_tensor, written

FORMS = {
    "window": partial(efficient.sliding_window_attention, window=16),
    "linear": efficient.linear_attention,
    "causal": partial(efficient.linear_attention, causal=True),
    "segment": efficient.linear_attention_segment,
    "recurrent": efficient.linear_attention_recurrent,
}


@pytest.mark.build
@pytest.mark.parametrize("form", FORMS)
def test_twice_the_length_writes_twice_the_numbers(form):
    def both(length):
        inputs = [torch.randn(2, length, 8).requires_grad_() for _ in range(3)]
        return lambda: FORMS[form](*inputs)[0].sum().backward()

    once, twice = (written(both(length)) for length in (512, 1024))
    assert twice < 2.1 * once


# Beside the inputs, of 8 numbers a token: the two sequences at once, and a tile of the pairs.
MEMORY = {
    "flash": (partial(efficient.flash_attention, causal=True),
              {"flash.ROWS": 32, "flash.KEYS": 32}, 2 * 32 * 32),
    "linear": (FORMS["linear"], {"linear.CHUNK": 16}, 2 * 16 * 16),
    "causal": (FORMS["causal"], {"linear.CHUNK": 16}, 2 * 16 * 16),
    "window": (FORMS["window"], {"window.MIN_ROWS": 16, "window.MAX_ROWS": 16}, 2 * 16 * 32),
}  # fmt: skip


@pytest.mark.parametrize("form, sizes, tile", MEMORY.values(), ids=MEMORY)
def test_memory_is_that_of_the_inputs_or_of_a_tile(form, sizes, tile, monkeypatch):
    for name, size in sizes.items():
        monkeypatch.setattr(f"attnkit.efficient.{name}", size)
    for length in (64, 256, 1024):
        inputs = [torch.randn(2, length, 8).requires_grad_() for _ in range(3)]
        largest = largest_tensor(lambda x=inputs: form(*x)[0].sum().backward())
        assert largest <= max(2 * length * 8, tile)
