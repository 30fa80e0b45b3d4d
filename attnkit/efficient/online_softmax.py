r"""Softmax in one pass, one block of scores at a time: the step that flash attention is made of.

The safe softmax needs the largest score before it can sum, so it reads its row twice. Milakov and
Gimelshein (2018), "Online normalizer calculation for softmax", algorithm 3, keep a running
maximum m and a running sum d, and rescale the sum whenever the maximum grows:

.. math::

    m' = \max(m, \max_j s_j), \qquad d' = d\, e^{m - m'} + \sum_j e^{s_j - m'}

The running output of attention is rescaled by the same factor (Dao et al. 2022, algorithm 1), so
that a row of weights is never held whole:

.. math:: o' = o\, e^{m - m'} + \sum_j e^{s_j - m'} v_j, \qquad
          \text{output} = o / d, \qquad \text{logsumexp} = m + \log d

Read `online_attention` for the whole of it. `flash` does the same in tiles, with a backward pass.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.call import check
from attnkit.guard import checks
from attnkit.guard.dtypes import widen


class Running(NamedTuple):
    """Partial results of each query, over the keys read so far.

    maximum: m, the largest score so far (..., L, 1); -inf when nothing was visible.
    total: d, the sum of exp(score - m) (..., L, 1).
    output: o, the sum of exp(score - m) * value (..., L, Ev).
    """

    maximum: Tensor
    total: Tensor
    output: Tensor


def start(scores: Tensor, value: Tensor) -> Running:
    """Nothing read yet. `scores` (..., L, s) and `value` (..., s, Ev) give shapes and dtype.

    Raises:
        TypeError: an input is not a floating tensor.
        ValueError: an input has less than two dimensions, or the leading ones do not broadcast.
    """
    for name, item in {"scores": scores, "value": value}.items():
        checks.floating(name, item)
        checks.dims(name, item, 2, "(..., L, s)" if name == "scores" else "(..., s, Ev)")
    rows = (*checks.leading_dims(scores=scores, value=value), scores.shape[-2])
    return Running(
        scores.new_full((*rows, 1), -math.inf),
        scores.new_zeros(*rows, 1),
        scores.new_zeros(*rows, value.shape[-1]),
    )


def update(running: Running, scores: Tensor, value: Tensor) -> Running:
    """Read one more block: scores (..., L, s), -inf where masked, and its values (..., s, Ev).

    Raises:
        ValueError: `value` has not one row for each score.
    """
    checks.size("value", value, -2, scores.shape[-1], "one value for each score")
    if not scores.shape[-1]:
        return running
    maximum = torch.maximum(running.maximum, scores.amax(-1, keepdim=True))  # (..., L, 1)
    base = finite_or_zero(maximum)
    weights = (scores - base).exp()  # (..., L, s), not yet divided by their sum
    rescale = (running.maximum - base).exp()  # (..., L, 1), 0 when nothing was read before
    return Running(
        maximum,
        running.total * rescale + weights.sum(-1, keepdim=True),
        running.output * rescale + weights @ value,
    )


def merge(left: Running, right: Running) -> Running:
    """Combine partial results over disjoint keys, in any order.

    The step is associative, so a row can be cut among workers: flash decoding and ring attention
    end with this.
    """
    maximum = torch.maximum(left.maximum, right.maximum)
    base = finite_or_zero(maximum)
    rescale_left, rescale_right = (left.maximum - base).exp(), (right.maximum - base).exp()
    return Running(
        maximum,
        left.total * rescale_left + right.total * rescale_right,
        left.output * rescale_left + right.output * rescale_right,
    )


def finish(running: Running) -> tuple[Tensor, Tensor]:
    """Divide by the sum: output (..., L, Ev) and logsumexp (..., L).

    A fully masked query gives output 0 and logsumexp -inf.
    """
    empty = running.total == 0
    output = running.output / running.total.masked_fill(empty, 1.0)
    return output, (running.maximum + running.total.log()).squeeze(-1)


def online_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
    block_size: int = 1,
) -> Iterator[Running]:
    """Attend block by block, and show the partial result after each of S / block_size steps.

    A form to read and to draw; `flash_attention` is the one to use.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend.
        scale: factor of the scores; 1/sqrt(E) when omitted.
        block_size: keys read in one step, at least 1.

    Yields:
        `Running` after each block, in at least float32, and once where there are no keys; `finish`
        turns the last one into output and logsumexp.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes or devices do not fit, or `block_size` is below 1.

    Example:
        >>> import torch
        >>> key = torch.tensor([[0.0], [2.0], [1.0]])
        >>> for running in online_attention(torch.ones(1, 1), key, torch.eye(3), scale=1.0):
        ...     print(running.maximum.item(), round(running.total.item(), 3))
        0.0 1.0
        2.0 1.135
        2.0 1.503
        >>> output, logsumexp = finish(running)
        >>> torch.allclose(output, key.T.softmax(-1))
        True
    """
    block_size = checks.integer("block_size", block_size, minimum=1)
    target, mask, scale = check(query, key, value, mask=mask, scale=scale)
    mask = mask if mask is None else mask.expand(target)
    return _steps(*widen(query, key, value), mask, scale, block_size)


def _steps(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, block_size: int
) -> Iterator[Running]:
    running = None
    for begin in range(0, max(1, key.shape[-2]), block_size):
        block = slice(begin, begin + block_size)
        scores = scale * query @ key[..., block, :].mT  # (..., L, s)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., block], -math.inf)
        running = start(scores, value) if running is None else running
        running = update(running, scores, value[..., block, :])
        yield running


def finite_or_zero(maximum: Tensor) -> Tensor:
    """The maximum to subtract: 0 in place of -inf, since -inf - -inf is not a number."""
    return maximum.masked_fill(maximum == -math.inf, 0.0)
