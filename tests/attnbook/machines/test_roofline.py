"""The roofline: 14b's step for decoding, torch's count for prefill, and a roof over all of it."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnbook import releases
from attnbook.machines import Roofline
from attnbook.machines.roofline import BITS, PARTS, READERS
from experiments import card

EMBEDDING = card.LLAMA["vocab_size"] * card.LLAMA["embed_dim"]


def make(**settings) -> Roofline:
    return Roofline(**{"title": "A title"} | settings)


SETTINGS = [
    {"chip": "a100", "phase": "prefill"},
    {"readers": 256, "tokens": 131072, "bits": 4},
    {"phase": "prefill", "table": True, "tokens": 8192},
    {"chip": "b200", "table": True, "readers": 16},
]


@pytest.mark.parametrize("chip", ["h100", "a100", "h200"])
@pytest.mark.parametrize("bits", BITS)
def test_a_decoding_step_is_that_of_the_calculator_without_the_embeddings(chip, bits):
    model = releases.MODELS["llama-3.1-8b"]
    read = model["parameters"] - EMBEDDING / 1e9
    for readers, tokens in ((1, 8192), (4, 4096), (16, 1024)):
        expected = releases.cost(
            model | {"parameters": read, "active": read}, releases.CHIPS[chip], context=tokens,
            readers=readers, weight_bits=bits, cache_bits=bits)  # fmt: skip
        assert expected["chips"] == 1
        now = make(chip=chip, bits=bits, readers=readers, tokens=tokens).compute()
        assert now["step"]["seconds"] == pytest.approx(expected["step"])
        assert {"bandwidth": "memory"}.get(now["step"]["bound"], "compute") == expected["bound"]


def test_operations_of_prefill_are_those_that_torch_counts():
    """One layer: its scores and its weighted sum, half of which is seen without a table."""
    tokens, heads, width = 128, 32, 128
    q, k, v = torch.empty(3, heads, tokens, width, device="meta")
    with FlopCounterMode(display=False) as counter:
        _ = (q @ k.mT).softmax(-1) @ v
    for table, share in ((True, 1), (False, (tokens + 1) / (2 * tokens))):
        now = make(phase="prefill", tokens=tokens, table=table).compute()
        assert now["attention"]["operations"] == counter.get_total_flops() * share * 32


def test_of_a_prompt_the_last_matrix_sees_one_token():
    one, two = (make(phase="prefill", tokens=n).compute()["weights"] for n in (128, 256))
    assert 2 * one["operations"] - two["operations"] == pytest.approx(2 * EMBEDDING, rel=1e-3)


def test_a_table_crosses_four_times():
    q, k = torch.empty(2, 32, 128, 128, dtype=torch.float16, device="meta")
    table = 32 * (q @ k.mT).nbytes
    sizes = [
        make(phase="prefill", tokens=128, table=table).compute()["attention"]["bytes"]
        for table in (False, True)
    ]
    assert sizes[1] - sizes[0] == 4 * table


def test_nothing_is_above_the_roof_and_the_ridge_parts_what_bounds():
    for settings in [*SETTINGS, {}, {"readers": 1024, "tokens": 128}]:
        machine = make(**settings)
        now, chip = machine.compute(), releases.CHIPS[machine.chip]
        for name in PARTS:
            one = now[name]
            assert one["speed"] <= 1e12 * chip["compute"]
            assert one["speed"] <= 1e12 * chip["bandwidth"] * one["intensity"] * (1 + 1e-9)
            assert one["seconds"] == pytest.approx(one["operations"] / one["speed"])
            assert (one["bound"] == "compute") == (one["intensity"] > now["ridge"])
        here = READERS.index(machine.readers)
        assert now["trail"][here] == now["step"]["intensity"]


def test_parts_one_after_the_other_take_longer_where_they_are_bound_differently():
    for settings in [*SETTINGS, {}]:
        now = make(**settings).compute()
        same = now["weights"]["bound"] == now["attention"]["bound"]
        assert (now["apart"] == pytest.approx(now["step"]["seconds"])) == same
        assert now["apart"] >= now["step"]["seconds"] * (1 - 1e-9)


def test_readers_move_the_weights_and_not_attention():
    one, many = (make(readers=n).compute() for n in (1, 64))
    assert many["held"] == pytest.approx(many["step"]["bytes"] + 2 * EMBEDDING, rel=1e-4)
    assert many["weights"]["intensity"] == pytest.approx(64 * one["weights"]["intensity"])
    assert many["attention"]["intensity"] == one["attention"]["intensity"]
