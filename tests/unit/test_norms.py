"""The experiment on norms: its quick form runs and repeats itself, and its gradients are shares."""

import json
import math

import torch

from experiments import norms

CPU = torch.device("cpu")


def test_quick_form_runs_and_repeats_itself(tmp_path):
    out = tmp_path / "a.json"
    first = norms.main(["--quick", "--device", "cpu", "--out", str(out)])
    assert json.loads(out.read_text()) == first
    assert len(first["rows"]) == 2 * 2 * len(norms.RATES)
    setting = norms.settings(quick=True)[-1]
    again = norms.measure(setting, device=CPU)
    assert again["loss"] == first["rows"][-1]["losses"][-1]
    for row in first["rows"]:
        shares = [x["median"] for side in row["gradients"].values() for x in side]
        assert all(0 < share <= 1 for share in shares)
        assert math.isclose(max(shares), 1, rel_tol=0.2)


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
