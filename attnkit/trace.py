"""Watch what attention computes inside a model, without changing what the model returns.

with trace.record(model) as calls:
    model(sentence)
calls[0].module              # "encoder.layers.0.attention"
calls[0]["weights"]          # (B, H, L, S)
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnkit import checks

__all__ = ["Call", "record"]

observers: ContextVar[tuple[Callable[..., None], ...]] = ContextVar("observers", default=())


def watching() -> bool:
    # A compiled graph cannot hold a recorder, so nothing is recorded inside one.
    return not torch.compiler.is_compiling() and bool(observers.get())


def observe(**tensors: Tensor | None) -> None:
    if watching():
        for observer in observers.get():
            observer(**tensors)


@contextmanager
def unobserved() -> Iterator[None]:
    """For a mechanism that calls another for parts of its work: those are no calls of their own."""
    if not watching():
        yield
        return
    token = observers.set(())
    try:
        yield
    finally:
        observers.reset(token)


class Call(dict[str, Tensor]):
    """The tensors of one attention call, by name, detached copies on the device of the model.

    `scores` (..., L, S) before the mask, `masked_scores` (..., L, S) with -inf where the mask
    hides, `weights` (..., L, S) before dropout, `output` (..., L, Ev) before any projection.
    `module` is the dotted name of the module that called, or "" outside the recorded module.
    """

    def __init__(self, module: str, tensors: dict[str, Tensor]):
        super().__init__(tensors)
        self.module = module


@contextmanager
def record(module: nn.Module | None = None) -> Iterator[list[Call]]:
    """Record every attention call made inside the `with` block, in order.

    Args:
        module: names the calls by their place in it; calls outside it are recorded too.

    Yields:
        A list of `Call`, filled as the calls happen.

    Raises:
        TypeError: `module` is not an `nn.Module`.

    Example:
        >>> import torch
        >>> from attnkit import scaled_dot_product_attention
        >>> x = torch.eye(2)
        >>> with record() as calls:
        ...     output, weights = scaled_dot_product_attention(x, x, x, scale=1.0)
        >>> calls[0]["scores"], weights
        (tensor([[1., 0.],
                [0., 1.]]), None)
    """
    if module is not None and not isinstance(module, nn.Module):
        checks.fail("module", "an nn.Module", type(module).__name__, TypeError)
    calls: list[Call] = []
    running: list[str] = []
    handles = [] if module is None else _name_while_running(module, running)

    def observe(*, scores: Tensor, mask: Tensor | None, weights: Tensor, output: Tensor) -> None:
        masked = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        tensors = {"scores": scores, "masked_scores": masked, "weights": weights, "output": output}
        copies = {name: item.detach().clone() for name, item in tensors.items()}
        calls.append(Call(running[-1] if running else "", copies))

    token = observers.set((*observers.get(), observe))
    try:
        yield calls
    finally:
        observers.reset(token)
        for handle in handles:
            handle.remove()


def _name_while_running(module: nn.Module, running: list[str]) -> list[RemovableHandle]:
    def leave(*_: object) -> None:
        running.pop()

    handles = []
    for name, child in module.named_modules():
        handles.append(child.register_forward_pre_hook(lambda *_, n=name: running.append(n)))
        handles.append(child.register_forward_hook(leave, always_call=True))
    return handles
