"""Every shape, dtype and device check of attnkit.

A check returns its argument (or nothing) when it is fine and raises otherwise: `TypeError` for
the wrong kind of thing, `ValueError` for the wrong value. Every message has one form,
``name: expected what, got what came``, so that the reader of a traceback sees at once which
argument to correct.
"""

import math
from collections.abc import Callable, Sequence, Sized
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor


def fail(name: str, expected: str, got: str, kind: type[Exception] = ValueError) -> None:
    """Raise `kind` with the one form of message that attnkit uses."""
    raise kind(f"{name}: expected {expected}, got {got}")


def described(value: Any) -> str:
    """The type of `value` and the value in one short line, of a tensor or an array its shape."""
    if getattr(value, "shape", ()):
        return f"{type(value).__name__} of shape {shape(value)}"
    text, name = " ".join(repr(value).split()), f"{type(value).__name__} "
    text = text if len(text) <= 60 else text[:59] + "…"
    return text if text.startswith(name.strip() + "(") else name + text  # it may say its type


def tensor(name: str, value: Any) -> Tensor:
    """Check that `value` is a tensor."""
    if not isinstance(value, Tensor):
        fail(name, "a torch.Tensor", type(value).__name__, TypeError)
    return value


def floating(name: str, value: Any) -> Tensor:
    """Check that `value` is a tensor of a floating dtype."""
    tensor(name, value)
    if value.is_nested or value.layout != torch.strided:
        fail(
            name, "a dense tensor", f"a {'nested' if value.is_nested else 'sparse'} one", TypeError
        )
    if not value.is_floating_point():
        fail(name, "a floating-point tensor", str(value.dtype), TypeError)
    if value.dtype.itemsize < 2:  # which PyTorch stores and does not compute with
        fail(name, "a floating-point tensor of at least 16 bits", str(value.dtype), TypeError)
    return value


def boolean(name: str, value: Any) -> Tensor:
    """Check that `value` is a boolean tensor."""
    tensor(name, value)
    if value.dtype != torch.bool:
        fail(name, "a boolean tensor", str(value.dtype), TypeError)
    return value


def dims(name: str, value: Tensor, at_least: int, layout: str) -> Tensor:
    """Check that `value` has at least `at_least` dimensions; `layout` says what they are."""
    if value.dim() < at_least:
        fail(name, f"at least {at_least} dimensions {layout}", f"shape {shape(value)}")
    return value


def size(name: str, value: Tensor, dim: int, expected: int, why: str) -> Tensor:
    """Check that dimension `dim` of `value` has `expected` elements; `why` names the reason."""
    if value.shape[dim] != expected:
        fail(name, f"size {expected} in dimension {dim} ({why})", f"shape {shape(value)}")
    return value


def instance(name: str, value: Any, kind: type | tuple[type, ...], expected: str) -> Any:
    """Check that `value` is an instance of `kind`; `expected` says so in words."""
    if not isinstance(value, kind):
        fail(name, expected, type(value).__name__, TypeError)
    return value


def function(name: str, value: Any, expected: str) -> Any:
    """Check that `value` can be called; `expected` says of what it is a function."""
    if not callable(value):
        fail(name, expected, type(value).__name__, TypeError)
    return value


def integer(
    name: str, value: Any, *, minimum: int | None = None, maximum: int | None = None
) -> int:
    """Check that `value` is an int (NumPy's too, but not a bool) within the bounds given."""
    if type(value) is not int and not isinstance(value, torch.SymInt):
        traced = isinstance(value, Tensor) and value.dim() == 0 and torch.jit.is_tracing()
        if isinstance(value, bool) or not (traced or isinstance(value, Integral)):
            fail(name, "an int", described(value), TypeError)
        value = int(value)
    if minimum is not None and value < minimum:
        fail(name, f"an int of at least {minimum}", str(value))
    if maximum is not None and value > maximum:
        fail(name, f"an int of at most {maximum}", str(value))
    return value


def number(name: str, value: Any) -> float:
    """Check that `value` is a finite real number, NumPy's too."""
    if type(value) not in (float, int) and not isinstance(value, torch.SymFloat | torch.SymInt):
        if isinstance(value, bool) or not isinstance(value, Real):
            fail(name, "a number", described(value), TypeError)
        value = float(value)
    if not -math.inf < value < math.inf:
        fail(name, "a finite number", str(value))
    return value


def positive(name: str, value: Any) -> float:
    """Check that `value` is a finite number greater than zero."""
    value = number(name, value)
    if value <= 0:
        fail(name, "a number greater than 0", str(value))
    return value


def probability(name: str, value: Any) -> float:
    """Check that `value` is a dropout probability: 0 <= value < 1."""
    value = number(name, value)
    if not 0 <= value < 1:
        fail(name, "a probability with 0 <= p < 1", str(value))
    return value


