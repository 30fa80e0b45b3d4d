"""The models of `by_length` at other rates: every rate is there once."""

import itertools

from experiments import by_length, score_rates


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
