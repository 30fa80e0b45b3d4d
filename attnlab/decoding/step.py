"""Types of a search step, and what both searches share."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnkit.guard import checks


class Stepped(NamedTuple):
    """One step: `logits` (N, V), the new `state`, and `weights` (N, ..., S) or None."""

    logits: Tensor
    state: Any
    weights: Tensor | None


class Decoded(NamedTuple):
    """The result of a search.

    `tokens` (B, T), without the first symbol, with the end symbol where it was reached, then
    padding (or the end symbol again, for a model without padding). `lengths` (B,): tokens of
    each, the end symbol included. `scores` (B,): the sum of the log-probabilities of those
    tokens. `weights` (B, ..., T, S), zero after the end, or None. With `n_best` a dimension of
    that size follows B in all four.
    """

    tokens: Tensor
    lengths: Tensor
    scores: Tensor
    weights: Tensor | None


Step = Callable[[Tensor, Any], Stepped]


def select(state: Any, rows: Tensor) -> Any:
    """Select rows (N,) of everything in a search's state, as when beams are reordered.

    Tensors by their first dimension; tuples, lists and dicts item by item; objects by their own
    `select(rows)`; None stays None.

    Raises:
        TypeError: the state holds something else.

    Example:
        >>> import torch
        >>> from attnlab.decoding import select
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


class Symbols(NamedTuple):
    """The special ids of a search: padding (None for a model without), first and end symbol."""

    pad: int | None
    bos: int
    eos: int

    @property
    def filler(self) -> int:
        """What stands after the end of a sequence."""
        return self.eos if self.pad is None else self.pad

    def check(self, vocab_size: int | None = None) -> None:
        """Check that the ids are ints and, when it is known, below `vocab_size`."""
        for name, number in self._asdict().items():
            if number is None and name == "pad":
                continue
            checks.integer(name, number)
            if number < 0 or (vocab_size is not None and number >= vocab_size):
                last = "" if vocab_size is None else f" and at most {vocab_size - 1}"
                hint = " (None for a model without padding)" if name == "pad" else ""
                checks.fail(name, f"a token id of at least 0{last}{hint}", str(number))

    def log_probs(self, logits: Tensor, *, may_end: bool) -> Tensor:
        """Log-probabilities (N, V) in at least float32, -inf for symbols that cannot be written."""
        self.check(logits.shape[-1])
        log_probs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
        never = {self.pad, self.bos} - {None, self.eos} if may_end else {*self} - {None}
        return log_probs.index_fill(
            -1, torch.tensor([*never], dtype=torch.long, device=logits.device), -math.inf
        )


def check_numbers(log_probs: Tensor) -> None:
    """Check, on the CPU only, that a model has given numbers to rows that have not ended."""
    if log_probs.is_cpu and log_probs.isnan().any():
        checks.fail("logits", "a finite one in each row, and no NaN", "a row without, or a NaN")


def only_alive(weights: Tensor | None, alive: Tensor) -> Tensor | None:
    """Zero the weights of sequences that have ended: weights (*alive.shape, ..., S)."""
    if weights is None:
        return None
    ended = ~alive.view(*alive.shape, *(1,) * (weights.dim() - alive.dim()))
    return weights.masked_fill(ended, 0.0)


def stack_weights(steps: list[Tensor | None]) -> Tensor | None:
    """Stack the weights (B, ..., S) of T steps."""
    return None if steps[0] is None else torch.stack(steps, dim=-2)  # (B, ..., T, S)


def check_lengths(min_len: int, max_len: int) -> None:
    """Check the least and the greatest number of tokens to write."""
    checks.integer("max_len", max_len, minimum=1)
    checks.integer("min_len", min_len, minimum=0, maximum=max_len)
