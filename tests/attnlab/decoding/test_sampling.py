"""Sampling draws from the distribution that temperature, top-k and top-p describe."""

import pytest
import torch

from attnlab.decoding import sample

PROBS = torch.tensor([0.1, 0.4, 0.05, 0.25, 0.2])
N = 20_000


def frequencies(**options):
    generator = torch.Generator().manual_seed(0)
    drawn = sample(PROBS.log().expand(N, 5), generator=generator, **options)
    return torch.bincount(drawn, minlength=5) / N


def renormalised(kept, power=1.0):
    probs = torch.where(torch.tensor(kept), PROBS**power, 0.0)
    return probs / probs.sum()


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, PROBS),
        ({"temperature": 0.5}, renormalised([True] * 5, 2.0)),
        ({"temperature": 2.0}, renormalised([True] * 5, 0.5)),
        ({"top_k": 2}, renormalised([False, True, False, True, False])),
        ({"top_k": 99}, PROBS),
        ({"top_p": 0.39}, renormalised([False, True, False, False, False])),
        ({"top_p": 0.41}, renormalised([False, True, False, True, False])),
        ({"top_p": 0.9}, renormalised([True, True, False, True, True])),
        ({"top_p": 1.0}, PROBS),
        # 0.4 / 0.85 and 0.25 / 0.85 together pass 0.7, and only within the three that top_k keeps
        ({"top_k": 3, "top_p": 0.7}, renormalised([False, True, False, True, False])),
    ],
    ids=str,
)
def test_frequencies_are_those_of_the_distribution(options, expected):
    found = frequencies(**options)
    assert ((found == 0) == (expected == 0)).all()
    assert (found - expected).abs().max() < 0.015


def test_temperature_zero_is_the_argmax_and_draws_nothing():
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    assert sample(PROBS, temperature=0, generator=generator).item() == 1
    assert torch.equal(generator.get_state(), before)


def test_of_equal_logits_top_k_keeps_k():
    drawn = sample(torch.zeros(N, 5), top_k=2, generator=torch.Generator().manual_seed(0))
    assert set(drawn.tolist()) == {0, 1}


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_leading_dimensions_stay(shape):
    assert sample(PROBS.log().expand(*shape, 5)).shape == shape


def test_half_precision_is_sampled_in_single():
    logits = torch.randn(100, 3000, generator=torch.Generator().manual_seed(1)).bfloat16()
    half, single = (
        sample(x, top_p=0.9, generator=torch.Generator().manual_seed(0))
        for x in (logits, logits.float())
    )
    assert torch.equal(half, single)
