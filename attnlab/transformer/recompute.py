"""Gradient checkpointing: keep less for the backward pass, and compute it again.

Chen et al. (2016), "Training deep nets with sublinear memory cost", over the layers of a stack.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from attnkit.guard import checks


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
        segments: pieces to cut the stack in, from 1 to n; ceil(sqrt(n)) when omitted.
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
    for number, layer in enumerate(layers):
        checks.function(f"layers[{number}]", layer, "a callable")
    checks.tensor("inputs", inputs)
    count = len(layers)
    segments = math.ceil(math.sqrt(count)) if segments is None else segments
    segments = checks.integer("segments", segments, minimum=1, maximum=count)
    size = -(-count // segments)

    def run(x: Tensor, part: Sequence[Callable[..., Tensor]]) -> Tensor:
        for layer in part:
            x = layer(x, **options)
        return x

    for begin in range(0, count, size):
        segment = layers[begin : begin + size]
        if torch.is_grad_enabled():
            inputs = checkpoint(run, inputs, segment, use_reentrant=False)
        else:
            inputs = run(inputs, segment)
    return inputs
