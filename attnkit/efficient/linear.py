r"""Linear attention: a kernel in place of the softmax, so that the length enters only once.

Katharopoulos et al. (2020), "Transformers are RNNs", replace :math:`e^{q \cdot k}` by
:math:`\phi(q) \cdot \phi(k)` with a feature map that is nowhere negative:

.. math::

    \text{output}_i = \frac{\phi(q_i)^\top \sum_j \phi(k_j) v_j^\top}
                           {\phi(q_i)^\top \sum_j \phi(k_j)}

The two sums do not depend on the query. Over all keys they are taken once (the parallel form); over
the keys up to i they are a state that each step adds to (the recurrent form), of a size that does
not grow. It is another function than softmax attention, not a faster way to it.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import masks
from attnkit.call import Attended, Call, check
from attnkit.efficient.key_ranges import KeyRanges, key_ranges, keys_alone
from attnkit.guard import checks
from attnkit.guard.dtypes import values_unavailable, widen, without_autocast
from attnkit.trace import watching

FeatureMap = Callable[[Tensor], Tensor]

# Queries that the causal form works on at a time: within a chunk it is quadratic, and a GPU, which
# waits for the next call, takes so many times as many.
CHUNK, LARGER = 64, 8
# Up to this length the plain form is as fast, when causal.
SHORT = 128


class LinearState(NamedTuple):
    """What linear attention knows of the keys so far.

    key_value: the sum of phi(k) v^T (..., F, Ev).
    key: the sum of phi(k) (..., F).
    """

    key_value: Tensor
    key: Tensor


def elu_features(x: Tensor) -> Tensor:
    """The feature map `elu(x) + 1`, positive everywhere, with the shape of `x`.

    Katharopoulos et al. (2020), equation 7.

    Example:
        >>> import torch
        >>> elu_features(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3679, 1.0000, 3.0000])
    """
    return F.elu(x) + 1


def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    feature_map: FeatureMap = elu_features,
    need_weights: bool = False,
) -> Attended:
    """Linear attention in its parallel form: time and memory linear in L + S.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        mask: boolean, broadcastable to (..., L, S); True where the query may attend. A mask of the
            keys alone, (..., 1, S), costs nothing; one that differs between queries takes the plain
            form, with all L * S weights.
        causal: query i sees the keys up to i, in linear time; needs L == S. See
            `linear_attention_segment` to carry on from earlier keys.
        feature_map: from (..., E) to (..., F), nowhere negative.
        need_weights: return the weights (..., L, S), which only the plain form makes.

    Returns:
        `Attended(output, weights)`: output (..., L, Ev), weights or None. A query that sees
        nothing, or whose features meet no key's, gives 0.

    Raises:
        TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
        ValueError: shapes, devices or lengths do not fit.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 2, 100, 8).unbind()
        >>> parallel = linear_attention(query, key, value, causal=True).output
        >>> recurrent, _ = linear_attention_recurrent(query, key, value)
        >>> torch.allclose(parallel, recurrent, atol=1e-5)
        True
    """
    checks.flag("causal", causal)
    checks.function("feature_map", feature_map, "a callable")
    target, mask, _ = check(query, key, value, mask=mask, need_weights=need_weights)
    ranges = None
    if causal:
        checks.size("key", key, -2, query.shape[-2], "L, when causal is True")
        if query.shape[-2] <= SHORT:
            order, causal = masks.causal(query.shape[-2], device=query.device), False
            mask = order if mask is None else mask & order
        else:
            ranges = _causal_ranges(query)
    call = Call(query, key, value, mask, lead=target[:-2], ranges=ranges)
    weights = None
    with without_autocast(query):
        query, key, value = widen(call.query, call.key, call.value)
        plain = need_weights or not keys_alone(mask)
        if not plain and mask is not None:  # a masked key counts for nothing, whatever its features
            key_mask = mask.expand(*mask.shape[:-2], 1, key.shape[-2]).mT  # (..., S, 1)
            key = key.masked_fill(~key_mask, 0.0)
        features = feature_map(query), feature_map(key)  # (..., L, F), (..., S, F)
        if plain or watching():
            with torch.set_grad_enabled(plain and torch.is_grad_enabled()):
                output, weights, products = _explicit(*features, value, call.whole_mask)
            # Those who record expect weights = softmax(scores), which the logarithm gives.
            call.record(output, weights, products.log)
        if not plain:
            if mask is not None:
                features = features[0], features[1] * key_mask
            if causal:
                output, _ = _chunks(*features, value, _no_state(features[1], value))
            else:
                output = _parallel(*features, value)
    return call.finish(output, weights if need_weights else None)


def linear_attention_segment(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    state: LinearState | None = None,
    *,
    feature_map: FeatureMap = elu_features,
) -> tuple[Tensor, LinearState]:
    """Causal linear attention over one segment of a sequence, carrying on from `state`.

    Segments one after the other give what the whole sequence gives, so a text of any length is read
    in constant memory. Gradients flow through the state; detach it to stop them.

    Args:
        query: (..., L, E), the queries of this segment.
        key: (..., L, E).
        value: (..., L, Ev).
        state: the state that the previous segment returned; None at the start.
        feature_map: as in `linear_attention`.

    Returns:
        output (..., L, Ev), and the state for the next segment, in at least float32.

    Raises:
        TypeError: an input is not a floating tensor, or dtypes differ.
        ValueError: shapes, devices or lengths do not fit.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 10, 4).unbind()
        >>> first, state = linear_attention_segment(query[:6], key[:6], value[:6])
        >>> second, state = linear_attention_segment(query[6:], key[6:], value[6:], state)
        >>> whole, _ = linear_attention_segment(query, key, value)
        >>> torch.allclose(torch.cat([first, second]), whole, atol=1e-5)
        True
    """
    return _segment(query, key, value, state, feature_map, _chunks)


def linear_attention_recurrent(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    state: LinearState | None = None,
    *,
    feature_map: FeatureMap = elu_features,
) -> tuple[Tensor, LinearState]:
    """The recurrent form: one step for each token, as in decoding. Equal to the parallel form.

    Each step adds phi(k) v^T and phi(k) to the state, and reads it with phi(q)
    (Katharopoulos et al. 2020, equations 16 to 20). Arguments, results and errors are those of
    `linear_attention_segment`.

    Example:
        >>> import torch
        >>> query, key, value = torch.randn(3, 10, 4).unbind()
        >>> steps, _ = linear_attention_recurrent(query, key, value)
        >>> whole, _ = linear_attention_segment(query, key, value)
        >>> torch.allclose(steps, whole, atol=1e-5)
        True
    """
    return _segment(query, key, value, state, feature_map, _steps)


def _segment(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    state: LinearState | None,
    feature_map: FeatureMap,
    form: Callable[..., tuple[Tensor, LinearState]],
) -> tuple[Tensor, LinearState]:
    checks.function("feature_map", feature_map, "a callable")
    target, _, _ = check(query, key, value)
    checks.size("key", key, -2, query.shape[-2], "L: a segment has one key for each query")
    if state is not None:
        checks.instance("state", state, LinearState, "a LinearState or None")
    ranges = ranges_after(query, None if state is None else state.key_value)
    call = Call(query, key, value, lead=target[:-2], ranges=ranges)
    with without_autocast(query):
        wide_query, wide_key, wide_value = widen(call.query, call.key, call.value)
        features = feature_map(wide_query), feature_map(wide_key)
        if state is None:
            state = _no_state(features[1], wide_value)
        else:
            _check_state(state, features[1], wide_value)
        output, state = form(*features, wide_value, state)
    if call.nan_rows is not None:
        bad = not_finite(key, value)
        state = LinearState(
            state.key_value.masked_fill(bad[..., None, None], math.nan),
            state.key.masked_fill(bad[..., None], math.nan),
        )
    return call.finish(output).output, state


def ranges_after(query: Tensor, state: Tensor | None) -> KeyRanges | None:
    """The keys up to each query's own; None where the state of an earlier segment holds a NaN.

    Nothing hides a NaN from the next segment, so the state keeps what it holds.
    """
    if state is not None and not values_unavailable(query) and not state.isfinite().all():
        return None
    return _causal_ranges(query)


def not_finite(key: Tensor, value: Tensor) -> Tensor:
    """The sequences (...) of which some key or value is NaN or Inf, and so the state."""
    return ~(key.isfinite().all((-2, -1)) & value.isfinite().all((-2, -1)))


def _parallel(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Output of features (..., L, F) and (..., S, F) when every query sees every key."""
    key_value, total = key.mT @ value, key.sum(-2)
    return _read(query @ key_value, query @ total[..., None])


