r"""Tiles of additive attention: tanh(q + k) of the pairs of a query and a key, tile by tile.

Tanh is not taken for every pair. One of two identities takes a function of each query and each
key beforehand, and leaves a few products, sums and one division to the pair:

.. math::

    \tanh(q + k) = \frac{\tanh q + \tanh k}{1 + \tanh q \tanh k}
                 = 1 - \frac{2}{1 + e^{2q} e^{2k}}

The first keeps small numbers exact but fails once a tanh rounds to 1; the second is exact to one
rounding of 1, up to where an exponential overflows. `PairTanh` chooses by the largest input.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.softmax import any_visible

# Elements of a tile for each thread, half a MiB in float32: it should stay in a core's own cache.
# A single thread uses two tiles' worth, to amortise call overhead.
TILE = 1 << 17
# Queries of a tile at least, where there are as many: sums over a few long rows are slow.
ROWS = 16
# Tiles per band.
BAND = 8
# Up to here tanh is far enough from 1 for its addition formula.
SMALL = 1.0


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


def visible_range(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The first visible key of each query, and one past the last: two (N, L) tensors."""
    shape, keys = mask.shape[:-1], mask.shape[-1]
    for dim in (0, 1):  # look once at what was expanded
        mask = mask.narrow(dim, 0, 1) if mask.stride(dim) == 0 else mask
    bits, sees = mask.view(torch.uint8), any_visible(mask)[..., 0]
    first = torch.where(sees, bits.argmax(-1), keys)
    last = torch.where(sees, keys - bits.flip(-1).argmax(-1), 0)
    return first.expand(shape), last.expand(shape)


def steps(whole: slice, step: int) -> Iterator[slice]:
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))


class PairTanh:
    """tanh(q + k) of any tile, in one buffer that the next tile overwrites.

    The pairs (N, L, S) are cut without the keys that a mask hides. A band holds a few queries and
    all keys, for the softmax; its tiles are what fits the buffer.

    Args:
        query: (N, L, A).
        key: (N, S, A).
        mask: boolean (N, L, S), or None.
    """

    def __init__(self, query: Tensor, key: Tensor, mask: Tensor | None = None):
        self.shape = (query.shape[0], query.shape[1], key.shape[1])
        self.whole = Tile(*(slice(0, size) for size in self.shape))
        self.visible = None if mask is None else visible_range(mask)
        hidden = query.shape[-1]
        self.pairs = max(
            1, (TILE * max(2, torch.get_num_threads()) if query.is_cpu else TILE << 9) // hidden
        )
        largest = [torch.maximum(x.amax(), -x.amin()).item() for x in (query, key)]
        if max(largest) <= SMALL:
            self.form, function = self._of_tanh, torch.tanh
        # The largest product of either sign must stay normal: e^-86 and e^86 in float32.
        elif 2 * sum(largest) < math.log(torch.finfo(query.dtype).max) - 2:
            self.form, function = self._of_exponentials, lambda x: (2 * x).exp_()
        else:  # NaN and Inf, too, come here
            self.form, function = self._of_sum, lambda x: 2 * x
        self.query = function(query)[:, :, None]  # (N, L, 1, A)
        self.key = function(key)[:, None]  # (N, 1, S, A)
        self.one = query.new_ones(())
        size = min(self.pairs, math.prod(self.shape)) * hidden
        self.buffer = query.new_empty(size)
        self.spare = query.new_empty(size if self.form == self._of_tanh else 0)

    def __call__(self, tile: Tile) -> Tensor:
        """tanh(q + k) of the pairs of a tile, (n, l, s, A)."""
        query = self.query[tile.batch, tile.rows]  # (n, l, 1, A)
        key = self.key[tile.batch, :, tile.keys]  # (n, 1, s, A)
        shape = (*query.shape[:2], *key.shape[2:])
        return self.form(query, key, self.buffer[: math.prod(shape)].view(shape))

    def _of_tanh(self, query: Tensor, key: Tensor, out: Tensor) -> Tensor:
        spare = self.spare[: out.numel()].view(out.shape)
        torch.addcmul(self.one, query, key, out=spare)
        return torch.add(query, key, out=out).div_(spare)

    def _of_exponentials(self, query: Tensor, key: Tensor, out: Tensor) -> Tensor:
        torch.addcmul(self.one, query, key, out=out).reciprocal_()
        return torch.sub(self.one, out, alpha=2, out=out)

    def _of_sum(self, query: Tensor, key: Tensor, out: Tensor) -> Tensor:
        torch.add(query, key, out=out).sigmoid_()  # faster than PyTorch's tanh, and as exact here
        return torch.sub(out.mul_(2), self.one, out=out)

    def bands(self) -> Iterator[Tile]:
        rows = max(BAND * self.pairs // max(1, self.shape[-1]), ROWS)
        return self.split(self.whole, rows * self.shape[-1])

    def tiles(self, band: Tile) -> Iterator[Tile]:
        return self.split(band, self.pairs, ROWS)

    def split(self, whole: Tile, pairs: int, least_rows: int = 1) -> Iterator[Tile]:
        """Cut `whole` into tiles of at most `pairs`, without keys that no query of a tile may see.

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


class PairGrads:
    """The gradients of query, key and v, summed over tiles."""

    def __init__(self, query: Tensor, key: Tensor, v: Tensor):
        self.query, self.key = torch.zeros_like(query), torch.zeros_like(key)
        self.v, self.of_v = v, torch.zeros_like(v)
        self.minus_one = -query.new_ones(())

    def add(self, tile: Tile, t: Tensor, grad: Tensor) -> None:
        """Add what the scores' gradient (n, l, s) gives through t (n, l, s, A), overwriting t.

        The slope of tanh is 1 - t^2. That it is multiplied by v can wait for the sums.
        """
        self.of_v.addmv_(t.flatten(0, -2).mT, grad.flatten())
        # The sign is settled in `finish`: t^2 - 1 can be written in place in one pass.
        slope = torch.addcmul(self.minus_one, t, t, out=t).mul_(grad[..., None])
        self.query[tile.batch, tile.rows].add_(slope.sum(2))
        self.key[tile.batch, tile.keys].add_(slope.sum(1))

    def finish(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.query.mul_(-self.v), self.key.mul_(-self.v), self.of_v


def dot(t: Tensor, v: Tensor) -> Tensor:
    """t (n, l, s, A) times v (A,) -> (n, l, s); `t @ v` with less dispatch overhead."""
    return torch.mv(t.flatten(0, -2), v).view(t.shape[:-1])
