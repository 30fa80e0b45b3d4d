"""Where a recorder waits for what attention computes, so that nothing here has to know of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

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
