"""Beam search."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnkit import checks
from attnkit.decoding.step import (
    Decoded,
    Step,
    log_probs_of,
    only_alive,
    select,
    stack_weights,
)


class _Beams(NamedTuple):
    """K hypotheses for each of B sentences: sums of log-probabilities, lengths, whether at end."""

    sums: Tensor
    lengths: Tensor
    done: Tensor

    def normalised(self, length_penalty: float) -> Tensor:
        return self.sums / _penalty(self.lengths, length_penalty)  # (B, K)


class _Move(NamedTuple):
    """One step of every beam: whom each hypothesis (B, K) continues, with which token, and the
    weights (B, K, ..., S) of those it could continue."""

    parents: Tensor
    tokens: Tensor
    weights: Tensor | None


def beam_search(
    step: Step,
    state: Any,
    batch: int,
    max_len: int,
    *,
    beam_size: int,
    length_penalty: float = 0.6,
    pad: int = 0,
    bos: int = 1,
    eos: int = 2,
    device: torch.device | str | None = None,
) -> Decoded:
    r"""Keep the `beam_size` best hypotheses of every sentence, and return the best that ends.

    A hypothesis that reaches the end leaves the race and keeps its place; the others compete for
    those that remain (Sutskever et al. 2014, section 3.2). The best is the one with the highest

    .. math:: \sum_t \log p(y_t) \Big/ \Big(\frac{5 + T}{6}\Big)^\alpha

    (Wu et al. 2016, equation 14, without the coverage term). A hypothesis that has not ended
    within `max_len` counts only when no other has. `beam_size=1` is `greedy_search`.

    Args:
        step: as the module says.
        state: the state before the first token, with `beam_size` rows for each sentence, one
            after the other: B * K rows.
        batch: number of sentences B.
        max_len: most tokens to write, the end symbol included.
        beam_size: K, at least 1.
        length_penalty: alpha; 0 favours short sentences, since every token costs.
        pad, bos, eos, device: as in `greedy_search`.

    Returns:
        `Decoded`; its `scores` are the sums of log-probabilities, not divided.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: a number is out of range.

    Example:
        >>> import torch
        >>> from attnkit.decoding import Stepped, beam_search
        >>> rows = torch.tensor([[0, 0, 0, 0.6, 0.4], [0, 0, 0.5, 0.5, 0], [0, 0, 0.9, 0.1, 0]])
        >>> def step(tokens, state):  # after BOS 3 is likelier than 4, but 4 ends well
        ...     return Stepped(rows[(tokens - 2).clamp(min=0)].log(), state, None)
        >>> [beam_search(step, None, 1, 3, beam_size=k).tokens.tolist() for k in (1, 2)]
        [[[3, 2]], [[4, 2]]]
    """
    checks.integer("batch", batch, minimum=1)
    checks.integer("max_len", max_len, minimum=1)
    checks.integer("beam_size", beam_size, minimum=1)
    if checks.number("length_penalty", length_penalty) < 0:
        checks.fail("length_penalty", "a number of at least 0", str(length_penalty))
    beams, moves = _first_beams(batch, beam_size, device), []
    tokens = torch.full((batch * beam_size,), bos, device=device)  # (B * K,)
    first_rows = torch.arange(batch, device=device)[:, None] * beam_size  # (B, 1)
    for _ in range(max_len):
        logits, state, weights = step(tokens, state)
        log_probs = log_probs_of(logits, pad, bos).unflatten(0, (batch, beam_size))  # (B, K, V)
        beams, parents, tokens = _advance(beams, log_probs, pad, eos)
        weights = None if weights is None else weights.unflatten(0, (batch, beam_size))
        moves.append(_Move(parents, tokens, weights))
        if _settled(beams, length_penalty, max_len):
            break
        state = select(state, (first_rows + parents).flatten())
        tokens = tokens.flatten()
    return _trace_back(moves, beams, _best(beams, length_penalty), pad)


def _penalty(lengths: Tensor | int, length_penalty: float) -> Tensor | float:
    return ((5 + lengths) / 6) ** length_penalty


def _first_beams(batch: int, beam_size: int, device: torch.device | str | None) -> _Beams:
    # All K start alike, so only the first may be continued, or the K would stay alike.
    sums = torch.full((batch, beam_size), -math.inf, device=device)
    sums[:, 0] = 0.0
    lengths = torch.zeros_like(sums, dtype=torch.long)
    return _Beams(sums, lengths, torch.zeros_like(sums, dtype=torch.bool))


def _advance(beams: _Beams, log_probs: Tensor, pad: int, eos: int) -> tuple[_Beams, Tensor, Tensor]:
    """Continue the beams by one token each: the new beams, and parents and tokens (B, K)."""
    vocab = log_probs.shape[-1]
    is_pad = torch.arange(vocab, device=log_probs.device) == pad  # (V,)
    stays = torch.where(is_pad, 0.0, -math.inf).to(log_probs)
    log_probs = torch.where(beams.done[..., None], stays, log_probs)
    sums = (beams.sums[..., None].to(log_probs) + log_probs).flatten(1)  # (B, K * V)
    kept = (beams.done[..., None] & is_pad).flatten(1)
    places = sums.masked_fill(kept, math.inf).topk(beams.sums.shape[1]).indices  # (B, K)
    parents, tokens = places // vocab, places % vocab
    was_done, sums = beams.done.gather(1, parents), sums.gather(1, places)
    lengths = beams.lengths.gather(1, parents) + ~was_done
    # With fewer tokens than beams, places are filled with hypotheses of probability 0.
    done = was_done | ((tokens == eos) & (sums > -math.inf))
    return _Beams(sums, lengths, done), parents, tokens


def _settled(beams: _Beams, length_penalty: float, max_len: int) -> bool:
    """Whether no open hypothesis of any sentence can still win.

    A sum can only fall, so the most an open one may reach is its sum over the largest penalty.
    """
    finished = beams.normalised(length_penalty).masked_fill(~beams.done, -math.inf).amax(1)
    hope = beams.sums.masked_fill(beams.done, -math.inf).amax(1) / _penalty(max_len, length_penalty)
    return bool(((finished >= hope) & beams.done.any(1)).all())


def _best(beams: _Beams, length_penalty: float) -> Tensor:
    ranked = beams.normalised(length_penalty)
    open_but_beaten = ~beams.done & beams.done.any(1, keepdim=True)
    return ranked.masked_fill(open_but_beaten, -math.inf).argmax(1)  # (B,)


def _trace_back(moves: list[_Move], beams: _Beams, best: Tensor, pad: int) -> Decoded:
    """Follow the parents of hypothesis best[b] of each sentence back to the first token."""
    lengths = beams.lengths.gather(1, best[:, None]).squeeze(1)  # (B,)
    scores = beams.sums.gather(1, best[:, None]).squeeze(1)
    sentence = torch.arange(len(best), device=best.device)
    written, seen = [], []
    for place, move in reversed(list(enumerate(moves))):
        alive = lengths > place
        written.append(move.tokens[sentence, best].masked_fill(~alive, pad))
        best = move.parents[sentence, best]
        seen.append(
            None if move.weights is None else only_alive(move.weights[sentence, best], alive)
        )
    longest = int(lengths.max())
    tokens = torch.stack(written[::-1], 1)[:, :longest]  # (B, T)
    weights = stack_weights(seen[::-1][:longest])
    return Decoded(tokens, lengths, scores, weights)
