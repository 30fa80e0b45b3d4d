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
from torch import Tensor

from attnkit import checks, masks
from attnkit.efficient.feature_maps import FeatureMap, elu_features
from attnkit.efficient.key_ranges import Spans, keys_alone, set_aside, spans, whole_mask
from attnkit.functional import Attended
from attnkit.numerics import as_autocast, widen
from attnkit.trace import observe, watching

# Queries that the causal form works on at a time: within a chunk it is quadratic.
CHUNK = 64
# Up to this length the plain form is as fast, when causal.
SHORT = 128


class LinearState(NamedTuple):
    """What linear attention knows of the keys so far.

    key_value: the sum of phi(k) v^T (..., F, Ev).
    key: the sum of phi(k) (..., F).
    """

    key_value: Tensor
    key: Tensor


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
    checks.flag("need_weights", need_weights)
    checks.flag("causal", causal)
    lead = _check(query, key, value, feature_map)
    target = (*lead, query.shape[-2], key.shape[-2])
    if causal:
        checks.size("key", key, -2, query.shape[-2], "L, when causal is True")
    if mask is not None:
        checks.mask(mask, target, device=query.device)
    if causal and query.shape[-2] <= SHORT:
        order, causal = masks.causal(query.shape[-2], device=query.device), False
        mask = order if mask is None else mask & order
    seen = _causal_spans(query) if causal else None
    query, key, value = as_autocast(query, key, value)
    key, value, spoiled = set_aside(key, value, mask, seen, target)
    dtype, weights = value.dtype, None
    with torch.autocast(query.device.type, enabled=False):
        query, key, value = widen(query, key, value)
        features = feature_map(query), feature_map(key)  # (..., L, F), (..., S, F)
        if need_weights or not keys_alone(mask):
            whole = whole_mask(mask, seen, target[-1])
            output, weights = _explicit(*features, value, whole)
        else:
            output, _ = _linear(*features, value, _key_mask(mask, key), causal, None)
            if watching():
                with torch.no_grad():
                    _explicit(*features, value, whole_mask(mask, seen, target[-1]))
    output = output.to(dtype)
    output = output if spoiled is None else output.masked_fill(spoiled, math.nan)
    return Attended(output, weights.to(dtype) if need_weights else None)


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
        state: what the segments before left; None at the start.
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
    return _segment(query, key, value, state, feature_map, _linear)


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
    lead = _check(query, key, value, feature_map)
    checks.size("key", key, -2, query.shape[-2], "L: a segment has one key for each query")
    if state is not None and not isinstance(state, LinearState):
        checks.fail("state", "a LinearState or None", type(state).__name__, TypeError)
    query, key, value = as_autocast(query, key, value)
    target = (*lead, query.shape[-2], key.shape[-2])
    # Nothing hides a NaN from the next segment, so the state keeps what it holds.
    spoiled = None
    if state is None or bool(state.key_value.isfinite().all()):
        key, value, spoiled = set_aside(key, value, None, _causal_spans(query), target)
    dtype = value.dtype
    with torch.autocast(query.device.type, enabled=False):
        query, key, value = widen(query, key, value)
        features = feature_map(query), feature_map(key)
        _check_state(state, features[1], value)
        output, state = form(*features, value, None, True, state)
    output = output.to(dtype)
    if spoiled is None:
        return output, state
    ever = spoiled[..., -1:, :] if spoiled.shape[-2] else spoiled.any(-2, keepdim=True)
    state = LinearState(
        state.key_value.masked_fill(ever, math.nan), state.key.masked_fill(ever[..., 0], math.nan)
    )
    return output.masked_fill(spoiled, math.nan), state


