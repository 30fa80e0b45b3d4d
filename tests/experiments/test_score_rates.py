"""The models of `by_length` at other rates: only the rate differs, and every rate is there once."""

import itertools

import pytest
import torch

from experiments import by_length, score_rates

CPU = torch.device("cpu")


@pytest.mark.build
def test_the_rate_is_the_only_difference():
    setting = next(one for one in score_rates.settings(quick=True) if one["model"] == "dot")
    usual = {name: value for name, value in setting.items() if name != "rate"}
    assert usual in by_length.settings(score_rates.TASK, quick=True)
    changed = (usual, setting | {"rate": by_length.RATE}, setting | {"rate": 0.4})
    found = [score_rates.measure(one, device=CPU) for one in changed]
    for one in found:
        del one["cpu_seconds"]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_with_by_length_every_model_with_attention_and_recurrence_has_every_rate_once():
    usual = [
        one
        for one in by_length.settings(score_rates.TASK, quick=False)
        if one["model"] in score_rates.MODELS and one["seed"] in score_rates.SEEDS
    ]
    others = score_rates.settings(quick=False)
    usual = [{"rate": by_length.RATES.get(one["model"], by_length.RATE)} | one for one in usual]
    both = [(one["model"], one["rate"], one["seed"]) for one in (*usual, *others)]
    grid = itertools.product(score_rates.MODELS, score_rates.RATES, score_rates.SEEDS)
    assert sorted(both) == sorted(grid)
    kinds = by_length.MODELS.items()
    attending = {name for name, kind in kinds if kind.get("attention", "none") != "none"}
    assert set(score_rates.MODELS) == attending
