"""Attention over several processes equals attention on one."""

import pytest
import torch

from attnlab.parallel import ring_attention, split_sequence
from attnlab.parallel.placement import shards
from tests.attnlab.parallel import cases, processes


@pytest.mark.build
@pytest.mark.parametrize(
    "world", [*(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 4)), 3]
)
def test_equals_one_process(world):
    processes.run(world, cases.everything)


@pytest.mark.parametrize("zigzag", [True, False])
@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("length", [0, 1, 7, 16, 100])
def test_every_position_is_held_once(length, world, zigzag):
    placed = shards(length, world, zigzag=zigzag)
    held = [position for ranges in placed for each in ranges for position in each]
    assert sorted(held) == list(range(length))
    sizes = [sum(map(len, ranges)) for ranges in placed]
    assert max(sizes) - min(sizes) <= 2


@pytest.mark.parametrize("world", [2, 4, 16])
def test_zigzag_gives_every_process_the_same_work(world):
    length = 8 * world

    def pairs(zigzag):  # of a query and a key that it sees
        placed = shards(length, world, zigzag=zigzag)
        return [sum(place + 1 for each in ranges for place in each) for ranges in placed]

    even, uneven = pairs(True), pairs(False)
    assert sum(even) == sum(uneven) == length * (length + 1) // 2
    assert len(set(even)) == 1
    assert max(uneven) > 1.4 * sum(uneven) / world


def test_says_what_is_missing_without_processes():
    with pytest.raises(ValueError, match="group: expected processes joined by"):
        ring_attention(*torch.randn(3, 1, 4, 8, 2))
    with pytest.raises(ValueError, match="group: expected processes joined by"):
        split_sequence(torch.randn(4, 2))