def _linear(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: Tensor | None,
    causal: bool,
    state: LinearState | None,
) -> tuple[Tensor, LinearState]:
    """Output and last state of features (..., L, F) and (..., S, F), in linear time."""
    if key_mask is not None:
        key = key * key_mask.to(key.dtype)  # (..., S, F)
    if not causal:
        state = LinearState(key.mT @ value, key.sum(-2))
        return _read(query @ state.key_value, query @ state.key[..., None]), state
    state = _no_state(key, value) if state is None else state
    outputs = [value.new_zeros(*checks.leading_dims(query=query, value=value), 0, value.shape[-1])]
    # Not slices: each would hand back a gradient as large as the whole.
    chunks = (x.split(CHUNK, -2) for x in (query, key, value))
    for some, some_key, some_value in zip(*chunks, strict=True):
        within = (some @ some_key.mT).tril()  # (..., l, l)
        total = some @ state.key[..., None] + within.sum(-1, keepdim=True)
        outputs.append(_read(some @ state.key_value + within @ some_value, total))
        state = LinearState(
            state.key_value + some_key.mT @ some_value, state.key + some_key.sum(-2)
        )
    return torch.cat(outputs, -2), state


def _steps(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: None,
    causal: bool,
    state: LinearState | None,
) -> tuple[Tensor, LinearState]:
    """The same, token by token."""
    state = _no_state(key, value) if state is None else state
    outputs = [value.new_zeros(*checks.leading_dims(query=query, value=value), 0, value.shape[-1])]
    for step in zip(*(x.unbind(-2) for x in (query, key, value)), strict=True):
        q, k, v = (x[..., None, :] for x in step)
        state = LinearState(state.key_value + k.mT @ v, state.key + step[1])
        outputs.append(_read(q @ state.key_value, q @ state.key[..., None]))
    return torch.cat(outputs, -2), state


def _explicit(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Attended:
    """The plain form, with all weights."""
    scores = query @ key.mT  # (..., L, S)
    visible = scores if mask is None else scores.masked_fill(~mask, 0.0)
    total = visible.sum(-1, keepdim=True)
    weights = _read(visible, total)
    output = weights @ value
    if watching():
        # Whoever records scores expects weights = softmax(scores), which the logarithm gives.
        observe(scores=scores.log(), mask=mask, weights=weights, output=output)
    return Attended(output, weights)


def _read(numerator: Tensor, total: Tensor) -> Tensor:
    """Divide by the sum; 0 where nothing was summed."""
    return numerator / total.masked_fill(total == 0, 1.0)


def _no_state(key: Tensor, value: Tensor) -> LinearState:
    lead = checks.leading_dims(key=key, value=value)
    features = key.shape[-1]
    return LinearState(
        value.new_zeros(*lead, features, value.shape[-1]), key.new_zeros(*key.shape[:-2], features)
    )


def _causal_spans(query: Tensor) -> Spans:
    length = query.shape[-2]
    return spans(length, length, causal=True, window=None, offset=0, device=query.device)


def _key_mask(mask: Tensor | None, key: Tensor) -> Tensor | None:
    """A mask (..., 1, S) as (..., S, 1)."""
    if mask is None:
        return None
    return mask.expand(*mask.shape[:-2], 1, key.shape[-2]).mT


def _check(query: Tensor, key: Tensor, value: Tensor, feature_map: FeatureMap) -> torch.Size:
    checks.query_key_value(query, key, value)
    checks.size("key", key, -1, query.shape[-1], "the feature size of query")
    if not callable(feature_map):
        checks.fail("feature_map", "a callable", type(feature_map).__name__, TypeError)
    return checks.leading_dims(query=query, key=key, value=value)


def _check_state(state: LinearState | None, key: Tensor, value: Tensor) -> None:
    if state is None:
        return
    expected = (key.shape[-1], value.shape[-1])
    if tuple(state.key_value.shape[-2:]) != expected or state.key.shape[-1] != expected[0]:
        checks.fail(
            "state",
            f"sums (..., F, Ev) = (..., {expected[0]}, {expected[1]}) and (..., F)",
            f"{checks.shape(state.key_value)} and {checks.shape(state.key)}",
        )
