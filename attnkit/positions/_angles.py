"""Shared by the kinds of positions: the angles of the waves, and two checks."""

import torch
from torch import Tensor

from attnkit import checks


def angles_of(
    length: int, size: int, offset: int, base: float, device: torch.device | str | None
) -> Tensor:
    """Angle of each pair of features at positions offset, offset + 1, ...: (length, size / 2)."""
    # In float32 the angle at position 100 000 would already be wrong in its third decimal.
    checks.positive("base", base)
    on_mps = device is not None and torch.device(device).type == "mps"
    dtype = torch.float32 if on_mps else torch.float64
    indices = torch.arange(offset, offset + length, device=device, dtype=dtype)  # (L,)
    turns = base ** -(torch.arange(0, size, 2, device=device, dtype=dtype) / size)  # (size / 2,)
    return indices[:, None] * turns  # (L, size / 2)


def even(name: str, size: int) -> int:
    """Check that `size` is an even number of at least 2."""
    if checks.integer(name, size, minimum=2) % 2:
        checks.fail(name, "an even number, for features come in pairs", str(size))
    return size


def features(name: str, x: Tensor, size: int, why: str) -> None:
    """Check that `x` is floating and has `size` features."""
    checks.floating(name, x)
    checks.dims(name, x, 2, f"(..., L, {why})")
    checks.size(name, x, -1, size, why)
