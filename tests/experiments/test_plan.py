"""The plan of ring attention is borne out by the measured runs and by the plain form."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnbook import recorded
from experiments import plan


def test_one_device_sends_nothing_and_computes_all_visible_pairs():
    shape = plan.Shape(100, 1, batch=2, heads=4, kv_heads=2, head_dim=8, dtype="float32")
    planned = plan.plan(shape)
    assert planned.sent == planned.sent_backward == 0
    assert planned.tensors == 4 * 2 * 100 * 8 * (4 + 4 + 2 + 2)
    assert planned.flops == 4 * 8 * 2 * 4 * 100 * 101 / 2


def test_the_operations_are_those_that_torch_counts():
    """For every pair rather than the visible half, so twice as many but for the diagonal."""
    length, heads, dim = 64, 3, 8
    query, key, value = torch.randn(3, 1, heads, length, dim, requires_grad=True).unbind()
    with FlopCounterMode(display=False) as forward:
        output = (query @ key.mT).softmax(-1) @ value
    with FlopCounterMode(display=False) as backward:
        output.sum().backward()
    shape = plan.Shape(length, 1, heads=heads, kv_heads=heads, head_dim=dim)
    planned = plan.plan(shape, recompute=False)
    whole = 2 * length / (length + 1)
    assert forward.get_total_flops() == pytest.approx(planned.flops * whole)
    # The plain form keeps its scores, where the plan counts them anew.
    kept = planned.flops_backward * (plan.BACKWARD - 2) / plan.BACKWARD
    assert backward.get_total_flops() == pytest.approx(kept * whole)


def test_memory_falls_with_the_devices():
    one, many = (plan.plan(plan.Shape(2**20, devices)) for devices in (1, 64))
    assert many.tensors == one.tensors / 64
    assert many.flops == pytest.approx(one.flops / 64)


@pytest.mark.parametrize("kv_heads", [32, 8])
def test_at_the_shortest_part_both_take_equally_long(kv_heads):
    flops, link, devices = 1e15, 5e10, 16
    part = plan.shortest_part(plan.Shape(0, devices, kv_heads=kv_heads), flops=flops, link=link)
    planned = plan.plan(plan.Shape(round(part) * devices, devices, kv_heads=kv_heads))
    messages, arithmetic = planned.sent / link, planned.flops / flops
    # Of N steps only N - 1 send.
    assert messages * devices / (devices - 1) == pytest.approx(arithmetic, rel=1e-3)


def test_the_measured_bytes_are_those_planned():
    written = recorded.results("parallel")
    assert {row["processes"] for row in written["rows"]} == {1, 2, 4}
    for row in written["rows"]:
        for name in ("sent", "sent_backward"):
            assert row[name] == row["planned"][name]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--length", "10.5", "--devices", "2"], "--length: expected a whole number"),
        (["--length", "10", "--devices", "0"], "--devices: expected more than 0, got 0"),
        (["--length", "10", "--devices", "2", "--kv-heads", "5"], "expected a divisor of 32"),
    ],
)
def test_wrong_options_are_named(argv, message, capsys):
    with pytest.raises(SystemExit):
        plan.options(argv)
    assert message in capsys.readouterr().err


def test_says_what_bounds_the_time(capsys):
    plan.main(["--length", "1e6", "--devices", "64", "--link", "12.5", "--kv-heads", "8"])
    said = capsys.readouterr().out
    assert "1,000,000 positions on 64 devices" in said
    assert "bound by messages" in said
    plan.main(["--length", "1e6", "--devices", "64"])
    assert "bound by messages" not in capsys.readouterr().out
