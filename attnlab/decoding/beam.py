"""Beam search."""

import math
from typing import Any, NamedTuple

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
    """One step of every beam: which hypothesis each one (B, K) continues and with which token,
    and the weights (B, K, ..., S) of the hypotheses before the step."""

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
    n_best: int | None = None,
    min_len: int = 0,
    pad: int | None = 0,
    bos: int = 1,
    eos: int = 2,
    device: torch.device | str | None = None,
) -> Decoded:
    r"""Keep the `beam_size` best hypotheses of every sentence, and return the best that ends.

    A hypothesis that reaches the end is finished and keeps its slot; the others compete for the
    slots that remain (Sutskever et al. 2014, section 3.2). The best is the one with the highest

    .. math:: \sum_t \log p(y_t) \Big/ \Big(\frac{5 + T}{6}\Big)^\alpha

    (Wu et al. 2016, equation 14, without the coverage term). A hypothesis that has not ended
    within `max_len` counts only when no other has. `beam_size=1` is `greedy_search`.

    Args:
        step: a function `step(tokens, state) -> Stepped`: see `attnlab.decoding`.
        state: the state before the first token, with `beam_size` rows for each sentence, one
            after the other: B * K rows.
        batch: number of sentences B.
        max_len: most tokens to write, the end symbol included.
        beam_size: K, at least 1.
        length_penalty: alpha, at most 10; 0 favours short sentences, since every token costs.
        n_best: return this many hypotheses of each sentence, the best first; default only the
            best, without a dimension for their number.
        min_len, pad, bos, eos, device: as in `greedy_search`.

    Returns:
        `Decoded`; its `scores` are the sums of log-probabilities, not divided. A hypothesis of
        score -inf fills a slot that no sentence was found for.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: a number is out of range, or an id is not in the vocabulary of the logits.

    Example:
        >>> import torch
        >>> from attnlab.decoding import Stepped, beam_search
        >>> rows = torch.tensor([[0, 0, 0, 0.6, 0.4], [0, 0, 0.5, 0.5, 0], [0, 0, 0.9, 0.1, 0]])
        >>> def step(tokens, state):  # after BOS 3 is likelier than 4, but 4 ends well
        ...     return Stepped(rows[(tokens - 2).clamp(min=0)].log(), state, None)
        >>> [beam_search(step, None, 1, 3, beam_size=k).tokens.tolist() for k in (1, 2)]
        [[[3, 2]], [[4, 2]]]
    """
    checks.integer("batch", batch, minimum=1)
    check_lengths(min_len, max_len)
    checks.integer("beam_size", beam_size, minimum=1)
    if not 0 <= checks.number("length_penalty", length_penalty) <= 10:
        checks.fail("length_penalty", "a number from 0 to 10", str(length_penalty))
    found = 1 if n_best is None else checks.integer("n_best", n_best, minimum=1, maximum=beam_size)
    symbols = Symbols(pad, bos, eos)
    symbols.check()
    beams, moves = _first_beams(batch, beam_size, device), []
    tokens = torch.full((batch * beam_size,), bos, device=device)  # (B * K,)
    first_rows = torch.arange(batch, device=device)[:, None] * beam_size  # (B, 1)
    for written in range(1, max_len + 1):
        logits, state, weights = step(tokens, state)
        log_probs = symbols.log_probs(logits, may_end=written >= min_len)
        log_probs = log_probs.unflatten(0, (batch, beam_size))  # (B, K, V)
        beams, parents, tokens = _advance(beams, log_probs, symbols)
        weights = None if weights is None else weights.unflatten(0, (batch, beam_size))
        moves.append(_Move(parents, tokens, weights))
        if _settled(beams, length_penalty, max_len, found):
            break
        state = select(state, (first_rows + parents).flatten())
        tokens = tokens.flatten()
    best = _ranked(beams, length_penalty)[:, :found]  # (B, n)
    decoded = _trace_back(moves, beams, best, symbols.filler)
    if n_best is not None:
        return decoded
    return Decoded(*(None if item is None else item.squeeze(1) for item in decoded))


