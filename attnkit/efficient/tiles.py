"""Tiles: ranges of batch, queries and keys that are worked through one at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.numerics import seeing


class Tile(NamedTuple):
    """A range of batch, of queries and of keys; it indexes a tensor (N, L, S)."""

    batch: slice
    rows: slice
    keys: slice

    def within(self, band: "Tile") -> "Tile":
        """The same tile counted from where `band` begins."""
        return Tile(
            *(slice(a.start - b.start, a.stop - b.start) for a, b in zip(self, band, strict=True))
        )


class Tiling:
    """How the pairs (N, L, S) of a problem are cut, leaving out keys that a mask hides.

    Args:
        shape: N, L, S.
        mask: boolean (N, L, S), or None.
    """

    def __init__(self, shape: tuple[int, int, int], mask: Tensor | None = None):
        self.shape = shape
        self.whole = Tile(*(slice(0, size) for size in shape))
        self.visible = None if mask is None else visible_range(mask)

    def split(self, whole: Tile, pairs: int, least_rows: int = 1) -> Iterator[Tile]:
        """Cut `whole` into tiles of at most `pairs`, less what no query of a tile may see.

        A tile has all keys, unless it would then have fewer queries than `least_rows`.
        """
        n, length, width = (x.stop - x.start for x in whole)
        key_step = min(width, max(1, pairs // min(length, least_rows)))
        row_step = min(length, pairs // key_step)
        batch_step = max(1, min(n, pairs // (length * width)))
        for batch in steps(whole.batch, batch_step):
            for rows in steps(whole.rows, row_step):
                for keys in steps(self.seen(batch, rows, whole.keys), key_step):
                    yield Tile(batch, rows, keys)

    def seen(self, batch: slice, rows: slice, keys: slice) -> slice:
        if self.visible is None:
            return keys
        first, last = (x[batch, rows] for x in self.visible)
        return slice(max(keys.start, int(first.min())), min(keys.stop, int(last.max())))


def visible_range(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The first visible key of each query, and one past the last: two (N, L) tensors."""
    shape, keys = mask.shape[:-1], mask.shape[-1]
    for dim in (0, 1):  # look once at what was expanded
        mask = mask.narrow(dim, 0, 1) if mask.stride(dim) == 0 else mask
    bits, sees = mask.view(torch.uint8), seeing(mask)[..., 0]
    first = torch.where(sees, bits.argmax(-1), keys)
    last = torch.where(sees, keys - bits.flip(-1).argmax(-1), 0)
    return first.expand(shape), last.expand(shape)


def steps(whole: slice, step: int) -> Iterator[slice]:
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))
