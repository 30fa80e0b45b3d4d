"""Additive attention as Triton kernels, forward and backward: no tensor of L * S is ever made.

Triton is optional: it comes with PyTorch's CUDA builds, and `tiled_additive` imports this file when
a kernel is first used. `TRITON_INTERPRET=1`, set before Triton is imported, runs the kernels on the
CPU, slowly, which is how they are tested where there is no GPU.

A program holds a block of scores and walks the hidden features one by one, so that the hidden layer
of a pair lives in a register for as long as it is needed. Queries and keys come transposed, which
makes a feature's loads lie side by side. The backward pass takes each block of scores on its own,
from the logsumexp of its rows, and adds to the gradients atomically: the order of these sums, and
so their last bits, may differ from run to run.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, KEYS = 32, 64


class Attention(torch.autograd.Function):
    """Output (N, L, Ev) of query (N, L, A), key (N, S, A), v (A,), value (N, S, Ev), in float32.

    `mask` is boolean (N, L, S) or None, and may be expanded.
    """

    @staticmethod
    def forward(ctx, query, key, v, value, mask) -> Tensor:
        columns = [x.mT.contiguous() for x in (query, key)]  # (N, A, L), (N, A, S)
        v, value = v.contiguous(), value.contiguous()
        batch, hidden, length = columns[0].shape
        keys, width = value.shape[1:]
        output = value.new_empty(batch, length, width)
        logsumexp = value.new_empty(batch, length)
        _forward[triton.cdiv(length, ROWS), batch](
            *columns, v, value, *_mask(mask, value), output, logsumexp, hidden, length, keys, width,
            MASKED=mask is not None, VALUES=_values(width), ROWS=ROWS, KEYS=KEYS,
        )  # fmt: skip
        ctx.save_for_backward(*columns, v, value, mask, output, logsumexp, query, key)
        return output

    @staticmethod
    def backward(ctx, grad) -> tuple[Tensor | None, ...]:
        *columns, v, value, mask, output, logsumexp, query, key = ctx.saved_tensors
        if torch.is_grad_enabled():
            from attnkit.efficient.tiled_additive import plain_backward

            return *plain_backward((query, key, v, value), mask, grad), None
        batch, hidden, length = columns[0].shape
        keys, width = value.shape[1:]
        grad = grad.contiguous()
        delta = (grad * output).sum(-1)
        grads = [torch.zeros_like(x) for x in (*columns, v, value)]
        _backward[triton.cdiv(length, ROWS), triton.cdiv(keys, KEYS), batch](
            *columns, v, value, *_mask(mask, value), grad, logsumexp, delta, *grads,
            hidden, length, keys, width,
            MASKED=mask is not None, VALUES=_values(width), ROWS=ROWS, KEYS=KEYS,
        )  # fmt: skip
        return grads[0].mT, grads[1].mT, grads[2], grads[3], None


def _mask(mask: Tensor | None, other: Tensor) -> tuple[Tensor, int, int, int]:
    """The mask as bytes, with its strides; any tensor will do when it is not looked at."""
    if mask is None:
        return other, 0, 0, 0
    return mask.view(torch.uint8), *mask.stride()


def _values(width: int) -> int:
    return max(16, triton.next_power_of_2(width))


@triton.jit
def _tanh(x):
    """1 - 2 / (1 + e^2x): right at both ends, and to one rounding of 1 between them."""
    return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))


@triton.jit
def _scores(
    query, key, v, rows, columns, hidden, length, keys, ROWS: tl.constexpr, KEYS: tl.constexpr
):
    scores = tl.zeros([ROWS, KEYS], tl.float32)
    for a in range(hidden):
        q = tl.load(query + a * length + rows, mask=rows < length, other=0.0)
        k = tl.load(key + a * keys + columns, mask=columns < keys, other=0.0)
        scores += tl.load(v + a) * _tanh(q[:, None] + k[None, :])
    return scores


@triton.jit
def _visible(mask, m_row, m_key, rows, columns, length, keys, MASKED: tl.constexpr):
    visible = (rows[:, None] < length) & (columns[None, :] < keys)
    if MASKED:
        places = rows[:, None] * m_row + columns[None, :] * m_key
        visible = visible & (tl.load(mask + places, mask=visible, other=0) != 0)
    return visible


@triton.jit
def _forward(
    query, key, v, value, mask, m_batch, m_row, m_key, output, logsumexp,
    hidden, length, keys, width,
    MASKED: tl.constexpr, VALUES: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(1).to(tl.int64)
    query += batch * hidden * length
    key += batch * hidden * keys
    value += batch * keys * width
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = tl.arange(0, VALUES)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, VALUES], tl.float32)
    for first in range(0, keys, KEYS):
        columns = first + tl.arange(0, KEYS)
        visible = _visible(
            mask + batch * m_batch, m_row, m_key, rows, columns, length, keys, MASKED
        )
        if tl.max(visible.to(tl.int32)) > 0:
            scores = _scores(query, key, v, rows, columns, hidden, length, keys, ROWS, KEYS)
            scores = tl.where(visible, scores, float("-inf"))
            larger = tl.maximum(maximum, tl.max(scores, 1))
            base = tl.where(larger == float("-inf"), 0.0, larger)
            weights = tl.exp(scores - base[:, None])
            mend = tl.exp(maximum - base)
            inside = (columns[:, None] < keys) & (places[None, :] < width)
            some = tl.load(
                value + columns[:, None] * width + places[None, :], mask=inside, other=0.0
            )
            sums = sums * mend[:, None] + tl.dot(weights, some, input_precision="ieee")
            total = total * mend + tl.sum(weights, 1)
            maximum = larger
    result = sums / tl.where(total == 0.0, 1.0, total)[:, None]
    inside = (rows[:, None] < length) & (places[None, :] < width)
    output += batch * length * width
    tl.store(output + rows[:, None] * width + places[None, :], result, mask=inside)
    tl.store(logsumexp + batch * length + rows, maximum + tl.log(total), mask=rows < length)


@triton.jit
def _backward(
    query, key, v, value, mask, m_batch, m_row, m_key, grad, logsumexp, delta,
    grad_query, grad_key, grad_v, grad_value, hidden, length, keys, width,
    MASKED: tl.constexpr, VALUES: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * KEYS + tl.arange(0, KEYS)
    visible = _visible(mask + batch * m_batch, m_row, m_key, rows, columns, length, keys, MASKED)
    if tl.max(visible.to(tl.int32)) > 0:
        query += batch * hidden * length
        key += batch * hidden * keys
        grad_query += batch * hidden * length
        grad_key += batch * hidden * keys
        places = tl.arange(0, VALUES)
        in_rows = (rows[:, None] < length) & (places[None, :] < width)
        in_keys = (columns[:, None] < keys) & (places[None, :] < width)
        row_places = batch * length * width + rows[:, None] * width + places[None, :]
        key_places = batch * keys * width + columns[:, None] * width + places[None, :]
        g = tl.load(grad + row_places, mask=in_rows, other=0.0)
        some = tl.load(value + key_places, mask=in_keys, other=0.0)
        base = tl.load(logsumexp + batch * length + rows, mask=rows < length, other=0.0)
        base = tl.where(base == float("-inf"), 0.0, base)
        off = tl.load(delta + batch * length + rows, mask=rows < length, other=0.0)

        scores = _scores(query, key, v, rows, columns, hidden, length, keys, ROWS, KEYS)
        weights = tl.where(visible, tl.exp(scores - base[:, None]), 0.0)
        of_value = tl.dot(tl.trans(weights), g, input_precision="ieee")
        tl.atomic_add(grad_value + key_places, of_value, mask=in_keys)
        slope = weights * (tl.dot(g, tl.trans(some), input_precision="ieee") - off[:, None])
        for a in range(hidden):
            q = tl.load(query + a * length + rows, mask=rows < length, other=0.0)
            k = tl.load(key + a * keys + columns, mask=columns < keys, other=0.0)
            t = _tanh(q[:, None] + k[None, :])
            tl.atomic_add(grad_v + a, tl.sum(tl.sum(slope * t, 1), 0))
            through = slope * (1.0 - t * t) * tl.load(v + a)
            tl.atomic_add(grad_query + a * length + rows, tl.sum(through, 1), mask=rows < length)
            tl.atomic_add(grad_key + a * keys + columns, tl.sum(through, 0), mask=columns < keys)
