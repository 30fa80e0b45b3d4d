"""What is said to take time linear in the length does so in the backward pass, too."""

from functools import partial

import pytest
import torch

from attnkit import efficient
from tests.attnkit.efficient.memory import written

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
