"""How long an update takes: every model learns from it, and the book's file is of this code."""

import pytest
import torch

from attnbook import recorded
from experiments import update_rates


@pytest.mark.parametrize("name", update_rates.MODELS)
def test_an_update_lowers_the_loss_of_its_batch(name):
    update = update_rates.update(name, 4, torch.device("cpu"))
    losses = [update() for _ in range(5)]
    assert losses[-1] < losses[0]


def test_the_results_in_the_book_are_of_the_lengths_in_the_code():
    written = recorded.results("update_rates")
    assert written["command"] == "python -m experiments.update_rates"
    assert [row["length"] for row in written["rows"]] == list(update_rates.LENGTHS)
    for row in written["rows"]:
        assert row["ratios"].keys() == set(update_rates.MODELS[1:])
        for found in row["ratios"].values():
            assert 0 < found["low"] <= found["ratio"] <= found["high"]
