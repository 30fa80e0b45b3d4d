"""What each process checks; `test_parallel.py` starts the processes."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor, distributed

import attnkit
from attnlab.parallel import join_sequence, ring_attention, split_sequence
from experiments.parallel import bytes_sent

E, EV = 8, 6


def inputs(
    length: int, *, heads: int = 4, kv_heads: int = 4, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    """Query, key, value and the output's gradient, the same on all processes."""
    generator = torch.Generator().manual_seed(length)
    shapes = [(heads, E), (kv_heads, E), (kv_heads, EV), (heads, EV)]
    return [
        torch.randn(2, number, length, size, generator=generator, dtype=dtype)
        for number, size in shapes
    ]


def plain(tensors: list[Tensor], *, causal: bool, window: int | None, gqa: bool) -> list[Tensor]:
    """The whole output, and the gradients of query, key and value, on this process alone."""
    *inputs, grad = tensors
    length = inputs[0].shape[-2]
    mask = attnkit.masks.causal(length) if causal else None
    if window is not None:
        mask = attnkit.masks.sliding_window(length, window=window, causal=causal)
    inputs = [x.detach().requires_grad_() for x in inputs]
    output = attnkit.scaled_dot_product_attention(*inputs, mask=mask, enable_gqa=gqa).output
    return [output, *torch.autograd.grad(output, inputs, grad)]


def sharded(tensors: list[Tensor], *, zigzag: bool = True, **options) -> list[Tensor]:
    *parts, grad = (split_sequence(x, zigzag=zigzag) for x in tensors)
    parts = [x.requires_grad_() for x in parts]
    output = ring_attention(*parts, zigzag=zigzag, **options)
    grads = torch.autograd.grad(output, parts, grad)
    return [join_sequence(x, zigzag=zigzag) for x in (output, *grads)]


def equals_the_whole() -> None:
    """Outputs and gradients, for even, odd and too short lengths, masks and placements."""
    for length, causal, window, zigzag in product(
        (1, 3, 13, 64), (False, True), (None, 1, 3, 20), (True, False)
    ):
        tensors = inputs(length)
        expected = plain(tensors, causal=causal, window=window, gqa=False)
        found = sharded(tensors, causal=causal, window=window, zigzag=zigzag)
        what = f"{length=} {causal=} {window=} {zigzag=}"
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12, msg=what)


def grouped_heads() -> None:
    tensors = inputs(21, heads=8)
    expected = plain(tensors, causal=True, window=None, gqa=True)
    found = sharded(tensors, causal=True, enable_gqa=True)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def narrow_dtypes() -> None:
    """float32 within 1e-5; bfloat16 within its rounding of the result in float64."""
    exact = inputs(50)
    for dtype, atol in ((torch.float32, 1e-5), (torch.bfloat16, 0.05)):
        tensors = [x.to(dtype) for x in exact]
        expected = plain([x.double() for x in tensors], causal=True, window=None, gqa=False)
        for one, other in zip(sharded(tensors, causal=True), expected, strict=True):
            assert one.dtype == dtype
            torch.testing.assert_close(one.double(), other, rtol=0, atol=atol)


def under_autocast() -> None:
    """Computes and sends in the dtype of autocast, and its gradients come back in float32."""
    tensors = [x.float() for x in inputs(30)]
    *parts, _ = (split_sequence(x).requires_grad_() for x in tensors)
    with torch.autocast("cpu", torch.bfloat16):
        output = ring_attention(*parts, causal=True)
    assert output.dtype == torch.bfloat16
    output.float().sum().backward()
    assert all(x.grad.dtype == torch.float32 and x.grad.isfinite().all() for x in parts)


def masked_nan_stays_away() -> None:
    """A NaN in a key reaches the queries that see it, and no other's output or gradient."""
    tensors = inputs(16)
    tensors[1][:, :, 9] = math.nan
    output = sharded(tensors, causal=True)[0]
    assert output[:, :, :9].isfinite().all()
    assert output[:, :, 9:].isnan().all()


def refused_everywhere() -> None:
    """Every process raises, so none of them waits for another for ever."""
    rank, world = distributed.get_rank(), distributed.get_world_size()
    query, key, value, _ = (split_sequence(x) for x in inputs(16))
    with pytest.raises(ValueError, match="need_weights: expected False"):
        ring_attention(query, key, value, need_weights=True)
    with pytest.raises(ValueError, match="window: expected"):
        ring_attention(query, key, value, window=0)
    with pytest.raises(ValueError, match="parts of one sequence"):
        ring_attention(query, key[..., :-1, :], value[..., :-1, :])
    if world > 1:
        short = slice(None, -1 if rank else None)
        with pytest.raises(ValueError, match=r"query: expected parts of \["):
            ring_attention(*(x[..., short, :] for x in (query, key, value)))
        batch = slice(None, 1 if rank else None)
        with pytest.raises(ValueError, match="query: expected the same sizes"):
            ring_attention(query[batch], key[batch], value[batch])


def second_derivative_is_refused() -> None:
    """Rather than be wrong."""
    *parts, _ = (split_sequence(x).requires_grad_() for x in inputs(8))
    output = ring_attention(*parts)
    with pytest.raises(NotImplementedError, match="expected to be differentiated once"):
        torch.autograd.grad(output.sum(), parts, create_graph=True)


def bytes_are_those_of_the_formula() -> None:
    """Keys and values go N - 1 steps, forward and backward; their gradients N steps, back home."""
    world = distributed.get_world_size()
    tensors = [x.float() for x in inputs(8 * world)]
    *parts, grad = (split_sequence(x) for x in tensors)
    parts = [x.requires_grad_() for x in parts]
    own = parts[1].nbytes + parts[2].nbytes
    with bytes_sent() as forward:
        output = ring_attention(*parts, causal=True)
    with bytes_sent() as backward:
        output.backward(grad)
    assert sum(forward) == (world - 1) * own
    assert sum(backward) == ((world - 1) + world * (world > 1)) * own


def splits_and_joins() -> None:
    for shape, dim, zigzag in product([(5, 3), (16, 2)], (0, 1, -1), (True, False)):
        whole = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        part = split_sequence(whole, dim, zigzag=zigzag)
        assert torch.equal(join_sequence(part, dim, zigzag=zigzag), whole)


def on_a_smaller_group() -> None:
    """The first two processes share a sequence; the others share none."""
    group = distributed.new_group([0, 1])
    if distributed.get_rank() > 1:
        return
    tensors = inputs(12)
    parts = [split_sequence(x, group=group) for x in tensors[:3]]
    output = join_sequence(ring_attention(*parts, causal=True, group=group), group=group)
    expected = plain(tensors, causal=True, window=None, gqa=False)[0]
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)


def everything() -> None:
    """All of the above, one after the other: processes are slow to start."""
    equals_the_whole()
    grouped_heads()
    narrow_dtypes()
    under_autocast()
    masked_nan_stays_away()
    refused_everywhere()
    second_derivative_is_refused()
    bytes_are_those_of_the_formula()
    splits_and_joins()
    if distributed.get_world_size() > 2:
        on_a_smaller_group()
