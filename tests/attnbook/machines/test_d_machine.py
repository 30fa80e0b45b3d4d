"""The d machine: its draws are normal, and all that it computes of them is what torch gives."""

import numpy as np
import pytest
import torch

from attnbook.machines import DMachine
from attnbook.machines.d_machine import SCALES, SIZES, normal
from attnkit import scaled_dot_product_attention


def make(**settings) -> DMachine:
    return DMachine(**{"title": "The d machine"} | settings)


SETTINGS = [
    {"d": 1, "scale": "none", "seed": 3},
    {"d": 16, "scale": "root"},
    {"d": 1024, "scale": "none", "seed": 999},
    {"d": 1024, "scale": "full"},
]


def test_the_draws_are_independent_and_normal():
    drawn = normal(0, 200_000)
    moments = [(drawn**power).mean() for power in (1, 2, 3, 4)]
    assert moments == pytest.approx([0, 1, 0, 3], abs=0.05)
    for lag in (1, 2, 1024):
        assert (drawn[lag:] * drawn[:-lag]).mean() == pytest.approx(0, abs=0.01)
    assert np.corrcoef(drawn, normal(1, 200_000))[0, 1] == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("settings", SETTINGS)
def test_weights_and_gradient_are_torchs(settings):
    machine = make(**settings)
    shown = machine.compute()
    query, key = map(torch.tensor, machine.drawn())
    scale = machine.d ** -SCALES[machine.scale]
    with_weights = {"scale": scale, "need_weights": True}
    weights = scaled_dot_product_attention(query, key, key, **with_weights).weights
    assert np.array(shown["weights"]) == pytest.approx(weights.numpy(), abs=1e-6)

    def row(one):
        return (scale * key @ one).softmax(-1)

    slopes = torch.func.vmap(torch.func.jacrev(row))(query)  # (L, S, d)
    assert shown["jolts"] == pytest.approx(slopes.flatten(1).norm(dim=-1).numpy(), abs=1e-6)


def test_scores_spread_by_the_root_of_d_unless_they_are_divided_by_it():
    for d in SIZES[2:]:
        assert make(d=d, scale="none").compute()["spread"] == pytest.approx(d**0.5, rel=0.2)
        assert make(d=d, scale="root").compute()["spread"] == pytest.approx(1, rel=0.2)
