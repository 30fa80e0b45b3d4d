"""Exact attention over a sharded sequence by exchanging heads for positions.

Jacobs et al. (2023), "DeepSpeed Ulysses: system optimizations for enabling training of extreme
long sequence Transformer models". Each of N processes holds all heads of its part of the sequence.
One all-to-all gives it the whole sequence for H / N of the heads, attention runs there as on one
machine, and a second all-to-all gives the outputs back. N cannot be larger than the number of
heads; the memory of a process falls with its heads.
"""

from torch import Tensor, distributed

from attnkit.call import check
from attnkit.efficient.flash import flash_attention
from attnkit.guard import checks
from attnkit.guard.dtypes import as_autocast, autocasting
from attnlab.parallel.exchange import AllToAll
from attnlab.parallel.placement import Shards, in_order, place
from attnlab.parallel.ring import one_sequence, refuse_weights


def ulysses_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    need_weights: bool = False,
    zigzag: bool = True,
    group: distributed.ProcessGroup | None = None,
) -> Tensor:
    """`ring_attention` by another way: each process computes some heads of the whole sequence.

    Args:
        query: (..., H, L_r, E), this process's part; all but L_r the same on all processes.
        key: (..., H, L_r, E), or with fewer heads if `enable_gqa`.
        value: (..., H, L_r, Ev), with the heads of `key`.
        causal, window, scale, enable_gqa, need_weights, zigzag, group: as in `ring_attention`.

    Returns:
        (..., H, L_r, Ev).

    Raises:
        TypeError: an input is not a floating tensor, or dtypes differ.
        ValueError: as `ring_attention`; or the number of processes does not divide the heads.

    Example:
        >>> import torch
        >>> from torch import distributed
        >>> from attnlab.parallel import ring_attention, split_sequence
        >>> alone = {"store": distributed.HashStore(), "rank": 0, "world_size": 1}
        >>> distributed.init_process_group("gloo", **alone)  # torchrun: without arguments
        >>> query, key, value = (split_sequence(torch.randn(4, 100, 8)) for _ in range(3))
        >>> output = ulysses_attention(query, key, value, causal=True)
        >>> torch.allclose(output, ring_attention(query, key, value, causal=True), atol=1e-5)
        True
        >>> distributed.destroy_process_group()
    """
    refuse_weights("ulysses_attention", need_weights)
    if autocasting(query):
        query, key, value = as_autocast(query, key, value)
    checks.dims("query", query, 3, "(..., H, L_r, E)")
    target, _, scale = check(query, key, value, scale=scale, enable_gqa=enable_gqa)
    if not enable_gqa:
        query, key, value = (x.expand(*target[:-2], *x.shape[-2:]) for x in (query, key, value))
    world = place(group)[1]
    for name, item in (("query", query), ("key", key)):
        if item.shape[-3] % world:
            expected = f"a number of heads that {world} processes divide"
            checks.fail(name, expected, str(item.shape[-3]))
    placed = one_sequence(query, key, value, zigzag=zigzag, group=group)
    query, key, value = (_to_heads(x, placed, group) for x in (query, key, value))
    attended = flash_attention(
        query, key, value, causal=causal, window=window, scale=scale, enable_gqa=enable_gqa
    )
    return _to_positions(attended.output, placed, group)


def _to_heads(x: Tensor, placed: Shards, group: distributed.ProcessGroup | None) -> Tensor:
    """All heads of a part (..., H, L_r, E) -> some heads of the whole (..., H / N, L, E)."""
    rank, world = place(group)
    lengths = [sum(map(len, ranges)) for ranges in placed]
    x = x.unflatten(-3, (world, -1)).movedim((-4, -2), (0, 1))  # (N, L_r, ..., H / N, E)
    rows = x.flatten(0, 1)
    rows = AllToAll.apply(rows, [lengths[rank]] * world, lengths, group)  # (L, ..., H / N, E)
    return rows[in_order(placed, rows.device)].movedim(0, -2)


def _to_positions(x: Tensor, placed: Shards, group: distributed.ProcessGroup | None) -> Tensor:
    """Some heads of the whole (..., H / N, L, E) -> all heads of a part (..., H, L_r, E)."""
    rank, world = place(group)
    lengths = [sum(map(len, ranges)) for ranges in placed]
    rows = x.movedim(-2, 0)[in_order(placed, x.device).argsort()]  # (L, ..., H / N, E)
    rows = AllToAll.apply(rows, lengths, [lengths[rank]] * world, group)
    return rows.unflatten(0, (world, -1)).movedim((0, 1), (-4, -2)).flatten(-4, -3)