def flag(name: str, value: Any) -> bool:
    """Check that `value` is True or False."""
    if not isinstance(value, bool):
        fail(name, "True or False", described(value), TypeError)
    return value


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Check that `value` is one of `options`."""
    if value not in options:
        fail(name, "one of " + ", ".join(map(repr, options)), repr(value))
    return value


def same_device(**tensors: Tensor | None) -> None:
    """Check that all tensors given are on one device; the first one sets it."""
    given = {name: value for name, value in tensors.items() if value is not None}
    first = next(iter(given))
    for name, value in given.items():
        if value.device != given[first].device:
            fail(name, f"device {given[first].device} (that of {first})", f"device {value.device}")


def same_dtype(**tensors: Tensor) -> None:
    """Check that all tensors have one dtype. Autocast, when on, evens them out by itself."""
    first = next(iter(tensors))
    for name, value in tensors.items():
        if value.dtype == tensors[first].dtype:
            continue
        if value.device.type != "meta" and torch.is_autocast_enabled(value.device.type):
            return
        fail(name, f"dtype {tensors[first].dtype} (that of {first})", f"{value.dtype}", TypeError)


def broadcasts_to(
    name: str,
    value: Tensor,
    target: Sequence[int],
    layout: str,
    hint: Callable[[Tensor, Sequence[int]], str] = lambda value, target: "",
) -> Tensor:
    """Check that `value` broadcasts to exactly `target`, without enlarging it.

    `hint` says of a shape that does not fit how it would.
    """
    if value.dim() == 2 and value.shape == target[-2:]:  # of queries and keys alone, the usual one
        return value
    fits = value.dim() <= len(target)
    for have, want in zip(reversed(value.shape), reversed(target), strict=False):
        fits = fits and (have == 1 or have == want)
    if not fits:
        expected = f"a shape that broadcasts to {layout} = {tuple(target)}"
        fail(name, expected, f"shape {shape(value)}{hint(value, target)}")
    return value


def _missing_dims(value: Tensor, target: Sequence[int]) -> str:
    """How a mask such as (B, S), or (B, L, S) where there are heads, gets the shape it lacks."""
    missing = len(target) - value.dim()
    if missing < 1 or value.dim() < 2 or value.shape[0] not in (1, target[0]):
        return ""
    rest = zip(value.shape[1:], target[1 + missing :], strict=True)
    fits = all(have in (1, want) for have, want in rest)
    return f" (pass mask[{':' + ', None' * missing}])" if fits else ""


def leading_dims(**tensors: Tensor) -> torch.Size:
    """Return the broadcast leading dimensions (all but the last two) of the tensors."""
    leads = [value.shape[:-2] for value in tensors.values()]
    if all(map(leads[0].__eq__, leads)):  # the usual case, and broadcast_shapes is slow
        return leads[0]
    try:
        return torch.broadcast_shapes(*leads)
    except RuntimeError:
        shapes = ", ".join(f"{name} {shape(value)}" for name, value in tensors.items())
        fail(next(reversed(tensors)), "leading dimensions that broadcast with the others", shapes)


def mask(value: Any, target: Sequence[int], *, device: torch.device) -> Tensor:
    """Check a mask: boolean, on `device`, broadcastable to `target` = (..., L, S).

    A boolean array of NumPy is taken too. Returns a tensor of two dimensions at least.
    """
    if isinstance(value, np.ndarray) and value.dtype == bool:
        value = torch.tensor(value, device=device)
    if not isinstance(value, Tensor):
        tensor("mask", value)
    if value.dtype != torch.bool:
        hint = " (add a float tensor with bias=)" if value.is_floating_point() else ""
        expected = f"a boolean tensor, True where the query may attend{hint}"
        fail("mask", expected, str(value.dtype), TypeError)
    if value.device != device:
        fail("mask", f"device {device} (that of query)", f"device {value.device}")
    broadcasts_to("mask", value, target, "(..., L, S)", _missing_dims)
    return value if value.dim() > 1 else torch.atleast_2d(value)


def bias(value: Any, target: Sequence[int], *, device: torch.device) -> Tensor:
    """Check an additive bias: floating, on `device`, broadcastable to `target` = (..., L, S)."""
    tensor("bias", value)
    if not value.is_floating_point():
        hint = " (pass a boolean tensor as mask=)" if value.dtype == torch.bool else ""
        fail("bias", f"a floating-point tensor{hint}", str(value.dtype), TypeError)
    if value.device != device:
        fail("bias", f"device {device} (that of query)", f"device {value.device}")
    return broadcasts_to("bias", value, target, "(..., L, S)")


def query_key_value(query: Any, key: Any, value: Any) -> None:
    """Check what every mechanism asks of its inputs: floating (..., length, features) tensors on
    one device and of one dtype, with a value for every key and no empty feature dimension."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        dense = isinstance(x, Tensor) and not x.is_nested and x.layout == torch.strided
        if not (
            dense and x.is_floating_point() and x.dim() > 1 and x.shape[-1] > 0 and x.itemsize > 1
        ):
            _refuse_input(name, x)
    if not query.device == key.device == value.device:
        same_device(query=query, key=key, value=value)
    if not query.dtype == key.dtype == value.dtype:
        same_dtype(query=query, key=key, value=value)
    if value.shape[-2] != key.shape[-2]:
        size("value", value, -2, key.shape[-2], "one value for each key")


def _refuse_input(name: str, value: Any) -> None:
    """Say what is wrong with an input of attention."""
    dims(name, floating(name, value), 2, "(..., length, features)")
    fail(name, "at least one feature in the last dimension", f"shape {shape(value)}")


def shape(value: Tensor) -> tuple[int, ...]:
    """Return the shape of `value` as a plain tuple, the way messages print it."""
    return tuple(value.shape)


def same_number(name: str, values: Sequence, other: str, others: Sequence) -> None:
    """Check that `values` holds as many items as `others`."""
    if len(values) != len(others):
        fail(name, f"as many as {other}, {len(others)}", str(len(values)))


def installed(name: str, extra: str) -> Any:
    """Import a library that `pip install 'attnkit[extra]'` brings; say so when it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".")[0].replace("_", "-")
        raise ImportError(
            f"{package}: expected to be installed (pip install 'attnkit[{extra}]'), got {error}"
        ) from error


def not_empty(name: str, values: Sized, expected: str) -> None:
    """Check that `values` holds something; `expected` says at least one of what."""
    if not len(values):
        fail(name, expected, "none")
