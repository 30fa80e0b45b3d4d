"""The experiment on norms: what it changes makes a difference."""

import pytest
import torch

from experiments import norms

CPU = torch.device("cpu")


@pytest.mark.build
def test_warm_up_and_the_place_of_the_norm_make_a_difference():
    setting = norms.settings(quick=True)[0] | {"steps": 10}
    losses = {
        (norm, warm_up): norms.measure(setting | {"norm": norm, "warm_up": warm_up}, device=CPU)
        for norm in norms.NORMS
        for warm_up in (False, True)
    }
    assert len({run["loss"] for run in losses.values()}) == 4
    assert losses["pre", True]["gradients"] == losses["pre", False]["gradients"]
    assert losses["pre", True]["gradients"] != losses["post", True]["gradients"]


@pytest.mark.build
def test_without_clipping_a_long_gradient_is_left_as_it_is():
    setting = norms.settings(quick=True)[0] | {"norm": "none", "layers": 6, "steps": 4}
    losses = {norms.measure(setting | {"clip": on}, device=CPU)["loss"] for on in (True, False)}
    assert len(losses) == 2
