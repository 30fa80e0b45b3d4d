"""Block-sparse attention: whole blocks of keys are read or skipped.

Child et al. (2019), "Generating long sequences with sparse transformers", Beltagy et al. (2020),
"Longformer", and Zaheer et al. (2020), "Big Bird", all choose a pattern of blocks. Each block of
queries here meets just the blocks of keys that its row of the pattern names, gathered side by side.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.call import Attended, Call, check
from attnkit.efficient.key_ranges import joined, part_of, zeros
from attnkit.guard import checks
from attnkit.guard.dtypes import values_unavailable, without_autocast


def block_sparse_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block_mask: Tensor,
    *,
    block_size: int,
    mask: Tensor | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    need_weights: bool = False,
) -> Attended:
    """Attend among blocks: queries of block i see the keys of block j where block_mask[i, j].

    The work is that of the blocks let through. Blocks that every head and sequence masks are
    never read; where `block_mask` differs between heads, the rest is masked.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        block_mask: boolean, broadcastable to (..., ceil(L / block_size), ceil(S / block_size)).
        block_size: queries, and keys, of a block. The last block may be shorter.
        mask, scale, enable_gqa, need_weights: as in `sliding_window_attention`.

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights (..., L, S) or None.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or a mask is not boolean.
        ValueError: shapes, devices or heads do not fit.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 2, 64, 16).unbind()
        >>> diagonal = torch.eye(4, dtype=torch.bool)
        >>> local = block_sparse_attention(query, key, value, diagonal, block_size=16)
        >>> alone = block_sparse_attention(
        ...     query[:, :16], key[:, :16], value[:, :16], diagonal[:1, :1], block_size=16)
        >>> torch.allclose(local.output[:, :16], alone.output, atol=1e-6)
        True
    """
    block_size = checks.integer("block_size", block_size, minimum=1)
    target, mask, scale = check(
        query, key, value,
        mask=mask, scale=scale, enable_gqa=enable_gqa, need_weights=need_weights,
    )  # fmt: skip
    block_mask = _check_blocks(block_mask, target, block_size, query.device)
    ranges = _Blocks(block_mask, block_size, target[-2], target[-1])
    call = Call(query, key, value, mask, lead=target[:-2], ranges=ranges, grouped=enable_gqa)
    if need_weights or values_unavailable(query):
        return call.finish(*call.dot_product(scale, need_weights=need_weights))
    with without_autocast(query):
        output = _sparse(call, scale)
    call.record(output, None, lambda: call.dot_scores(scale))
    return call.finish(output)


def local_and_global_blocks(
    num_blocks: int, *, window: int, num_global: int = 0, causal: bool = False
) -> Tensor:
    """The pattern of Longformer and BigBird in blocks: near ones, and a few that all share.

    Args:
        num_blocks: N, the blocks of queries and of keys.
        window: near blocks, counted as in `masks.sliding_window`, the own one included.
        num_global: leading blocks that see every block and that every block sees.
        causal: no block sees a later one. Within a block nothing is masked: add
            `mask=masks.causal(L)`.

    Returns:
        A boolean (N, N) for `block_sparse_attention`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of its range.

    Example:
        >>> local_and_global_blocks(4, window=1, num_global=1).int()
        tensor([[1, 1, 1, 1],
                [1, 1, 0, 0],
                [1, 0, 1, 0],
                [1, 0, 0, 1]], dtype=torch.int32)
    """
    checks.integer("num_blocks", num_blocks, minimum=0)
    checks.integer("window", window, minimum=1)
    checks.integer("num_global", num_global, minimum=0, maximum=num_blocks)
    checks.flag("causal", causal)
    place = torch.arange(num_blocks)
    distance = place[:, None] - place[None, :]  # (N, N)
    shared = (place < num_global)[:, None] | (place < num_global)[None, :]
    pattern = (distance.abs() < window) | shared
    return pattern & (distance >= 0) if causal else pattern


class _Blocks(NamedTuple):
    """The keys visible to each query by a mask of blocks, in place of a mask (..., L, S)."""

    mask: Tensor  # (..., ceil(L / size), ceil(S / size))
    size: int
    queries: int
    keys: int

    def whole(self, mask: Tensor | None) -> Tensor:
        """The mask (..., L, S) that the blocks stand for, and `mask` on top."""
        rows, columns = (
            torch.arange(n, device=self.mask.device) // self.size for n in (self.queries, self.keys)
        )
        whole = self.mask[..., rows[:, None], columns[None, :]]
        return whole if mask is None else mask & whole

    def any(self, flags: Tensor) -> Tensor:
        """Whether a query sees any flagged key: flags (..., S) -> (..., L, 1)."""
        flags = flags.expand(*flags.shape[:-1], self.keys)
        width = self.mask.shape[-1] * self.size
        flagged = torch.nn.functional.pad(flags, (0, width - self.keys))
        flagged = flagged.unflatten(-1, (self.mask.shape[-1], self.size)).any(-1)  # (..., nS)
        seen = (self.mask & flagged[..., None, :]).any(-1, keepdim=True)  # (..., nL, 1)
        return seen.repeat_interleave(self.size, -2)[..., : self.queries, :]


def _sparse(call: Call, scale: float) -> Tensor:
    """Blocks of queries, each against the gathered blocks of keys that any head lets it see."""
    blocks, size = call.ranges.mask, call.ranges.size
    used = blocks.flatten(0, -3).any(0) if blocks.dim() > 2 else blocks  # (nL, nS)
    within = torch.arange(size, device=blocks.device)
    queries, keys, values = (x.split(size, -2) for x in (call.query, call.key, call.value))
    outputs = [call.value.new_zeros(*call.lead, 0, call.value.shape[-1])]
    for number, (query, row) in enumerate(zip(queries, used, strict=False)):
        chosen = row.nonzero()[:, 0]
        columns = (chosen[:, None] * size + within).flatten()
        columns = columns[columns < call.ranges.keys]  # (s,)
        if not len(columns):
            outputs.append(zeros(call, query))
            continue
        near = None
        if call.mask is not None:
            near = part_of(call.mask, slice(number * size, (number + 1) * size), columns)
        if blocks.dim() > 2:
            part = blocks[..., number : number + 1, columns // size]
            near = part if near is None else near & part
        chosen = chosen.tolist()
        key, value = joined(keys, chosen), joined(values, chosen)
        outputs.append(call.part(query, key, value, near).fused(scale))
    return torch.cat(outputs, -2)


def _check_blocks(
    block_mask: Tensor, target: tuple[int, ...], block_size: int, device: torch.device
) -> Tensor:
    """Check a mask of blocks; return it with its last two dimensions in full."""
    checks.boolean("block_mask", block_mask)
    if block_mask.device != device:
        checks.fail("block_mask", f"device {device} (that of query)", f"device {block_mask.device}")
    blocks = tuple(-(-n // block_size) for n in target[-2:])
    layout = "(..., ceil(L / block_size), ceil(S / block_size))"
    checks.broadcasts_to("block_mask", block_mask, (*target[:-2], *blocks), layout)
    return block_mask.expand(*block_mask.shape[:-2], *blocks)
