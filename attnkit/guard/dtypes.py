"""Dtypes, autocast, and whether a tensor holds numbers or is only traced."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)
# Private names of PyTorch: where one is gone, what it tells apart is no longer noticed.
_PROXY = getattr(getattr(torch._C, "_TorchDispatchModeKey", None), "PROXY", None)
_FUNCTORCH = getattr(torch._C, "_functorch", None)


def widen(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors in float32 where they were float16 or bfloat16."""
    return tuple([x.float() if x.dtype in HALF else x for x in tensors])


def narrow(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the tensor in `dtype`: the way back from `widen`, free where nothing was widened."""
    return tensor if tensor.dtype == dtype else tensor.to(dtype)


def autocasting(tensor: Tensor) -> bool:
    """Whether autocast is on for the device of the tensor; the meta device has none."""
    device = tensor.device.type
    return device != "meta" and torch.is_autocast_enabled(device)


def as_autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Cast as autocast casts the inputs of the fused kernel, so that both forms see the same."""
    if not autocasting(tensors[0]):
        return tensors
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple([x if x.dtype == torch.float64 else x.to(dtype) for x in tensors])


def without_autocast(tensor: Tensor) -> AbstractContextManager:
    """Disable autocast, so that float32 tensors from `widen` are not cast back."""
    if not autocasting(tensor):
        return nullcontext()
    return torch.autocast(tensor.device.type, enabled=False)


def needs_grad(*tensors: Tensor | None) -> bool:
    """Whether autograd records what is computed with any of the tensors."""
    return True in [x is not None and x.requires_grad for x in tensors]


def values_unavailable(tensor: Tensor) -> bool:
    """Whether the values of this tensor cannot be read in Python.

    That is so under torch.compile, export and torch.jit.trace, inside a transform of `torch.func`,
    for fake tensors and on the meta device. Forms that work block by block then give way to plain
    ones, which a compiler fuses by itself.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or type(tensor) not in (Tensor, torch.nn.Parameter)
        or tensor.is_meta
        or (_FUNCTORCH is not None and _FUNCTORCH.peek_interpreter_stack() is not None)
        or (_PROXY is not None and torch._C._get_dispatch_mode(_PROXY) is not None)
    )


def transformed() -> bool:
    """Whether this is inside a transform of `torch.func`."""
    return _FUNCTORCH is not None and _FUNCTORCH.peek_interpreter_stack() is not None
