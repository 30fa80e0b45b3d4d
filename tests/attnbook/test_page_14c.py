"""What the ring's page gives to copy: its processes find what torch finds of the whole text."""

import pytest
import torch
from torch import distributed
from torch.nn.functional import scaled_dot_product_attention

from attnbook.drawings import ring
from tests.attnlab.parallel import processes
from tests.book.chapter import page_cells


def lines_to_copy() -> str:
    """The cells of the ring, in one process and in several."""
    cells = page_cells("14c")
    return f"{cells['ring']}\n{cells['process']}"


def one_process(source: str) -> None:
    names = {"print": lambda *_: None}
    exec(source, names)
    torch.manual_seed(1)
    whole = torch.randn(3, 30, 8)
    rank, world = distributed.get_rank(), distributed.get_world_size()
    size = 30 // (2 * world)
    starts = (rank * size, (2 * world - 1 - rank) * size)
    mine = torch.cat([torch.arange(start, start + size) for start in starts])
    expected = scaled_dot_product_attention(*whole[:, None], is_causal=True)[0, mine]
    torch.testing.assert_close(names["ring_process"](*whole[:, mine]), expected)


def launched(source: str) -> None:
    names = {"print": lambda *_: None}
    exec(source, names)
    names["compare"]()


@pytest.mark.build
def test_the_processes_of_the_page_share_a_text():
    processes.run(3, one_process, lines_to_copy())
    processes.run(4, launched, lines_to_copy())


def test_in_zigzag_every_device_computes_half_of_each_part():
    for own in ring.PIECES:
        for other in ring.PIECES:
            assert sum(ring.computed(query, key) for query in own for key in other) == 2
