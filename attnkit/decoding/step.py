"""What a search asks of a model and what it gives back."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnkit import checks


class Stepped(NamedTuple):
    """One step: `logits` (N, V), the new `state`, and `weights` (N, ..., S) or None."""

    logits: Tensor
    state: Any
    weights: Tensor | None


class Decoded(NamedTuple):
    """What a search found.

    `tokens` (B, T), without the first symbol, with the end symbol where it was reached, then
    padding. `lengths` (B,): tokens of each, the end symbol included. `scores` (B,): the sum of
    the log-probabilities of those tokens. `weights` (B, ..., T, S), zero after the end, or None.
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    weights: Tensor | None


Step = Callable[[Tensor, Any], Stepped]


def select(state: Any, rows: Tensor) -> Any:
    """Pick rows (N,) of everything in a state: tensors by their first dimension, tuples, lists
    and dicts item by item, objects by their own `select(rows)`; None stays None.

    Raises:
        TypeError: the state holds something else.

    Example:
        >>> import torch
        >>> from attnkit.decoding import select
        >>> select((torch.tensor([[1.0], [2.0]]), None), torch.tensor([1, 1, 0]))
        (tensor([[2.],
                [2.],
                [1.]]), None)
    """
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state.index_select(0, rows)
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(select(item, rows) for item in state))
    if isinstance(state, tuple | list):
        return type(state)(select(item, rows) for item in state)
    if isinstance(state, dict):
        return {name: select(item, rows) for name, item in state.items()}
    if hasattr(state, "select"):
        return state.select(rows)
    checks.fail(
        "state", "tensors, None, or containers of them", type(state).__name__, kind=TypeError
    )


def log_probs_of(logits: Tensor, pad: int, bos: int) -> Tensor:
    """Log-probabilities (N, V) in at least float32, with padding and first symbol ruled out."""
    log_probs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
    never = torch.tensor([pad, bos], device=logits.device)
    return log_probs.index_fill(-1, never, -math.inf)  # (N, V)


def only_alive(weights: Tensor | None, alive: Tensor) -> Tensor | None:
    """Zero the weights (N, ...) of rows that have ended."""
    if weights is None:
        return None
    return weights.masked_fill(~alive.view(-1, *(1,) * (weights.dim() - 1)), 0.0)


def stack_weights(steps: list[Tensor | None]) -> Tensor | None:
    """Stack the weights (B, ..., S) of T steps."""
    return None if steps[0] is None else torch.stack(steps, dim=-2)  # (B, ..., T, S)
