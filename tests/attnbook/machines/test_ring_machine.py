"""The ring: devices find together what torch finds at once, and the costs are the plan's."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnbook import releases
from attnbook.machines import RingMachine
from attnbook.machines.ring_machine import CHUNKS, COUNTS, LINKS, SHAPE
from attnlab.parallel.placement import shards
from experiments.plan import Shape, plan, shortest_part

EVERY = [
    (n, zigzag, causal) for n in COUNTS for zigzag in (False, True) for causal in (False, True)
]


def make(**settings) -> RingMachine:
    return RingMachine(**{"zigzag": True, "step": 1, "title": "A title"} | settings)


SETTINGS = [
    {"zigzag": False, "step": 2},
    {"devices": 8, "tokens": 8192, "link": 12.5, "step": 7},
    {"devices": 1, "step": 0, "kv_heads": 32},
    {"devices": 2, "causal": False, "step": 0},
    {"devices": 8, "causal": False, "kv_heads": 32, "tokens": 131072, "link": 50, "step": 3},
]


def visible(steps: int, devices: int, zigzag: bool, causal: bool) -> torch.Tensor:
    """Which keys each token has met after so many steps, from the places that each device holds."""
    held, seen = shards(CHUNKS, devices, zigzag=zigzag), torch.zeros(CHUNKS, CHUNKS)
    for device, ranges in enumerate(held):
        rows = [place for each in ranges for place in each]
        for step in range(steps):
            for each in held[(device - step) % devices]:
                for place in each:
                    seen[rows, place] = 1
    return (seen.tril() if causal else seen).bool()


@pytest.mark.parametrize(("devices", "zigzag", "causal"), EVERY)
def test_at_each_step_the_outputs_are_torchs_over_the_keys_met(devices, zigzag, causal):
    for step in range(devices):
        ring = make(devices=devices, zigzag=zigzag, causal=causal, step=step)
        tensors = [torch.tensor(x, dtype=torch.float64) for x in (ring.query, ring.key, ring.value)]
        query, key, value = tensors[0], tensors[1], tensors[2][:, None]
        seen = visible(step + 1, devices, zigzag, causal)
        expected = scaled_dot_product_attention(query, key, value, attn_mask=seen)[:, 0].tolist()
        now = ring.compute()
        assert now["outputs"] == pytest.approx(expected, abs=1e-12)
    assert now["outputs"] == pytest.approx(now["whole"], abs=1e-12)
    assert len({round(v, 6) for v in now["whole"]}) == (CHUNKS if causal else len(set(expected)))


@pytest.mark.parametrize("kv_heads", [32, 8, 1])
def test_costs_are_those_of_the_plan(kv_heads):
    now = make(devices=8, kv_heads=kv_heads).compute()
    planned = plan(Shape(1048576, 8, kv_heads=kv_heads))
    assert now["sent"] == planned.sent
    assert now["passing"] == planned.travelling
    for device in range(8):
        seconds = sum(row[device] for row in now["busy"])
        assert seconds * SHAPE["flops"] == pytest.approx(planned.flops, rel=1e-5)


@pytest.mark.parametrize("link", LINKS)
def test_the_link_binds_where_parts_are_shorter_than_the_plan_says(link):
    bounds = {}
    for tokens in RingMachine.class_traits()["lengths"].default_args[0]:
        ring = make(devices=8, tokens=tokens, link=link)
        bounds[tokens / 8] = ring.compute()["bound"]
    least = shortest_part(Shape(0, 8, kv_heads=8), flops=SHAPE["flops"], link=link * 1e9)
    assert bounds == {part: "link" if part < least else "arithmetic" for part in bounds}


@pytest.mark.parametrize("devices", COUNTS[1:])
def test_stretches_wait_for_the_last_device_and_zigzag_for_nobody(devices):
    now = make(devices=devices, zigzag=False).compute()
    half, whole = 1, 2  # squares of the diagonal, and below it
    last = half + whole * (devices - 1)
    assert now["speed"] == pytest.approx(devices**2 / last)
    assert now["bound"] == "uneven"
    assert now["idle"][-1] == pytest.approx(0)
    assert now["idle"][0] == pytest.approx(1 - half / last)
    for fair in ({}, {"zigzag": False, "causal": False}):
        now = make(devices=devices, **fair).compute()
        assert now["speed"] == pytest.approx(devices)
        assert now["idle"] == pytest.approx([0] * devices)


def test_the_shape_is_that_of_the_model_and_the_chip_of_page_14b():
    model, chip = releases.MODELS["llama-3.1-8b"], releases.CHIPS["h100"]
    (layer,) = model["layers"]
    assert SHAPE["layers"] == len(layer["places"])
    assert layer["numbers"] == 2 * 8 * SHAPE["head"]
    assert layer["work"] == 4 * SHAPE["heads"] * SHAPE["head"]
    assert SHAPE["weights"] == 2e9 * model["parameters"]
    assert (SHAPE["memory"], SHAPE["flops"]) == (1e9 * chip["memory"], 1e12 * chip["compute"])
    now = make(devices=1).compute()
    assert now["kept"] == releases.cost(model, chip, context=1048576)["cache"]
    assert not now["fits"]
    assert make(devices=4).compute()["fits"]