def _chunks(
    query: Tensor, key: Tensor, value: Tensor, state: LinearState
) -> tuple[Tensor, LinearState]:
    """Causal output and last state of features (..., L, F), chunk by chunk: in linear time."""
    outputs = []
    # Not slices: each would hand back a gradient as large as the whole.
    chunks = (x.split(CHUNK if x.is_cpu else LARGER * CHUNK, -2) for x in (query, key, value))
    for block, block_key, block_value in zip(*chunks, strict=True):
        within = (block @ block_key.mT).tril()  # (..., l, l)
        total = block @ state.key[..., None] + within.sum(-1, keepdim=True)
        outputs.append(_read(block @ state.key_value + within @ block_value, total))
        state = LinearState(
            state.key_value + block_key.mT @ block_value, state.key + block_key.sum(-2)
        )
    return torch.cat(outputs, -2), state


def _steps(
    query: Tensor, key: Tensor, value: Tensor, state: LinearState
) -> tuple[Tensor, LinearState]:
    """The same, token by token."""
    if not query.shape[-2]:
        return _chunks(query, key, value, state)
    outputs = []
    for step in zip(*(x.unbind(-2) for x in (query, key, value)), strict=True):
        q, k, v = (x[..., None, :] for x in step)
        state = LinearState(state.key_value + k.mT @ v, state.key + step[1])
        outputs.append(_read(q @ state.key_value, q @ state.key[..., None]))
    return torch.cat(outputs, -2), state


