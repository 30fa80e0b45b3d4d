"""Gradient checkpointing: keep less for the backward pass, and compute it again.

Chen et al. (2016), "Training deep nets with sublinear memory cost". Two cuts: over the queries of
one attention call, whose rows do not depend on each other, and over the layers of a stack.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from attnkit import checks
from attnkit.efficient.key_ranges import keys_alone
from attnkit.functional import Attended
from attnkit.trace import unobserved, watching


def chunked_attention(
    attention: Callable[..., Attended],
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    chunk_size: int,
    need_weights: bool = False,
) -> Attended:
    """Ask any mechanism for a few queries at a time, and compute each chunk again when training.

    At no time are more than `chunk_size` rows of scores and weights held, in neither pass, at the
    price of a second forward pass. The result is that of one call (with dropout, each chunk draws
    its own), since every mechanism answers each query alone. What a mechanism does once for all
    keys, such as projecting them, is done once a chunk.

    Args:
        attention: a mechanism of attnkit, or anything that is called like one.
        query: (..., L, E).
        key: (..., S, Ek); `query` when left out.
        value: (..., S, Ev); `key` when left out.
        mask: boolean, broadcastable to (..., L, S); True where the query may attend.
        chunk_size: queries of a chunk, at least 1.
        need_weights: return the weights, which then are held.

    Returns:
        `Attended(output, weights)`, as the mechanism gives them.

    Raises:
        TypeError: `attention` is not callable, or `chunk_size` is not an int.
        ValueError: `chunk_size` is below 1, or `query` has less than two dimensions.

    Example:
        >>> import torch
        >>> import attnkit
        >>> attention = attnkit.AdditiveAttention(8, 8, 16)
        >>> x = torch.randn(2, 100, 8)
        >>> chunks = chunked_attention(attention, x, chunk_size=32).output
        >>> torch.allclose(chunks, attention(x).output, atol=1e-6)
        True
    """
    _check_callable("attention", attention)
    checks.floating("query", query)
    checks.dims("query", query, 2, "(..., L, E)")
    checks.integer("chunk_size", chunk_size, minimum=1)
    checks.flag("need_weights", need_weights)
    key = query if key is None else key
    value = key if value is None else value

    def attend(some: Tensor, key: Tensor, value: Tensor, part: Tensor | None) -> tuple:
        return tuple(attention(some, key, value, mask=part, need_weights=need_weights))

    if watching():
        with torch.no_grad():
            attention(query, key, value, mask=mask)
    chunks = []
    with unobserved():
        for place, some in enumerate(query.split(chunk_size, -2)):
            rows = slice(place * chunk_size, (place + 1) * chunk_size)
            part = mask if keys_alone(mask) else mask[..., rows, :]
            chunks.append(_checkpoint(attend, some, key, value, part))
    outputs, weights = zip(*chunks, strict=True)
    return Attended(torch.cat(outputs, -2), torch.cat(weights, -2) if need_weights else None)


def checkpointed_layers(
    layers: Sequence[Callable[..., Tensor]],
    inputs: Tensor,
    *,
    segments: int | None = None,
    **options: object,
) -> Tensor:
    """Run layers one after the other, keeping for the backward pass only each segment's input.

    With n layers in segments of sqrt(n), about 2 * sqrt(n) layers' activations are held in place of
    n, for one more forward pass (Chen et al. 2016, section 4). Dropout draws the same numbers in
    both passes.

    Args:
        layers: n functions from a tensor to a tensor, such as the layers of an encoder.
        inputs: what the first layer takes.
        segments: pieces to cut the stack in, from 1 to n; ceil(sqrt(n)) when left out.
        options: passed on to every layer, a mask for instance.

    Returns:
        What the last layer gives.

    Raises:
        TypeError: `inputs` is not a tensor, a layer is not callable, or `segments` is not an int.
        ValueError: there are no layers, or `segments` is out of its range.

    Example:
        >>> import torch
        >>> layers = [torch.nn.Linear(8, 8) for _ in range(9)]
        >>> x = torch.randn(2, 8)
        >>> torch.equal(checkpointed_layers(layers, x), torch.nn.Sequential(*layers)(x))
        True
    """
    layers = list(layers)
    if not layers:
        checks.fail("layers", "at least one layer", "none")
    for place, layer in enumerate(layers):
        _check_callable(f"layers[{place}]", layer)
    checks.tensor("inputs", inputs)
    count = len(layers)
    segments = math.ceil(math.sqrt(count)) if segments is None else segments
    checks.integer("segments", segments, minimum=1, maximum=count)
    size = -(-count // segments)

    for begin in range(0, count, size):

        def run(x: Tensor, some: Sequence[Callable[..., Tensor]]) -> Tensor:
            for layer in some:
                x = layer(x, **options)
            return x

        inputs = _checkpoint(run, inputs, layers[begin : begin + size])
    return inputs


def _checkpoint(function: Callable, *inputs: object) -> object:
    if not torch.is_grad_enabled():
        return function(*inputs)
    return checkpoint(function, *inputs, use_reentrant=False)


def _check_callable(name: str, value: object) -> None:
    if not callable(value):
        checks.fail(name, "a callable", type(value).__name__, TypeError)
