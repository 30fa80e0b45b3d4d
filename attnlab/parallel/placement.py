"""Which positions of a sequence each process holds, and cutting a tensor accordingly.

Under a causal mask the first queries see few keys and the last see nearly all, so a process with
the first part of the sequence is soon done and waits. Zigzag placement cuts the sequence into 2N
chunks and gives process r the chunks r and 2N - 1 - r: an early one and a late one, which together
cost every process the same.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, distributed

from attnkit.guard import checks

Shards = list[list[range]]


def shards(length: int, world: int, *, zigzag: bool = True) -> Shards:
    """The positions that each of `world` processes holds: one or two ranges for each of them.

    Lengths need not divide evenly: the first chunks are then one position longer.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `length` is negative or `world` below 1.

    Example:
        >>> shards(8, 2)
        [[range(0, 2), range(6, 8)], [range(2, 4), range(4, 6)]]
        >>> shards(7, 2, zigzag=False)
        [[range(0, 4)], [range(4, 7)]]
    """
    length = checks.integer("length", length, minimum=0)
    world = checks.integer("world", world, minimum=1)
    if not checks.flag("zigzag", zigzag) or world == 1:
        return [[chunk] for chunk in _chunks(length, world)]
    chunks = _chunks(length, 2 * world)
    return [[chunks[rank], chunks[-1 - rank]] for rank in range(world)]


def _chunks(length: int, number: int) -> list[range]:
    """Cut range(length) into `number` ranges whose sizes differ by at most one."""
    short, longer = divmod(length, number)
    edges = [place * short + min(place, longer) for place in range(number + 1)]
    return [range(first, last) for first, last in pairwise(edges)]


def split_sequence(
    whole: Tensor,
    dim: int = -2,
    *,
    zigzag: bool = True,
    group: distributed.ProcessGroup | None = None,
) -> Tensor:
    """The part of a sequence that this process holds; every process has the whole.

    Args:
        whole: (..., L, ...), with the sequence in dimension `dim`.
        dim: the dimension to cut.
        zigzag: an early and a late chunk for each process, as causal attention wants it; False
            cuts the sequence into one part for each process.
        group: the processes that share the sequence; all of them when omitted.

    Returns:
        (..., L_r, ...), a copy.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `torch.distributed` has not been initialized.

    Example:
        >>> alone = {"store": distributed.HashStore(), "rank": 0, "world_size": 1}
        >>> distributed.init_process_group("gloo", **alone)  # torchrun: without arguments
        >>> whole = torch.randn(100, 8)
        >>> part = split_sequence(whole)
        >>> torch.equal(join_sequence(part), whole)
        True
        >>> distributed.destroy_process_group()
    """
    checks.tensor("whole", whole)
    rank, world = place(group)
    own = shards(whole.shape[dim], world, zigzag=zigzag)[rank]
    return torch.cat([whole.narrow(dim, part.start, len(part)) for part in own], dim)


def join_sequence(
    part: Tensor,
    dim: int = -2,
    *,
    zigzag: bool = True,
    group: distributed.ProcessGroup | None = None,
) -> Tensor:
    """The whole sequence (..., L, ...), on every process, from the parts of `split_sequence`.

    For looking at results: the whole is in every process's memory, and no gradient flows back.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `torch.distributed` has not been initialized, or the parts are not those of
            `split_sequence`.

    Example:
        >>> alone = {"store": distributed.HashStore(), "rank": 0, "world_size": 1}
        >>> distributed.init_process_group("gloo", **alone)  # torchrun: without arguments
        >>> whole = torch.randn(100, 8)
        >>> part = split_sequence(whole)
        >>> torch.equal(join_sequence(part), whole)
        True
        >>> distributed.destroy_process_group()
    """
    checks.tensor("part", part)
    own = part.detach().movedim(dim, 0).contiguous()
    placed = shards_of(own.shape[0], zigzag=zigzag, group=group, like=own)
    parts = [own.new_empty(sum(map(len, ranges)), *own.shape[1:]) for ranges in placed]
    rank = place(group)[0]
    for other, received in enumerate(parts):
        if other == rank:
            received.copy_(own)
        distributed.broadcast(received, group=group, group_src=other)
    return torch.cat(parts)[in_order(placed, own.device)].movedim(0, dim)


def in_order(placed: Shards, device: torch.device) -> Tensor:
    """The index (L,) that puts the concatenated parts of all processes back in order."""
    held = [position for ranges in placed for each in ranges for position in each]
    return torch.tensor(held, dtype=torch.long, device=device).argsort()


def place(group: distributed.ProcessGroup | None) -> tuple[int, int]:
    """This process's rank in the group and the size of the group.

    Raises:
        ValueError: `torch.distributed` has not been initialized.
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        checks.fail(
            "group",
            "processes joined by torch.distributed.init_process_group, as torchrun starts them",
            "none",
        )
    return distributed.get_rank(group), distributed.get_world_size(group)


def shards_of(
    own: int,
    *,
    zigzag: bool,
    group: distributed.ProcessGroup | None,
    like: Tensor,
    sizes: Sequence[int] = (),
) -> Shards:
    """The placement of a sequence of which this process holds `own` positions.

    All processes tell each other their lengths and `sizes` (batch, heads, features), so that each
    of them raises the same error if they do not fit.

    Raises:
        ValueError: the lengths are not those of `shards`, or `sizes` differ.
    """
    world = place(group)[1]
    mine = torch.tensor([own, *sizes], dtype=torch.long, device=like.device)
    told = [torch.empty_like(mine) for _ in range(world)]
    distributed.all_gather(told, mine, group=group)
    told = [each.tolist() for each in told]
    lengths = [each[0] for each in told]
    if any(each[1:] != told[0][1:] for each in told):
        checks.fail("query", "the same sizes but for the length on all processes", str(told))
    placed = shards(sum(lengths), world, zigzag=zigzag)
    expected = [sum(map(len, ranges)) for ranges in placed]
    if lengths != expected:
        checks.fail("query", f"parts of {expected} positions, as split_sequence cuts", str(lengths))
    return placed
