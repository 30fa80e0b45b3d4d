r"""Additive attention without the (..., L, S, A) tensor.

The plain form holds tanh(q + k) for every pair of a query and a key. Here the pairs are worked
through tile by tile in one buffer that fits the cache, and the backward pass makes each tile anew
rather than keep it, as Chen et al. (2016), "Training deep nets with sublinear memory cost", do for
layers and Dao et al. (2022), "FlashAttention", for the scores of a dot product. What is kept is
linear in the lengths: the output and one logsumexp for each query.

Tanh is not taken for every pair. One of two identities takes a function of each query and each
key beforehand, and leaves a few products, sums and one division to the pair:

.. math::

    \tanh(q + k) = \frac{\tanh q + \tanh k}{1 + \tanh q \tanh k}
                 = 1 - \frac{2}{1 + e^{2q} e^{2k}}

The first keeps small numbers exact but fails once a tanh rounds to 1; the second is exact to one
rounding of 1, up to where an exponential overflows. `PairTanh` chooses by the largest input.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.call import Attended, Call
from attnkit.formula import any_visible, masked_softmax
from attnkit.guard import checks
from attnkit.guard.dtypes import values_unavailable, widen, without_autocast
from attnkit.scores import pair_scores

# Below this many pairs times hidden features the plain form is as fast on processors with a fast
# tanh, where what it makes stays in cache; on others tiles would pay from an eighth of it.
WORTH_TILING = 1 << 22
# With fewer pairs for each query and key, as in a decoder's step, there is little to save.
FEW_PAIRS = 8
# Elements of a tile for each thread, half a MiB in float32: it should stay in a core's own cache.
# A single thread uses two tiles' worth, to amortise call overhead.
TILE = 1 << 17
# At least this many queries per tile: summing few long rows is slow.
ROWS = 16
BAND = 8  # tiles per band
# Up to here tanh is far enough from 1 for its addition formula.
SMALL = 1.0


def worth_tiling(query: Tensor, key: Tensor) -> bool:
    """Whether tiles pay for projected queries (..., L, A) and keys (..., S, A)."""
    if values_unavailable(query) or not (query.numel() and key.numel()):
        return False
    length, keys = query.shape[-2], key.shape[-2]
    if length * keys < FEW_PAIRS * (length + keys):
        return False
    return max(query.numel() * keys, key.numel() * length) >= WORTH_TILING


def tiled_additive_attention(
    query: Tensor,
    key: Tensor,
    v: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    need_weights: bool = False,
) -> Attended:
    """Additive attention of projected queries and keys, tile by tile.

    softmax(v^T tanh(q + k)) value, over the keys that the mask shows: Bahdanau et al. (2015),
    appendix A.1.2. Small problems run in the plain form, which is as fast there.

    Args:
        query: projected queries (..., L, A), the bias included.
        key: projected keys (..., S, A).
        v: (A,).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend. Ranges of
            keys that no query of a tile may see are skipped.
        need_weights: return the weights (allocates L x S).

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights or None. With `create_graph=True`
        the backward pass takes the plain form, so that it can be differentiated again.

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
    checks.size("key", key, -1, query.shape[-1], "the hidden size of query")
    if tuple(checks.floating("v", v).shape) != (query.shape[-1],):
        checks.fail("v", f"shape (A,) = {(query.shape[-1],)}", f"shape {checks.shape(v)}")
    checks.same_device(query=query, v=v)
    checks.same_dtype(query=query, v=v)
    checks.flag("need_weights", need_weights)
    lead = checks.leading_dims(query=query, key=key, value=value)
    if mask is not None:
        mask = checks.mask(mask, (*lead, query.shape[-2], key.shape[-2]), device=query.device)
    call = Call(query, key, value, mask, lead=lead)
    output, weights = attend_in_tiles(call, v, need_weights)
    return call.finish(output, weights if need_weights else None)


def attend_in_tiles(call: Call, v: Tensor, need_weights: bool) -> tuple[Tensor, Tensor | None]:
    """Output and, where they were made, weights of a call with projected queries and keys."""
    query, key, value = widen(call.query, call.key, call.value)
    v, weights = v.to(query.dtype), None

    with without_autocast(query):
        if need_weights or not worth_tiling(query, key):
            weights = call.softmax(scores_in_tiles(query, key, v))
            output = weights @ value  # (..., L, Ev)
        else:
            output = _fused(query, key, v, value, call.mask, call.lead)
    call.record(output, weights, lambda: scores_in_tiles(query, key, v))
    return output, weights


