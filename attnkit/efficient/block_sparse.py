"""Block-sparse attention: whole blocks of keys are read or left out.

Child et al. (2019), "Generating long sequences with sparse transformers", Beltagy et al. (2020),
"Longformer", and Zaheer et al. (2020), "Big Bird", all choose a pattern of blocks. Each block of
queries here meets just the blocks of keys that its row of the pattern names, gathered side by side.
"""

import math

import torch
from torch import Tensor

from attnkit import checks
from attnkit.efficient.key_ranges import joined, part_of
from attnkit.functional import Attended, _check_sdpa, scaled_dot_product_attention
from attnkit.trace import unobserved, watching


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

    The work is that of the blocks let through. Blocks that every head and sequence leaves out are
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
    checks.integer("block_size", block_size, minimum=1)
    target = _check_sdpa(query, key, value, scale, 0.0, enable_gqa, need_weights)
    if mask is not None:
        checks.mask(mask, target, device=query.device)
    block_mask = _check_blocks(block_mask, target, block_size, query.device)
    options = {"scale": scale, "enable_gqa": enable_gqa}
    if need_weights or watching():
        whole = _unblock(block_mask, block_size, target)
        whole = whole if mask is None else whole & mask
        attended = scaled_dot_product_attention(
            query, key, value, mask=whole, need_weights=True, **options
        )
        if need_weights:
            return attended
    with unobserved():
        output = _sparse(query, key, value, block_mask, block_size, mask, options)
    return Attended(output, None)


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


def _sparse(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    block_mask: Tensor,
    block_size: int,
    mask: Tensor | None,
    options: dict[str, object],
) -> Tensor:
    """Blocks of queries, each against the gathered blocks of keys that any head lets it see."""
    used = block_mask.flatten(0, -3).any(0) if block_mask.dim() > 2 else block_mask  # (nL, nS)
    within = torch.arange(block_size, device=key.device)
    if not len(used):
        return scaled_dot_product_attention(query, key, value, **options).output
    queries, keys, values = (x.split(block_size, -2) for x in (query, key, value))
    outputs = []
    for block, some in enumerate(queries):
        rows = slice(block * block_size, (block + 1) * block_size)
        chosen = used[block].nonzero()[:, 0]
        columns = (chosen[:, None] * block_size + within).flatten()
        columns = columns[columns < key.shape[-2]]  # (s,)
        parts = [] if mask is None else [part_of(mask, rows, columns)]
        if block_mask.dim() > 2:
            parts.append(block_mask[..., block : block + 1, columns // block_size])
        near = math.prod(parts[1:], start=parts[0]) if parts else None
        chosen = chosen.tolist()
        outputs.append(
            scaled_dot_product_attention(
                some, joined(keys, chosen), joined(values, chosen), mask=near, **options
            ).output
        )
    return torch.cat(outputs, -2) if len(outputs) > 1 else outputs[0]


def _unblock(block_mask: Tensor, block_size: int, target: tuple[int, ...]) -> Tensor:
    """The mask (..., L, S) that a mask of blocks stands for."""
    rows, columns = (torch.arange(n, device=block_mask.device) // block_size for n in target[-2:])
    return block_mask[..., rows[:, None], columns[None, :]]


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
