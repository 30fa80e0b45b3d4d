"""The `leaks` of page 06b, as a reader would copy it, accuses no layer that is right."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import masks
from tests.book.test_drawings import cells

CAUSAL, WINDOW = masks.causal(6), masks.sliding_window(6, window=2)


@pytest.fixture(scope="module")
def leaks():
    return cells("06b", "leaks-code")["leaks"]


def attend(x: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def filtered(x: Tensor) -> Tensor:
    """A causal convolution by FFT, which rounds."""
    spectrum = torch.fft.rfft(torch.arange(6.0).double(), n=12)[:, None]
    return torch.fft.irfft(torch.fft.rfft(x, n=12, dim=1) * spectrum, n=12, dim=1)[:, :6]


@pytest.mark.parametrize(("layer", "mask", "layers"), [
    (lambda x: attend(x, CAUSAL.tril(-1)), CAUSAL.tril(-1), 1),
    (lambda x: attend(x, WINDOW), WINDOW, 1),
    (lambda x: attend(attend(x, WINDOW), WINDOW), WINDOW, 2),
    (filtered, CAUSAL, 1),
    (lambda x: x + attend(x, both), both := CAUSAL & (torch.arange(6) > 1), 1),
])  # fmt: skip
def test_a_right_layer_is_not_accused(leaks, layer, mask, layers):
    assert not leaks(layer, mask, layers=layers).any()


def test_a_leak_is_found(leaks):
    assert leaks(lambda x: attend(attend(x, WINDOW), WINDOW), WINDOW).sum() == 4
    assert leaks(lambda x: attend(x, ~CAUSAL), CAUSAL).sum() == 15