def scores_in_tiles(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """`pair_scores` (..., L, S) in the memory of the scores."""
    if not worth_tiling(query, key):
        return pair_scores(query, key, v)
    lead = checks.leading_dims(query=query, key=key)
    scores = _Scores.apply(_batched(query, lead), _batched(key, lead), v)  # (N, L, S)
    return scores.reshape(*lead, *scores.shape[1:])


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
    output = _Attention.apply(query, key, v, value, mask)  # (N, L, Ev)
    return output.reshape(*lead, *output.shape[1:])


class _Scores(torch.autograd.Function):
    """Scores (N, L, S) of query (N, L, A), key (N, S, A) and v (A,)."""

    @staticmethod
    def forward(ctx, query: Tensor, key: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(query, key, v)
        tanh = PairTanh(query, key)
        scores = query.new_empty(tanh.shape)
        for tile in tanh.tiles(tanh.whole):
            scores[tile] = dot(tanh(tile), v)
        return scores

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, ...]:
        query, key, v = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _differentiable(pair_scores, (query, key, v), grad)
        tanh, grads = PairTanh(query, key), PairGrads(query, key, v)
        for tile in tanh.tiles(tanh.whole):
            grads.add(tile, tanh(tile), grad[tile])
        return grads.finish()


class _Attention(torch.autograd.Function):
    """Output (N, L, Ev) of query (N, L, A), key (N, S, A), v (A,), value (N, S, Ev), mask."""

    @staticmethod
    def forward(ctx, query, key, v, value, mask) -> Tensor:
        tanh = PairTanh(query, key, mask)
        output = value.new_zeros(*query.shape[:2], value.shape[-1])
        logsumexp = value.new_zeros(*query.shape[:2], 1)
        for band in tanh.bands():
            scores = query.new_empty([x.stop - x.start for x in band])
            for tile in tanh.tiles(band):
                scores[tile.within(band)] = dot(tanh(tile), v)
            if mask is not None:
                scores.masked_fill_(~mask[band], -math.inf)
            most = scores.amax(-1, keepdim=True)
            if mask is not None:  # a fully masked query: exp(-inf) = 0, and 0 / 1
                most.masked_fill_(most == -math.inf, 0.0)
            weights = scores.sub_(most).exp_()
            total = weights.sum(-1, keepdim=True)
            if mask is not None:
                total.masked_fill_(total == 0.0, 1.0)
            output[band[:2]] = (weights @ value[band.batch, band.keys]).div_(total)
            logsumexp[band[:2]] = total.log_().add_(most)
        ctx.save_for_backward(query, key, v, value, mask, output, logsumexp)
        return output

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, v, value, mask, output, logsumexp = ctx.saved_tensors
        if torch.is_grad_enabled():
            return *plain_backward((query, key, v, value), mask, grad), None
        delta = (grad * output).sum(-1, keepdim=True)  # (N, L, 1), what the softmax takes off
        grad_value = torch.zeros_like(value)
        tanh, grads = PairTanh(query, key, mask), PairGrads(query, key, v)
        for band in tanh.bands():
            band_grad, band_value = grad[band[:2]], value[band.batch, band.keys]
            grad_weights = (band_grad @ band_value.mT).sub_(delta[band[:2]])
            weights = torch.zeros_like(grad_weights)
            for tile in tanh.tiles(band):
                t, local = tanh(tile), tile.within(band)
                part = dot(t, v).sub_(logsumexp[tile[:2]]).exp_()  # (n, l, s)
                if mask is not None:
                    part.masked_fill_(~mask[tile], 0.0)
                weights[local] = part
                grads.add(tile, t, part.mul_(grad_weights[local]))
            grad_value[band.batch, band.keys].add_(weights.mT @ band_grad)
        return *grads.finish(), grad_value, None


def plain_backward(
    inputs: tuple[Tensor, ...], mask: Tensor | None, grad: Tensor
) -> tuple[Tensor | None, ...]:
    """The gradients of query, key, v and value by the plain form, for `create_graph=True`."""

    def plain(query: Tensor, key: Tensor, v: Tensor, value: Tensor) -> Tensor:
        return masked_softmax(pair_scores(query, key, v), mask) @ value

    return _differentiable(plain, inputs, grad)


def _differentiable(
    function: Callable[..., Tensor], inputs: tuple[Tensor, ...], grad: Tensor
) -> tuple[Tensor | None, ...]:
    wanted = [x for x in inputs if x.requires_grad]
    grads = iter(torch.autograd.grad(function(*inputs), wanted, grad, create_graph=True))
    return tuple(next(grads) if x.requires_grad else None for x in inputs)


def _batched(x: Tensor, lead: torch.Size) -> Tensor:
    """Expand to the leading dimensions and flatten them into one, of size 1 when there is none."""
    return x.expand(*lead, *x.shape[-2:]).reshape(-1, *x.shape[-2:])


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
