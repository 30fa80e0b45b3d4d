"""What the pictures are given: arrays by head and lists of tokens, checked and converted."""

from collections.abc import Sequence

import numpy as np
import torch

from attnkit import checks


def floats(name: str, value) -> np.ndarray:
    """Return `value` (tensor, array or nested list of numbers) as a float32 array.

    Raises TypeError, naming the argument, when `value` does not hold real numbers.
    """
    try:
        tensor = torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        checks.fail(name, "a tensor or an array of numbers", type(value).__name__, TypeError)
    if tensor.dtype == torch.bool or tensor.is_complex():
        checks.fail(name, "real numbers", str(tensor.dtype), TypeError)
    return tensor.to("cpu", torch.float32).contiguous().numpy()


def by_head(name: str, value, layout: str) -> np.ndarray:
    """Return `value` as float32 (H, rows, columns); two dimensions are taken as one head.

    `layout` names the axes in messages, for example "(H, L, E)". Raises ValueError for any other
    number of dimensions (a batch, too) and for an empty dimension.
    """
    array = floats(name, value)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        hint = " (a batch: pass one item of it)" if array.ndim == 4 else ""
        checks.fail(name, f"shape {layout} or one head of it", f"shape {array.shape}{hint}")
    if 0 in array.shape:
        checks.fail(name, f"no empty dimension in {layout}", f"shape {array.shape}")
    return array


def strings(name: str, value, count: int | None = None) -> list[str]:
    """Return `value` as a list of `count` strings (any number when `count` is None).

    Raises TypeError when it is not a sequence of strings and ValueError for a wrong count, both
    naming the argument.
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        checks.fail(name, "a list of strings", f"{type(value).__name__} {value!r:.40}", TypeError)
    for place, item in enumerate(value):
        if not isinstance(item, str):
            checks.fail(f"{name}[{place}]", "a string", f"{type(item).__name__}", TypeError)
    if count is not None and len(value) != count:
        checks.fail(name, f"{count} strings", f"{len(value)}")
    return list(value)


def numbered(count: int) -> list[str]:
    """Return stand-in names "0", "1", ... for a picture without words."""
    return [str(place) for place in range(count)]
