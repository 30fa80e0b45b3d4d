"""Dot and general at each other's rate: only the rate differs."""

import pytest
import torch

from experiments import by_length, score_rates

CPU = torch.device("cpu")


@pytest.mark.build
def test_the_rate_is_the_only_difference_and_is_put_back():
    before = dict(by_length.RATES)
    setting = score_rates.settings(quick=True)[0]
    usual = by_length.measure(setting, device=CPU, command="", save=False)
    same = score_rates.measure(setting | {"rate": 0.004}, device=CPU)
    other = score_rates.measure(setting | {"rate": 0.4}, device=CPU)
    assert setting["model"] == "dot"  # by_length trains it at 0.004
    assert before == by_length.RATES
    for found in (usual, same, other):
        del found["cpu_seconds"]
    assert same == usual
    assert other != usual


def test_each_score_gets_the_rate_it_did_not_have():
    for name, rate in score_rates.RATES.items():
        assert {rate, by_length.RATES.get(name, 0.004)} == {0.002, 0.004}