def _penalty(lengths: Tensor | int, length_penalty: float) -> Tensor | float:
    return ((5 + lengths) / 6) ** length_penalty


def _first_beams(batch: int, beam_size: int, device: torch.device | str | None) -> _Beams:
    # All K start alike, so only the first may be continued, or the K would stay alike.
    sums = torch.full((batch, beam_size), -math.inf, device=device, dtype=torch.float32)
    sums[:, 0] = 0.0
    lengths = torch.zeros_like(sums, dtype=torch.long)
    return _Beams(sums, lengths, torch.zeros_like(sums, dtype=torch.bool))


def _advance(beams: _Beams, log_probs: Tensor, symbols: Symbols) -> tuple[_Beams, Tensor, Tensor]:
    """Continue the beams by one token each: the new beams, and parents and tokens (B, K)."""
    vocab = log_probs.shape[-1]
    is_filler = torch.arange(vocab, device=log_probs.device) == symbols.filler  # (V,)
    stays = torch.where(is_filler, 0.0, -math.inf).to(log_probs)
    log_probs = torch.where(beams.done[..., None], stays, log_probs)
    check_numbers(log_probs)
    sums = (beams.sums[..., None].to(log_probs) + log_probs).flatten(1)  # (B, K * V)
    kept = (beams.done[..., None] & is_filler).flatten(1)
    chosen = sums.masked_fill(kept, math.inf).topk(beams.sums.shape[1]).indices  # (B, K)
    parents, tokens = chosen // vocab, chosen % vocab
    was_done, sums = beams.done.gather(1, parents), sums.gather(1, chosen)
    lengths = beams.lengths.gather(1, parents) + ~was_done
    # With fewer tokens than beams, slots are filled with hypotheses of probability 0.
    done = was_done | ((tokens == symbols.eos) & (sums > -math.inf))
    return _Beams(sums, lengths, done), parents, tokens


def _settled(beams: _Beams, length_penalty: float, max_len: int, found: int) -> bool:
    """Whether no open hypothesis of any sentence can still become one of the `found` best.

    A sum can only fall, so the most an open one may reach is its sum over the largest penalty.
    """
    finished = beams.normalised(length_penalty).masked_fill(~beams.done, -math.inf)  # (B, K)
    least = finished.topk(found).values[:, -1]
    hope = beams.sums.masked_fill(beams.done, -math.inf).amax(1) / _penalty(max_len, length_penalty)
    return bool(((least >= hope) & (beams.done.sum(1) >= found)).all())


def _ranked(beams: _Beams, length_penalty: float) -> Tensor:
    """The hypotheses (B, K) from best to worst, those that have ended before all others."""
    downward = {"dim": 1, "descending": True, "stable": True}
    order = beams.normalised(length_penalty).sort(**downward).indices
    ended_first = beams.done.gather(1, order).long().sort(**downward).indices
    return order.gather(1, ended_first)  # (B, K)


def _trace_back(moves: list[_Move], beams: _Beams, best: Tensor, filler: int) -> Decoded:
    """Follow the parents of the hypotheses best (B, n) back to their first tokens."""
    lengths, scores = beams.lengths.gather(1, best), beams.sums.gather(1, best)  # (B, n)
    sentence = torch.arange(best.shape[0], device=best.device)[:, None]  # (B, 1)
    all_tokens, all_weights = [], []
    for index, move in reversed(list(enumerate(moves))):
        alive = lengths > index
        all_tokens.append(move.tokens[sentence, best].masked_fill(~alive, filler))
        best = move.parents[sentence, best]
        weights = None if move.weights is None else move.weights[sentence, best]
        all_weights.append(only_alive(weights, alive))
    longest = int(lengths.max())
    tokens = torch.stack(all_tokens[::-1], -1)[..., :longest]  # (B, n, T)
    return Decoded(tokens, lengths, scores, stack_weights(all_weights[::-1][:longest]))
