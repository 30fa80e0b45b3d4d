"""The bytes of attention in tiles: those of a walk over them."""

import pytest
import torch

from attnbook.machines import FastMemory
from attnbook.machines.fast_memory import BITS, FAST, LENGTHS, WIDTHS


def make(**settings) -> FastMemory:
    return FastMemory(**{"title": "A title"} | settings)


SETTINGS = [
    {"fast": 16},
    {"length": 131072, "fast": 4096, "bits": 16},
    {"length": 256, "fast": 512, "width": 128},
    {"fast": 64, "length": 1024},
]


def walk(machine: FastMemory) -> int:
    """Bytes that are fetched and put back, tile by tile, with torch's own tensors."""
    side, kind = machine.compute()["side"], {32: torch.float32, 16: torch.float16}[machine.bits]
    query, key, value = torch.empty(3, machine.length, machine.width, dtype=kind, device="meta")
    moved = 0
    for block in query.split(side):
        moved += block.nbytes
        for k, v in zip(key.split(side), value.split(side), strict=True):
            scores = block @ k.T  # stays
            held = scores.nbytes + 2 * block.nbytes + k.nbytes + v.nbytes
            assert held == machine.compute()["used"] <= 1024 * machine.fast
            moved += k.nbytes + v.nbytes
        moved += block.nbytes  # the output
    return moved


@pytest.mark.parametrize("settings", SETTINGS[2:] + [{}, {"bits": 16, "fast": 32}])
def test_bytes_are_those_of_a_walk(settings):
    machine = make(**settings)
    assert machine.compute()["tiles"] == walk(machine)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("bits", BITS)
def test_whole_is_what_the_three_lines_touch(width, bits):
    machine = make(length=512, width=width, bits=bits)
    q, k, v = torch.empty(3, 512, width, device="meta", dtype=getattr(torch, f"float{bits}"))
    scores = q @ k.mT
    weights = scores.softmax(-1)
    given = sum(x.nbytes for x in (q, k, v, weights @ v))
    assert machine.compute()["whole"] == given + 2 * (scores.nbytes + weights.nbytes)


def test_the_tile_is_the_largest_that_fits():
    for fast in FAST:
        now = make(fast=fast, length=131072).compute()
        twice = 2 * now["side"]
        assert now["used"] <= 1024 * fast < 4 * (twice**2 + 4 * twice * 64)
    sides = [make(fast=fast, length=131072).compute()["side"] for fast in FAST]
    assert sides == sorted(sides)


def test_a_tile_is_no_larger_than_the_table():
    for length in LENGTHS:
        assert make(length=length, fast=4096).compute()["side"] <= length
