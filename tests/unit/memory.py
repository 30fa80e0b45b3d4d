"""How much memory a computation needs, counted in tensors rather than in a process."""

from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class _Largest(TorchDispatchMode):
    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else [result]:
            if isinstance(x, torch.Tensor):
                self.elements = max(self.elements, x.untyped_storage().nbytes() // x.itemsize)
        return result


def largest_tensor(computation: Callable[[], object]) -> int:
    """The most elements of any tensor that an operation of the computation returns."""
    with _Largest() as record:
        computation()
    return record.elements