def _explicit(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The plain form: output, all weights, and the products phi(q) . phi(k) they come from."""
    products = query @ key.mT  # (..., L, S)
    visible = products if mask is None else products.masked_fill(~mask, 0.0)
    weights = _read(visible, visible.sum(-1, keepdim=True))
    return weights @ value, weights, products


def _read(numerator: Tensor, total: Tensor) -> Tensor:
    """Divide by the sum; 0 where nothing was summed."""
    return numerator / total.masked_fill(total == 0, 1.0)


def _no_state(key: Tensor, value: Tensor) -> LinearState:
    lead = checks.leading_dims(key=key, value=value)
    features = key.shape[-1]
    return LinearState(
        value.new_zeros(*lead, features, value.shape[-1]), key.new_zeros(*key.shape[:-2], features)
    )


def _causal_ranges(query: Tensor) -> KeyRanges:
    length = query.shape[-2]
    return key_ranges(length, length, causal=True, window=None, offset=0, device=query.device)


def _check_state(state: LinearState, key: Tensor, value: Tensor) -> None:
    expected = (key.shape[-1], value.shape[-1])
    if tuple(state.key_value.shape[-2:]) != expected or state.key.shape[-1] != expected[0]:
        checks.fail(
            "state",
            f"sums (..., F, Ev) = (..., {expected[0]}, {expected[1]}) and (..., F)",
            f"{checks.shape(state.key_value)} and {checks.shape(state.key)}",
        )
