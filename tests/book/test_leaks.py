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


def ranked(x: Tensor) -> Tensor:
    """The three words of the sentence with the largest first number get more."""
    chosen = torch.zeros(6).double().scatter(0, x[0, :, 0].topk(3).indices, 1.0)
    return attend(x, CAUSAL) + chosen[:, None] * x


@pytest.mark.parametrize(("layer", "mask", "layers"), [
    (lambda x: attend(x, CAUSAL.tril(-1)), CAUSAL.tril(-1), 1),
    (lambda x: attend(x, WINDOW), WINDOW, 1),
    (lambda x: attend(attend(x, WINDOW), WINDOW), WINDOW, 2),
    (filtered, CAUSAL, 1),
    (lambda x: x + attend(x, both), both := CAUSAL & (torch.arange(6) > 1), 1),
])  # fmt: skip
def test_a_right_layer_is_not_accused(leaks, layer, mask, layers):
    assert not leaks(layer, mask, layers=layers).any()


def test_a_leak_is_found_unless_it_has_no_gradient(leaks):
    assert leaks(lambda x: attend(attend(x, WINDOW), WINDOW), WINDOW).sum() == 4
    assert leaks(lambda x: attend(x, ~CAUSAL), CAUSAL).sum() == 15
    assert not leaks(ranked, CAUSAL).any()
    x = torch.randn(1, 6, 8).double()
    x[0, :, 0] = torch.arange(6.0)  # the last three are chosen
    wiggled = x.clone()
    wiggled[0, 5, 0] = -1.0
    assert not ranked(x)[0, 2].allclose(ranked(wiggled)[0, 2])
