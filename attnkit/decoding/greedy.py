"""Greedy search."""

from typing import Any

import torch
from torch import Tensor

from attnkit import checks
from attnkit.decoding.step import Decoded, Step, log_probs_of, only_alive, stack_weights


def greedy_search(
    step: Step,
    state: Any,
    batch: int,
    max_len: int,
    *,
    pad: int = 0,
    bos: int = 1,
    eos: int = 2,
    device: torch.device | str | None = None,
) -> Decoded:
    """Take the most probable token at every step, until every row has reached the end.

    Padding and the first symbol are never chosen.

    Args:
        step: as the module says.
        state: the state before the first token, of `batch` rows.
        batch: number of rows B.
        max_len: most tokens to write, the end symbol included.
        pad, bos, eos: ids of padding, first symbol and end symbol.
        device: where the tokens live.

    Raises:
        TypeError, ValueError: `batch` or `max_len` is not an int of at least 1.

    Example:
        >>> import torch
        >>> from attnkit.decoding import Stepped, greedy_search
        >>> table = torch.eye(6).roll(-1, 0)  # after token t comes t + 1, and after 5 comes 0
        >>> table[5] = torch.eye(6)[2]        # or rather the end
        >>> greedy_search(lambda t, s: Stepped(table[t] * 9, s, None), None, 1, 9, bos=3).tokens
        tensor([[4, 5, 2]])
    """
    checks.integer("batch", batch, minimum=1)
    checks.integer("max_len", max_len, minimum=1)
    tokens = torch.full((batch,), bos, device=device)  # (B,)
    alive = torch.ones_like(tokens, dtype=torch.bool)
    lengths = torch.zeros_like(tokens)
    scores: Tensor | float = 0.0
    written, seen = [], []
    for _ in range(max_len):
        logits, state, weights = step(tokens, state)
        best, tokens = log_probs_of(logits, pad, bos).max(-1)  # (B,)
        tokens = tokens.masked_fill(~alive, pad)
        scores = scores + best.masked_fill(~alive, 0.0)
        lengths = lengths + alive
        written.append(tokens)
        seen.append(only_alive(weights, alive))
        alive = alive & (tokens != eos)
        if not alive.any():
            break
    return Decoded(torch.stack(written, 1), lengths, scores, stack_weights(seen))
