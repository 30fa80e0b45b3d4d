"""The roof of a processor: three forms of one attention, and counts that are torch's."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnbook import recorded
from experiments import roofline


def test_the_three_forms_give_the_same():
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, roofline.HEADS, 256, roofline.WIDTH)
    plain, tiles, fused = (form(q, k, v) for form in roofline.FORMS.values())
    assert torch.allclose(plain, tiles.output, atol=1e-5)
    assert torch.allclose(plain, fused, atol=1e-5)


@pytest.mark.parametrize("case", ["weights", "attention"])
def test_operations_and_bytes_are_torchs(case):
    """Of what the experiment would run, on the meta device."""
    for row in recorded.results("roofline")["rows"]:
        if row["case"] != case:
            continue
        n, side = row["count"], row["side"]
        with FlopCounterMode(display=False) as counter, torch.device("meta"):
            if case == "weights":
                x = torch.empty(side, side), torch.empty(side, n)
                given = [*x, x[0] @ x[1]]
            else:
                x = torch.empty(3, 1, roofline.HEADS, n, side)
                given = [x, roofline.plain(*x)]
                table = (x[0] @ x[1].mT).nbytes
        again = counter.get_total_flops() * (2 / 3 if case == "attention" else 1)
        assert row["operations"] == pytest.approx(again)  # the scores were counted twice
        assert row["bytes"] == sum(part.nbytes for part in given)
        assert row.get("table", 0) == (4 * table if case == "attention" else 0)


def test_the_results_in_the_book_are_of_the_shapes_in_the_code():
    written = recorded.results("roofline")
    assert written["command"] == "python -m experiments.roofline"
    found = {(row["case"], row["count"]) for row in written["rows"]}
    assert found == {(one["case"], one["count"]) for one in roofline.settings(quick=False)}
