"""How long an update takes: every model learns from it."""

import pytest
import torch

from experiments import update_rates


@pytest.mark.parametrize("name", update_rates.MODELS)
def test_an_update_lowers_the_loss_of_its_batch(name):
    update = update_rates.update(name, 4, torch.device("cpu"))
    losses = [update() for _ in range(5)]
    assert losses[-1] < losses[0]
