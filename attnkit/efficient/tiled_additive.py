r"""Additive attention without the (..., L, S, A) tensor.

The plain form holds tanh(q + k) for every pair of a query and a key. Here the pairs are worked
through tile by tile in one buffer that fits the cache, and the backward pass makes each tile anew
rather than keep it, as Chen et al. (2016), "Training deep nets with sublinear memory cost", do for
layers and Dao et al. (2022), "FlashAttention", for the scores of a dot product. What is kept is
linear in the lengths: the output and one logsumexp for each query.

Nor is tanh taken for every pair. One of two identities takes the function of each query and each
key beforehand, and leaves a few products, sums and one division to the pair:

.. math::

    \tanh(q + k) = \frac{\tanh q + \tanh k}{1 + \tanh q \tanh k}
                 = 1 - \frac{2}{1 + e^{2q} e^{2k}}

The first keeps small numbers exact but fails once a tanh rounds to 1; the second is exact to one
rounding of 1, up to where an exponential overflows. `_Tanh` chooses by the largest input.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnkit import checks
from attnkit.efficient import triton_additive
from attnkit.functional import _HALF, Attended, _autocast, _watching, additive_scores, attend
from attnkit.mechanism import set_aside, spoil

# Elements of a tile for each thread, half a MiB in float32: it should stay in a core's own cache.
TILE = 1 << 17
# Tiles' worth of pairs in a band: enough that what is done once a band costs little.
BAND = 16
# Below this many pairs times hidden features the plain form is as fast, since nothing leaves cache.
WORTH_TILING = 1 << 17
# With fewer pairs for each query and key, as in a decoder's step, there is little to save.
FEW_PAIRS = 8
# Up to here tanh is far enough from 1 for its addition formula.
SMALL = 1.0


class Tile(NamedTuple):
    """A range of batch, of queries and of keys; it indexes a tensor (N, L, S)."""

    batch: slice
    rows: slice
    keys: slice

    def within(self, band: "Tile") -> "Tile":
        """The same tile counted from where `band` begins."""
        return Tile(*(slice(a.start - b.start, a.stop - b.start) for a, b in zip(self, band)))


def tiled_additive_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """Scores v^T tanh(q + k), equal to `functional.additive_scores`, in the memory of the scores.

    Args:
        query: projected queries (..., L, A).
        key: projected keys (..., S, A).
        v: (A,).

    Returns:
        (..., L, S). Differentiable once: a second derivative raises a RuntimeError.

    Raises:
        TypeError: an input is not a floating tensor, or the dtypes differ.
        ValueError: the three do not share their last dimension, or shapes or devices do not fit.

    Example:
        >>> import torch
        >>> from attnkit.functional import additive_scores
        >>> query, key, v = torch.randn(2, 300, 8), torch.randn(2, 400, 8), torch.randn(8)
        >>> plain, tiled = additive_scores(query, key, v), tiled_additive_scores(query, key, v)
        >>> torch.allclose(plain, tiled, atol=1e-5)
        True
    """
    lead = _check(query, key, v)
    dtype = query.dtype
    query, key, v = (x.float() if x.dtype in _HALF else x for x in (query, key, v))
    if not _worth_tiling(lead, query, key):
        return additive_scores(query, key, v).to(dtype)
    with torch.autocast(query.device.type, enabled=False):
        scores = _Scores.apply(_batched(query, lead), _batched(key, lead), v)  # (N, L, S)
    return scores.reshape(*lead, *scores.shape[1:]).to(dtype)


def tiled_additive_attention(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    need_weights: bool = False,
) -> Attended:
    """softmax(v^T tanh(q + k)) value over the keys that the mask lets through, tile by tile.

    Bahdanau et al. (2015), appendix A.1.2, of projected queries and keys. Small problems run in
    the plain form, which is as fast there. On a GPU with Triton a kernel does the same.

    Args:
        query: projected queries (..., L, A), the bias included.
        key: projected keys (..., S, A).
        v: (A,).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend. Stretches of
            keys that no query of a tile may see are skipped.
        need_weights: return the weights (..., L, S), which then are held in memory.

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights or None. Differentiable once.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes, sizes or devices do not fit.

    Example:
        >>> import torch
        >>> query, key, v = torch.randn(2, 300, 8), torch.randn(2, 400, 8), torch.randn(8)
        >>> tiled_additive_attention(query, key, v, torch.randn(2, 400, 3)).output.shape
        torch.Size([2, 300, 3])
    """
    checks.query_key_value(query, key, value)
    _check(query, key, v)
    checks.flag("need_weights", need_weights)
    lead = checks.leading_dims(query=query, key=key, value=value)
    if mask is not None:
        checks.mask(mask, (*lead, query.shape[-2], key.shape[-2]), device=query.device)
    query, key, v, value = _autocast(query, key, v, value)
    query, key, value, spoiled = set_aside(query, key, value, mask)
    dtype = value.dtype
    query, key, v, value = (x.float() if x.dtype in _HALF else x for x in (query, key, v, value))
    with torch.autocast(query.device.type, enabled=False):
        if need_weights or _watching() or not _worth_tiling(lead, query, key):
            output, weights = attend(tiled_additive_scores(query, key, v), value, mask=mask)
        else:
            output, weights = _fused(query, key, v, value, mask, lead), None
    weights = weights.to(dtype) if need_weights else None
    return spoil(Attended(output.to(dtype), weights), spoiled, mask, need_weights)


def _fused(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    value: Tensor,
    mask: Tensor | None,
    lead: torch.Size,
) -> Tensor:
    query, key, value = (_batched(x, lead) for x in (query, key, value))
    if mask is not None:
        mask = _batched(mask.expand(*mask.shape[:-2], query.shape[1], key.shape[1]), lead)
    function = triton_additive.Attention if triton_additive.takes(query) else _Attention
    output = function.apply(query, key, v, value, mask)  # (N, L, Ev)
    return output.reshape(*lead, *output.shape[1:])


class _Scores(torch.autograd.Function):
    """Scores (N, L, S) of query (N, L, A), key (N, S, A) and v (A,)."""

    @staticmethod
    def forward(ctx, query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(query, key, v)
        tanh = _Tanh(query, key)
        scores = query.new_empty(tanh.shape)
        for tile in tanh.tiles(tanh.whole):
            scores[tile] = tanh(tile) @ v
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, ...]:
        query, key, v = ctx.saved_tensors
        tanh, grads = _Tanh(query, key), _Grads(query, key, v)
        for tile in tanh.tiles(tanh.whole):
            grads.add(tile, tanh(tile), grad[tile])
        return grads.finish()


class _Attention(torch.autograd.Function):
    """Output (N, L, Ev) of query (N, L, A), key (N, S, A), v (A,), value (N, S, Ev), mask."""

    @staticmethod
    def forward(ctx, query, key, v, value, mask) -> Tensor:
        tanh = _Tanh(query, key, mask)
        output = value.new_zeros(*query.shape[:2], value.shape[-1])
        logsumexp = value.new_zeros(*query.shape[:2], 1)
        for band in tanh.bands():
            scores = query.new_empty([x.stop - x.start for x in band])
            for tile in tanh.tiles(band):
                scores[tile.within(band)] = tanh(tile) @ v
            if mask is not None:
                scores.masked_fill_(~mask[band], -math.inf)
            total = scores.logsumexp(-1, keepdim=True)
            total.masked_fill_(total == -math.inf, 0.0)  # a row that sees nothing: exp(-inf) = 0
            logsumexp[band[:2]] = total
            output[band[:2]] = scores.sub_(total).exp_() @ value[band.batch, band.keys]
        ctx.save_for_backward(query, key, v, value, mask, output, logsumexp)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, v, value, mask, output, logsumexp = ctx.saved_tensors
        delta = (grad * output).sum(-1, keepdim=True)  # (N, L, 1), what the softmax takes off
        grad_value = torch.zeros_like(value)
        tanh, grads = _Tanh(query, key, mask), _Grads(query, key, v)
        for band in tanh.bands():
            some_grad, some_value = grad[band[:2]], value[band.batch, band.keys]
            grad_weights = (some_grad @ some_value.mT).sub_(delta[band[:2]])
            weights = torch.zeros_like(grad_weights)
            for tile in tanh.tiles(band):
                t, local = tanh(tile), tile.within(band)
                part = (t @ v).sub_(logsumexp[tile[:2]]).exp_()  # (n, l, s)
                if mask is not None:
                    part.masked_fill_(~mask[tile], 0.0)
                weights[local] = part
                grads.add(tile, t, part.mul_(grad_weights[local]))
            grad_value[band.batch, band.keys] += weights.mT @ some_grad
        return *grads.finish(), grad_value, None


class _Tanh:
    """tanh(q + k) of any tile, in one buffer that the next tile overwrites.

    A band holds a few queries and all keys, for the softmax; its tiles are what fits the buffer.
    """

    def __init__(self, query: Tensor, key: Tensor, mask: Tensor | None = None):
        self.shape = (query.shape[0], query.shape[1], key.shape[1])
        self.whole = Tile(*(slice(0, size) for size in self.shape))
        self.visible = None if mask is None else _visible_range(mask)
        hidden = query.shape[-1]
        self.pairs = max(1, (TILE * torch.get_num_threads() if query.is_cpu else TILE << 8) // hidden)
        self.buffers = query.new_empty(2, min(self.pairs, math.prod(self.shape)) * hidden)
        self.one = query.new_ones(())
        largest = [x.detach().norm(p=math.inf).item() for x in (query, key)]
        if max(largest) <= SMALL:
            self.form, function = self._of_tanh, torch.tanh
        # The largest product of either sign must stay normal: e^-86 and e^86 in float32.
        elif 2 * sum(largest) < math.log(torch.finfo(query.dtype).max) - 2:
            self.form, function = self._of_exponentials, lambda x: (2 * x).exp_()
        else:  # NaN and Inf, too, come here
            self.form, function = self._of_sum, lambda x: 2 * x
        self.query, self.key = function(query), function(key)

    def __call__(self, tile: Tile) -> Tensor:
        query = self.query[tile.batch, tile.rows, None]  # (n, l, 1, A)
        key = self.key[tile.batch, None, tile.keys]  # (n, 1, s, A)
        shape = (*query.shape[:2], *key.shape[2:])
        first, second = (x[: math.prod(shape)].view(shape) for x in self.buffers)  # (n, l, s, A)
        return self.form(query, key, first, second)

    def _of_tanh(self, query: Tensor, key: Tensor, out: Tensor, spare: Tensor) -> Tensor:
        torch.addcmul(self.one, query, key, out=spare)
        return torch.add(query, key, out=out).div_(spare)

    def _of_exponentials(self, query: Tensor, key: Tensor, out: Tensor, spare: Tensor) -> Tensor:
        torch.addcmul(self.one, query, key, out=out).reciprocal_()
        return torch.sub(self.one, out, alpha=2, out=out)

    def _of_sum(self, query: Tensor, key: Tensor, out: Tensor, spare: Tensor) -> Tensor:
        torch.add(query, key, out=out).sigmoid_()  # faster than PyTorch's tanh, and as exact here
        return torch.sub(out.mul_(2), self.one, out=out)

    def bands(self) -> Iterator[Tile]:
        return self._split(self.whole, max(self.shape[-1], BAND * self.pairs))

    def tiles(self, band: Tile) -> Iterator[Tile]:
        return self._split(band, self.pairs)

    def _split(self, whole: Tile, pairs: int) -> Iterator[Tile]:
        """Cut `whole` into tiles of at most `pairs`, less what no query of a tile may see."""
        n, length, keys = (x.stop - x.start for x in whole)
        key_step = min(keys, pairs)
        row_step = min(length, pairs // key_step)
        batch_step = max(1, min(n, pairs // (length * keys)))
        for batch in _steps(whole.batch, batch_step):
            for rows in _steps(whole.rows, row_step):
                for seen in _steps(self._seen(batch, rows, whole.keys), key_step):
                    yield Tile(batch, rows, seen)

    def _seen(self, batch: slice, rows: slice, keys: slice) -> slice:
        if self.visible is None:
            return keys
        first, last = (x[batch, rows] for x in self.visible)
        return slice(max(keys.start, int(first.min())), min(keys.stop, int(last.max())))


class _Grads:
    """The gradients of query, key and v, summed over tiles."""

    def __init__(self, query: Tensor, key: Tensor, v: Tensor):
        self.query, self.key = torch.zeros_like(query), torch.zeros_like(key)
        self.v, self.of_v = v, torch.zeros_like(v)
        self.minus_one = -query.new_ones(())

    def add(self, tile: Tile, t: Tensor, grad: Tensor) -> None:
        """Add what the scores' gradient (n, l, s) gives through t (n, l, s, A), which is used up.

        The slope of tanh is 1 - t^2. That it is multiplied by v can wait for the sums.
        """
        self.of_v += t.flatten(0, -2).mT @ grad.flatten()
        # The sign is settled in `finish`: t^2 - 1 can be written in place in one pass.
        slope = torch.addcmul(self.minus_one, t, t, out=t).mul_(grad[..., None])
        self.query[tile.batch, tile.rows] += slope.sum(2)
        self.key[tile.batch, tile.keys] += slope.sum(1)

    def finish(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.query.mul_(-self.v), self.key.mul_(-self.v), self.of_v


def _check(query: Tensor, key: Tensor, v: Tensor) -> torch.Size:
    """Check projected queries, projected keys and v; return their leading dimensions."""
    for name, item in {"query": query, "key": key}.items():
        checks.floating(name, item)
        checks.dims(name, item, 2, "(..., length, features)")
    checks.floating("v", v)
    checks.size("key", key, -1, query.shape[-1], "the hidden size of query")
    if tuple(v.shape) != (query.shape[-1],):
        checks.fail("v", f"shape (A,) = {(query.shape[-1],)}", f"shape {checks.shape(v)}")
    checks.same_device(query=query, key=key, v=v)
    checks.same_dtype(query=query, key=key, v=v)
    return checks.leading_dims(query=query, key=key)


def _worth_tiling(lead: torch.Size, query: Tensor, key: Tensor) -> bool:
    if torch.compiler.is_compiling():  # it fuses the plain form by itself, and would unroll ours
        return False
    length, keys, hidden = query.shape[-2], key.shape[-2], query.shape[-1]
    many_pairs = length * keys >= FEW_PAIRS * (length + keys)
    return many_pairs and math.prod(lead) * length * keys * hidden >= WORTH_TILING


def _batched(x: Tensor, lead: torch.Size) -> Tensor:
    """Expand to the leading dimensions and flatten them into one, of size 1 when there is none."""
    return x.expand(*lead, *x.shape[-2:]).reshape(-1, *x.shape[-2:])


def _visible_range(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The first visible key of each query, and one past the last: two (N, L) tensors."""
    shape, keys = mask.shape[:-1], mask.shape[-1]
    for dim in (0, 1):  # look once at what was expanded
        mask = mask.narrow(dim, 0, 1) if mask.stride(dim) == 0 else mask
    bits, sees = mask.to(torch.uint8), mask.any(-1)
    first = torch.where(sees, bits.argmax(-1), keys)
    last = torch.where(sees, keys - bits.flip(-1).argmax(-1), 0)
    return first.expand(shape), last.expand(shape)


def _steps(whole: slice, step: int) -> Iterator[slice]:
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))
