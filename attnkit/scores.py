"""Scores: how well each key answers each query, before any mask or softmax.

Shapes: L queries, S keys, Eq and Ek features of query and key, A hidden features, `...` leading
dimensions that broadcast. The names are those of Luong et al. (2015), and Bahdanau's "additive".
"""

import torch
from torch import Tensor

from attnkit.guard import checks


def dot_scores(query: Tensor, key: Tensor, *, scale: float = 1.0) -> Tensor:
    r"""Score a key by its dot product with the query.

    .. math:: s_{ij} = \mathrm{scale} \cdot q_i^\top k_j

    Luong et al. (2015), equation 8; with scale 1/sqrt(E), Vaswani et al. (2017), equation 1.

    query (..., L, E), key (..., S, E) -> (..., L, S)

    Raises:
        TypeError: an input is not a floating tensor, or `scale` is not a number.
        ValueError: the feature sizes differ, or `scale` is not finite.

    Example:
        >>> dot_scores(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, 1.0]]))
        tensor([[3., 2.]])
    """
    _query_key(query, key)
    checks.size("key", key, -1, query.shape[-1], "the feature size of query")
    checks.number("scale", scale)
    return (query * scale) @ key.transpose(-2, -1)  # (..., L, S)


def general_scores(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    r"""Score a key by a dot product with a learned matrix between.

    .. math:: s_{ij} = q_i^\top W k_j

    Luong et al. (2015), equation 8, "general".

    query (..., L, Eq), key (..., S, Ek), weight (Eq, Ek) -> (..., L, S)

    Raises:
        TypeError: an input is not a floating tensor.
        ValueError: `weight` is not (Eq, Ek).

    Example:
        >>> query, key = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, 1.0]])
        >>> general_scores(query, key, torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        tensor([[6., 1.]])
    """
    _query_key(query, key)
    _weight("weight", weight, (query.shape[-1], key.shape[-1]), "(Eq, Ek)")
    return (query @ weight) @ key.transpose(-2, -1)  # (..., L, S)


def additive_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    r"""Score projected keys against projected queries with one hidden layer.

    .. math:: s_{ij} = v^\top \tanh(q_i + k_j)

    Bahdanau et al. (2015), appendix A.1.2.

    query (..., L, A), key (..., S, A), v (A,) -> (..., L, S). This plain form holds a tensor of
    (..., L, S, A); which is why additive attention is expensive.

    Raises:
        TypeError: an input is not a floating tensor.
        ValueError: the three do not share their last dimension.

    Example:
        >>> additive_scores(torch.zeros(1, 2), torch.zeros(3, 2), torch.ones(2))
        tensor([[0., 0., 0.]])
    """
    _query_key(query, key)
    checks.size("key", key, -1, query.shape[-1], "the hidden size of query")
    _weight("v", v, (query.shape[-1],), "(A,)")
    return pair_scores(query, key, v)  # (..., L, S)


def pair_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """`additive_scores` of tensors that were checked."""
    hidden = torch.tanh(query[..., :, None, :] + key[..., None, :, :])  # (..., L, S, A)
    return hidden @ v  # (..., L, S)


def concat_scores(query: Tensor, key: Tensor, weight: Tensor, v: Tensor) -> Tensor:
    r"""Score the pair of query and key with one hidden layer.

    .. math:: s_{ij} = v^\top \tanh(W [q_i; k_j])

    Luong et al. (2015), equation 8, "concat".

    query (..., L, Eq), key (..., S, Ek), weight (A, Eq + Ek), v (A,) -> (..., L, S). W [q; k] is
    the sum of two projections, W_q q + W_k k, so nothing is ever concatenated.

    Raises:
        TypeError: an input is not a floating tensor.
        ValueError: `weight` is not (A, Eq + Ek), or `v` is not (A,).

    Example:
        >>> query, key = torch.ones(1, 2), torch.ones(3, 4)
        >>> concat_scores(query, key, torch.ones(5, 6), torch.ones(5)).shape
        torch.Size([1, 3])
    """
    _query_key(query, key)
    query_dim = query.shape[-1]
    _weight("v", v, (v.shape[-1] if isinstance(v, Tensor) and v.dim() else 0,), "(A,)")
    _weight("weight", weight, (v.shape[0], query_dim + key.shape[-1]), "(A, Eq + Ek)")
    return pair_scores(query @ weight[:, :query_dim].T, key @ weight[:, query_dim:].T, v)


def _query_key(query: Tensor, key: Tensor) -> None:
    for name, item in {"query": query, "key": key}.items():
        checks.floating(name, item)
        checks.dims(name, item, 2, "(..., length, features)")
    checks.same_device(query=query, key=key)
    checks.leading_dims(query=query, key=key)


def _weight(name: str, value: Tensor, expected: tuple[int, ...], layout: str) -> None:
    checks.floating(name, value)
    if tuple(value.shape) != expected:
        checks.fail(name, f"shape {layout} = {expected}", f"shape {checks.shape(value)}")
