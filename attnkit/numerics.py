"""What keeps a mechanism's numbers right: wide enough, and free of what the mask hides."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)
_NOTHING = nullcontext()


class Inputs(NamedTuple):
    """The tensors of one call, safe to project, and the rows (..., L, 1) to spoil afterwards."""

    query: Tensor
    key: Tensor
    value: Tensor
    spoiled: Tensor | None


def widen(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors in float32 where they were float16 or bfloat16."""
    return tuple(x.float() if x.dtype in HALF else x for x in tensors)


def narrow(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the tensor in `dtype`: the way back from `widen`, free where nothing was widened."""
    return tensor if tensor.dtype == dtype else tensor.to(dtype)


def as_autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Cast as autocast casts the inputs of the fused kernel, so that both forms see the same."""
    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(x if x.dtype == torch.float64 else x.to(dtype) for x in tensors)


def without_autocast(tensor: Tensor) -> AbstractContextManager:
    """Keep autocast from narrowing what `widen` made wide; costs nothing where it is off."""
    device = tensor.device.type
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else _NOTHING


def seeing(mask: Tensor) -> Tensor:
    """Which queries may see any key: a mask (..., L, S) -> boolean (..., L, 1)."""
    if mask.shape[-1] == 0:
        return mask.any(-1, keepdim=True)
    # A maximum over bytes, which on a CPU is up to 25 times faster than any() over booleans.
    return mask.view(torch.uint8).amax(-1, keepdim=True).view(torch.bool)


def finite(tensor: Tensor) -> bool:
    # The sum of finite numbers may overflow, so a false alarm is possible; a miss is not.
    return math.isfinite(tensor.detach().sum().item())


def set_aside_nonfinite(
    key: Tensor, value: Tensor, mask: Tensor, *, query_heads: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Zero the keys and values that hold NaN or Inf, and say which queries see one of them.

    A weight of 0 does not stop a NaN, since 0 * NaN is NaN: neither in the output nor in the
    gradients. So a mechanism that takes a mask computes with what this returns and writes NaN
    into the rows that it names.

    Args:
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S).
        query_heads: with grouped heads, (H,): the rows are then named for each query head.

    Returns:
        key, value, and a boolean (..., L, 1), True for queries that see a non-finite key or value;
        None when everything is finite.
    """
    # Asking costs little here; on a GPU it would stall the stream, and it cannot be compiled.
    if key.is_cpu and not torch.compiler.is_compiling() and finite(key) and finite(value):
        return key, value, None
    key_ok, value_ok = key.isfinite(), value.isfinite()
    bad = ~(key_ok.all(-1) & value_ok.all(-1))  # (..., S)
    if query_heads and bad.dim() > 1 and bad.shape[-2] not in (1, *query_heads):
        bad = bad.repeat_interleave(query_heads[0] // bad.shape[-2], dim=-2)  # (..., H, S)
    spoiled = seeing(mask & bad[..., None, :])  # (..., L, 1)
    return torch.where(key_ok, key, 0.0), torch.where(value_ok, value, 0.0), spoiled


def set_aside(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Inputs:
    """Zero what holds NaN or Inf before it is projected, and say which queries it spoils.

    Once a NaN has been through a projection, the gradient of the weights is NaN whatever the mask
    does afterwards, since 0 * NaN is NaN. That goes for padded queries as well, which see real
    keys. Tensors that were one object remain one, so that a packed projection can tell.

    Args:
        query, key, value: (..., length, features), not yet projected.
        mask: boolean, broadcastable to (..., L, S), or None: then nothing can be hidden, and the
            tensors come back as they are.
    """
    if mask is None:
        return Inputs(query, key, value, None)
    given = {id(x): x for x in (query, key, value)}
    # Asking costs little here; on a GPU it would stall the stream, and it cannot be compiled.
    if query.is_cpu and not torch.compiler.is_compiling() and all(map(finite, given.values())):
        return Inputs(query, key, value, None)
    ok = {name: x.isfinite() for name, x in given.items()}
    clean = {name: torch.where(ok[name], x, 0.0) for name, x in given.items()}
    bad_key = ~(ok[id(key)].all(-1) & ok[id(value)].all(-1))[..., None, :]  # (..., 1, S)
    bad_query = ~ok[id(query)].all(-1, keepdim=True)  # (..., L, 1)
    spoiled = seeing(mask & (bad_key | bad_query))  # (..., L, 1)
    return Inputs(clean[id(query)], clean[id(key)], clean[id(value)], spoiled)
