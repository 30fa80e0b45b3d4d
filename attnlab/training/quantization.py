"""Weights in eight bits: a quarter of the bytes, and what is lost is known before it is shipped.

Each row of a matrix becomes integers from -127 to 127 and one scale in half precision, and each
vector is kept in half precision. `round_to_eight_bits` gives a model the weights that come back
out, so that what is tested is what is shipped: rounding them a second time changes nothing.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attnkit.guard import checks

LARGEST = 127
SCALE = ":scale"
"""What the name of a matrix's scales ends in, in a dict of packed weights."""


class Quantized(NamedTuple):
    """A matrix in eight bits: `values` int8 (rows, ...) and `scales` float16 (rows,)."""

    values: Tensor
    scales: Tensor


def quantize(weight: Tensor) -> Quantized:
    r"""Round each row of a matrix to 255 steps of its own width.

    .. math:: s_i = \max_j |w_{ij}| / 127 \qquad v_{ij} = \mathrm{round}(w_{ij} / s_i)

    with s rounded to half precision first. A row of zeros has scale 0. An error is at most half a
    step, unless s is too small for half precision (below 6e-5), when the step is coarser.

    Args:
        weight: floating (rows, ...), finite.

    Raises:
        TypeError: `weight` is not a floating tensor.
        ValueError: it has fewer than two dimensions, or holds NaN or an infinity.

    >>> quantize(torch.tensor([[0.5, -1.27], [0.0, 0.0]]))
    Quantized(values=tensor([[  50, -127],
            [   0,    0]], dtype=torch.int8), scales=tensor([0.0100, 0.0000], dtype=torch.float16))
    """
    checks.floating("weight", weight)
    checks.dims("weight", weight, 2, "(rows, ...)")
    if not weight.isfinite().all():
        checks.fail("weight", "finite numbers", "NaN or an infinity")
    # In NumPy's float64, which is there whatever the weight's device has.
    narrow = weight.detach().cpu()
    wide = (narrow if narrow.dtype == torch.float64 else narrow.float()).numpy()
    wide = wide.astype(np.float64)
    largest = np.abs(wide.reshape(len(wide), -1)).max(1, initial=0.0)
    scales = (largest / LARGEST).astype(np.float32).astype(np.float16)  # (rows,)
    steps = scales.astype(np.float64).reshape(-1, *(1,) * (weight.dim() - 1))
    values = np.divide(wide, steps, out=np.zeros_like(wide), where=steps > 0).round()
    values = values.clip(-LARGEST, LARGEST).astype(np.int8)
    return Quantized(*(torch.from_numpy(x).to(weight.device) for x in (values, scales)))


def dequantize(quantized: Quantized) -> Tensor:
    """Multiply the values by their scales: float32 (rows, ...), exactly.

    >>> dequantize(Quantized(torch.tensor([[2], [3]]), torch.tensor([0.5, 2.0])))
    tensor([[1.],
            [6.]])
    """
    values, scales = quantized
    return values.float() * scales.float().view(-1, *(1,) * (values.dim() - 1))


def pack(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Put the matrices of a state dict into eight bits, and its vectors into half precision.

    Matrix `name` becomes int8 `name` and float16 `name:scale`. `unpack` is the way back.

    >>> sorted(pack({"bias": torch.ones(2), "weight": torch.ones(2, 3)}))
    ['bias', 'weight', 'weight:scale']
    """
    packed = {}
    for name, weight in weights.items():
        if weight.dim() < 2:
            packed[name] = weight.detach().half()
        else:
            packed[name], packed[name + SCALE] = quantize(weight)
    return packed


def unpack(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return float32 weights from what `pack` made.

    >>> unpack(pack({"bias": torch.ones(2), "weight": torch.ones(1, 2)}))["bias"]
    tensor([1., 1.])
    """
    weights = {}
    for name, value in packed.items():
        if name.endswith(SCALE):
            continue
        scales = packed.get(name + SCALE)
        weights[name] = value.float() if scales is None else dequantize(Quantized(value, scales))
    return weights


def round_to_eight_bits(model: nn.Module) -> nn.Module:
    """Give a model, in place, the weights that it has after `pack` and `unpack`; return it.

    >>> layer = round_to_eight_bits(nn.Linear(4, 2))
    >>> before = layer.weight.clone()
    >>> torch.equal(round_to_eight_bits(layer).weight, before)
    True
    """
    checks.instance("model", model, nn.Module, "an nn.Module")
    model.load_state_dict(unpack(pack(model.state_dict())))
    return model
