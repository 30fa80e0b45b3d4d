"""Find the Triton kernel that can take over, if there is one.

Triton is optional: it comes with PyTorch's CUDA builds, is imported only when a kernel is first
used, and without it the forms in PyTorch run. `TRITON_INTERPRET=1`, set before Triton is imported,
runs the kernels on the CPU, slowly, which is how they are tested where there is no GPU.
"""

import importlib
from functools import cache
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor

# The widest row that a program's share of the chip can hold, by dtype.
WIDEST = {torch.float32: 128, torch.float16: 256, torch.bfloat16: 256}


def find(name: str, *tensors: Tensor) -> ModuleType | None:
    """The module `triton.NAME` when it can work on these tensors (..., length, features)."""
    if torch.compiler.is_compiling() or not all(x.is_cuda for x in tensors):
        return None
    return load(name) if fits(*tensors) else None


def fits(*tensors: Tensor) -> bool:
    """Whether the kernels take these dtypes and sizes."""
    narrow = all(x.shape[-1] <= WIDEST.get(x.dtype, 0) for x in tensors)
    return narrow and all(x.numel() for x in tensors)


@cache
def load(name: str) -> ModuleType | None:
    """The module `triton.NAME`; None without Triton."""
    if find_spec("triton") is None:
        return None
    return importlib.import_module(f"attnkit.efficient.triton.{name}")
