r"""The gated delta rule: a memory of one fixed size that corrects itself.

Linear attention adds every key and value to its state, and what two keys share blurs. The delta
rule first asks the state what it holds for a key, and writes only the difference; a gate lets all
of it fade (Schlag et al. 2021, "Linear transformers are secretly fast weight programmers"; Yang et
al. 2025, "Gated delta networks", equation 10):

.. math::

    S_t = \alpha_t\,(I - \beta_t\, k_t k_t^\top)\, S_{t-1} + \beta_t\, k_t v_t^\top
    \qquad \text{output}_t = S_t^\top q_t

Keys are meant to be of length 1; then :math:`\beta = 1` replaces what the state held for a key.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnkit.call import Call, check
from attnkit.efficient.linear import not_finite, ranges_after
from attnkit.guard import checks
from attnkit.guard.dtypes import widen, without_autocast

# Tokens that one solve of a triangle stands for: within a chunk it is quadratic.
CHUNK = 64


def gated_delta_segment(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    write: Tensor,
    log_decay: Tensor | None = None,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""The gated delta rule over one segment of a sequence, carrying on from `state`.

    In chunks: within one, a triangular system gives what every token writes, so that the work is
    products of matrices (Yang et al. 2024, "Parallelizing linear transformers with the delta
    rule"). Segments one after the other give what the whole sequence gives. A token with `write` 0
    and no decay leaves the state as it was, which is what padding wants.

    Args:
        query: (..., L, E), of any length; nothing scales it.
        key: (..., L, E).
        value: (..., L, Ev).
        write: (..., L), the strength :math:`\beta` of each correction, from 0 to 1, or to 2 where
            a state may turn its sign.
        log_decay: (..., L), :math:`\log \alpha`, finite and at most 0; None to forget nothing, the
            delta rule without its gate.
        state: (..., E, Ev), what the previous segment returned; None at the start.

    Returns:
        output (..., L, Ev), and the state for the next segment, in at least float32.

    Raises:
        TypeError: an input is not a floating tensor, or dtypes differ.
        ValueError: shapes, devices or lengths do not fit.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 10, 4).unbind()
        >>> key, write = torch.nn.functional.normalize(key, dim=-1), torch.ones(10)
        >>> _, state = gated_delta_segment(query, key, value, write)
        >>> torch.allclose(key[-1] @ state, value[-1], atol=1e-5)  # the last one, as it was written
        True
    """
    return _segment(query, key, value, write, log_decay, state, _chunks)


def gated_delta_recurrent(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    write: Tensor,
    log_decay: Tensor | None = None,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The recurrent form: one step for each token, as in decoding. Equal to the chunked form.

    Arguments, results and errors are those of `gated_delta_segment`.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 10, 4).unbind()
        >>> write, log_decay = torch.rand(10), -torch.rand(10)
        >>> steps, _ = gated_delta_recurrent(query, key, value, write, log_decay)
        >>> chunks, _ = gated_delta_segment(query, key, value, write, log_decay)
        >>> torch.allclose(steps, chunks, atol=1e-4)
        True
    """
    return _segment(query, key, value, write, log_decay, state, _steps)


def _segment(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    write: Tensor,
    log_decay: Tensor | None,
    state: Tensor | None,
    form: Callable[..., tuple[Tensor, Tensor]],
) -> tuple[Tensor, Tensor]:
    target, _, _ = check(query, key, value)
    lead = target[:-2]
    checks.size("key", key, -2, target[-2], "L: a segment has one key for each query")
    checks.floating("write", write)
    log_decay = torch.zeros_like(write) if log_decay is None else log_decay
    checks.floating("log_decay", log_decay)
    checks.same_dtype(query=query, write=write, log_decay=log_decay)
    checks.same_device(query=query, write=write, log_decay=log_decay)
    checks.broadcasts_to("write", write, target[:-1], "(..., L)")
    checks.broadcasts_to("log_decay", log_decay, target[:-1], "(..., L)")
    memory = key.shape[-1], value.shape[-1]
    if state is not None and checks.floating("state", state).shape[-2:] != memory:
        expected = f"shape (..., E, Ev) = (..., {memory[0]}, {memory[1]})"
        checks.fail("state", expected, f"shape {checks.shape(state)}")
    # What a gate that is not finite writes is not finite either; so the value says it for both.
    good = write.isfinite() & log_decay.isfinite()  # (..., L)
    value = value.masked_fill(~good[..., None], math.nan)
    write, log_decay = (x.masked_fill(~good, 0.0) for x in (write, log_decay))
    call = Call(query, key, value, lead=lead, ranges=ranges_after(query, state))
    with without_autocast(query):
        wide = [x.expand(*lead, *x.shape[-2:]) for x in widen(call.query, call.key, call.value)] + [
            x.expand(target[:-1])[..., None] for x in widen(write, log_decay)
        ]
        if state is None:
            state = wide[2].new_zeros(*lead, *memory)
        output, state = form(*wide, state) if target[-2] else (wide[0] @ state, state)
    if call.nan_rows is not None:
        state = state.masked_fill(not_finite(key, value)[..., None, None], math.nan)
    return call.finish(output).output, state


def _chunks(
    query: Tensor, key: Tensor, value: Tensor, write: Tensor, log_decay: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """All of (..., L, features), gates (..., L, 1): one solve gives what each token writes."""
    outputs = []
    split = (x.split(CHUNK, -2) for x in (query, key, value, write, log_decay))
    for q, k, v, beta, step in zip(*split, strict=True):
        fade = step.cumsum(-2)  # (..., l, 1), from the beginning of the chunk
        since = (fade - fade.mT).tril().exp().tril()  # (..., l, l): from token j to token i
        # A token writes its value less what the state holds by then: of the earlier chunks, and
        # of what the earlier tokens of its own chunk wrote, which is the triangle.
        held = fade.exp() * k @ state
        triangle = (beta * (k @ k.mT) * since).tril(-1)
        written = torch.linalg.solve_triangular(
            triangle, beta * (v - held), upper=False, unitriangular=True
        )  # (..., l, Ev)
        outputs.append(fade.exp() * q @ state + (q @ k.mT * since) @ written)
        last = fade[..., -1:, :]
        state = last.exp() * state + (k * (last - fade).exp()).mT @ written
    return torch.cat(outputs, -2), state


def _steps(
    query: Tensor, key: Tensor, value: Tensor, write: Tensor, log_decay: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The same, token by token."""
    outputs = []
    split = (x.split(1, -2) for x in (query, key, value, write, log_decay))
    for q, k, v, beta, step in zip(*split, strict=True):
        state = step.exp() * state
        state = state + k.mT @ (beta * (v - k @ state))
        outputs.append(q @ state)
    return torch.cat(outputs, -2), state
