"""Greedy search."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab.decoding.step import (
    Decoded,
    Step,
    Symbols,
    check_lengths,
    check_numbers,
    only_alive,
    stack_weights,
)


def greedy_search(
    step: Step,
    state: Any,
    batch: int,
    max_len: int,
    *,
    min_len: int = 0,
    pad: int | None = 0,
    bos: int = 1,
    eos: int = 2,
    device: torch.device | str | None = None,
    choose: Callable[[Tensor], Tensor] | None = None,
) -> Decoded:
    """Take the most probable token at every step, until every row has reached the end.

    Padding and the first symbol are never chosen, unless one of them is the end symbol too.

    Args:
        step: a function `step(tokens, state) -> Stepped`: see `attnlab.decoding`.
        state: the state before the first token, of `batch` rows.
        batch: number of rows B.
        max_len: most tokens to write, the end symbol included.
        min_len: fewest tokens to write, the end symbol included.
        pad: id of padding; None for a model without padding.
        bos, eos: ids of first symbol and end symbol.
        device: where the tokens live.
        choose: from log-probabilities (B, V) to tokens (B,), in place of the most probable; such as
            `sample` with its options bound.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: a number is out of range, or an id is not in the vocabulary of the logits.

    Example:
        >>> import torch
        >>> from attnlab.decoding import Stepped, greedy_search
        >>> table = torch.eye(6).roll(-1, 0)  # after token t comes t + 1, and after 5 comes 0
        >>> table[5] = torch.eye(6)[2]        # or rather the end
        >>> greedy_search(lambda t, s: Stepped(table[t] * 9, s, None), None, 1, 9, bos=3).tokens
        tensor([[4, 5, 2]])
    """
    checks.integer("batch", batch, minimum=1)
    check_lengths(min_len, max_len)
    symbols = Symbols(pad, bos, eos)
    symbols.check()
    tokens = torch.full((batch,), bos, device=device)  # (B,)
    alive = torch.ones_like(tokens, dtype=torch.bool)
    lengths = torch.zeros_like(tokens)
    scores: Tensor | float = 0.0
    all_tokens, all_weights = [], []
    for written in range(1, max_len + 1):
        logits, state, weights = step(tokens, state)
        log_probs = symbols.log_probs(logits, may_end=written >= min_len)  # (B, V)
        log_probs = log_probs.masked_fill(~alive[:, None], 0.0)  # what follows the end is nothing
        check_numbers(log_probs)
        tokens = log_probs.argmax(-1) if choose is None else choose(log_probs)  # (B,)
        best = log_probs.gather(-1, tokens[:, None])[:, 0]  # (B,)
        tokens = tokens.masked_fill(~alive, symbols.filler)
        scores = scores + best.masked_fill(~alive, 0.0)
        lengths = lengths + alive
        all_tokens.append(tokens)
        all_weights.append(only_alive(weights, alive))
        alive = alive & (tokens != eos)
        if not alive.any():
            break
    return Decoded(torch.stack(all_tokens, 1), lengths, scores, stack_weights(all_weights))
