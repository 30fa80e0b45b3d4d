"""Sampling a token from logits."""

import math

import torch
from torch import Tensor

from attnkit.guard import checks


def sample(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw a token for each row from softmax(z / T), or from its likely part.

    Args:
        logits: z (..., V).
        temperature: T. Below 1 likely tokens become likelier, above 1 less likely; 0 takes the
            most probable token.
        top_k: draw from the k most probable tokens alone (Fan et al. 2018); None for all.
        top_p: draw from the fewest most probable tokens whose probabilities reach p together
            (Holtzman et al. 2020), after `top_k`; None for all.
        generator: of the random numbers, on the device of the logits; default torch's own.

    Returns:
        token ids (...).

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `temperature` is negative, `top_k` below 1, or `top_p` not in (0, 1]; on the
            CPU also a row of logits that holds NaN or nothing but -inf.

    Example:
        >>> import torch
        >>> from attnlab.decoding import sample
        >>> logits = torch.tensor([0.5, 0.3, 0.2]).log()
        >>> draws = sample(logits.expand(1000, 3), top_p=0.6)
        >>> sorted(set(draws.tolist())), sample(logits, temperature=0).item()
        ([0, 1], 0)
    """
    checks.floating("logits", logits)
    if checks.number("temperature", temperature) < 0:
        checks.fail("temperature", "a number of at least 0", str(temperature))
    if top_k is not None:
        checks.integer("top_k", top_k, minimum=1)
    if top_p is not None and not 0 < checks.number("top_p", top_p) <= 1:
        checks.fail("top_p", "a probability above 0 and at most 1", str(top_p))
    best = logits.amax(-1, keepdim=True)  # NaN where one is
    if logits.is_cpu and not (best > -math.inf).all():
        checks.fail("logits", "a finite one in each row, and no NaN", "a row without, or a NaN")
    if temperature == 0:
        return logits.argmax(-1)
    # Against the best, or a small temperature would make infinities of all.
    logits = (logits - best).to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    probs = _likely(logits, top_k, top_p).softmax(-1)  # (..., V)
    drawn = torch.multinomial(probs.reshape(-1, probs.shape[-1]), 1, generator=generator)
    return drawn.view(logits.shape[:-1])


def _likely(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Put -inf in place of the logits (..., V) of tokens that `top_k` and `top_p` exclude."""
    if top_k is None and top_p in (None, 1):
        return logits
    ordered, tokens = logits.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        rank = torch.arange(logits.shape[-1], device=logits.device)
        ordered = ordered.masked_fill(rank >= top_k, -math.inf)
    if top_p is not None:
        probs = ordered.softmax(-1)
        before = probs.cumsum(-1) - probs  # of the tokens that are more probable
        ordered = ordered.masked_fill(before >= top_p, -math.inf)
    return torch.empty_like(logits).scatter(-1, tokens, ordered)
