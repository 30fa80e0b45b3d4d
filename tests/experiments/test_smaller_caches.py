"""Smaller caches: what each form and each number of bits leaves of keys and values."""

import pytest
import torch

from attnkit.positions import rotary
from experiments import _smollm, smaller_caches
from experiments.smaller_caches import (
    KEPT,
    by_feature,
    bytes_a_token,
    numbers,
    quantised,
    unturned,
)

X = torch.randn(1, 3, 7, 64, generator=torch.Generator().manual_seed(0))


def test_unturned_takes_the_turn_away():
    assert torch.allclose(unturned(rotary(X, base=_smollm.BASE)), X, atol=1e-5)


@pytest.mark.parametrize("bits", [8, 4, 3, 2])
def test_a_number_in_few_bits_is_off_by_half_a_step_at_most(bits):
    left = quantised(X, bits)
    step = (X.amax(-1) - X.amin(-1)) / (2**bits - 1)
    assert ((left - X).abs().amax(-1) <= step / 2 + 1e-6).all()
    assert len(left[0, 0, 0].unique()) <= 2**bits
    assert quantised(X, 16) is X


def test_by_feature_a_large_feature_coarsens_no_other():
    large = torch.randn(1, 3, 128, 64, generator=torch.Generator().manual_seed(0))
    large[..., 5] += 50
    apart, together = (rounded(large, 4) - large for rounded in (by_feature, quantised))
    others = torch.arange(64) != 5
    assert apart[..., others].abs().max() < 0.3 < 1 < together[..., others].abs().max()
    block = large[:, :, :64]
    step = (block.amax(-2) - block.amin(-2)) / 15
    assert (apart[:, :, :64].abs().amax(-2) <= step / 2 + 1e-6).all()


def test_bytes_count_the_ends_of_each_block():
    assert numbers("three") == 2 * KEPT == 384
    assert bytes_a_token("three", 16) == 2 * 3 * 64 * 30 * 2
    assert bytes_a_token("three", 4) == 30 * (384 * 4 + 6 * 32) / 8
    assert bytes_a_token("one", 16) == bytes_a_token("three", 16) / 3
    assert bytes_a_token("latent 48", 2) == 30 * (48 * 2 + 32) / 8


def test_a_latent_of_all_numbers_loses_nothing_and_one_of_fewer_more(monkeypatch):
    monkeypatch.setitem(smaller_caches.FORMS, "all", 2 * KEPT)
    pair = torch.randn(2, 1, 3, 400, 64, generator=torch.Generator().manual_seed(0)).unbind()
    rows = smaller_caches.flat(unturned(pair[0]), pair[1])[0]
    monkeypatch.setattr(smaller_caches, "directions", lambda *_: [smaller_caches.fitted_to(rows)])
    far = []
    for form in ("all", "latent 192", "latent 96", "latent 48"):
        left = smaller_caches.squeezed(0, form, 16, 200, *pair)
        far.append(sum((a - b).square().sum() for a, b in zip(left, pair, strict=True)).item())
    assert far[0] < 1e-4 * sum(x.square().sum() for x in pair)
    assert far == sorted(far)


def test_one_for_all_is_the_mean_of_the_heads(smollm):
    left, _ = smaller_caches.squeezed(0, "one", 16, 32, X, X)
    assert torch.allclose(left, X.mean(1, keepdim=True).expand_as(X))
