r"""Chosen keys: a cheap scan scores every key, and attention reads the best few.

DeepSeek-AI (2025), "DeepSeek-V3.2": the *lightning indexer* has heads of its own, small ones, which
share one key a token, and the scores that choose are

.. math:: I_{ij} = \sum_h g_i^h \, \mathrm{relu}(q_i^h \cdot k_j)

All keys stay in the cache, and every one is scored, with little work; what costs, the attention
itself, sees k keys whatever the length.
"""

import torch
from torch import Tensor

from attnkit.guard import checks


def index_scores(query: Tensor, key: Tensor, gate: Tensor) -> Tensor:
    """The scores that choose, of small heads that share one key a token.

    Args:
        query: (..., H, L, E).
        key: (..., S, E).
        gate: (..., H, L), what each head counts for.

    Returns:
        scores (..., L, S), for `best_keys`.

    Raises:
        TypeError: an input is not a floating tensor, or dtypes differ.
        ValueError: the features of query and key differ, or `gate` has another shape.

    Example:
        >>> import torch
        >>> query, key, gate = torch.randn(4, 5, 8), torch.randn(7, 8), torch.rand(4, 5)
        >>> index_scores(query, key, gate).shape
        torch.Size([5, 7])
    """
    for name, x in {"query": query, "key": key, "gate": gate}.items():
        checks.floating(name, x)
    checks.same_dtype(query=query, key=key, gate=gate)
    checks.dims("query", query, 3, "(..., H, L, E)")
    checks.size("key", key, -1, query.shape[-1], "the feature size of query")
    checks.broadcasts_to("gate", gate, query.shape[:-1], "(..., H, L)")
    return (gate[..., None] * (query @ key.unsqueeze(-3).mT).relu()).sum(-3)


def best_keys(scores: Tensor, count: int, *, mask: Tensor | None = None) -> Tensor:
    """The mask of each query's best keys among those that it may see: boolean (..., L, S).

    Where fewer than `count` may be seen, all of them; of equal scores, as many as fit.

    Args:
        scores: (..., L, S), of any kind: `index_scores`, or the scores of attention itself.
        count: keys for a query, at least 1.
        mask: boolean, broadcastable to (..., L, S); True where the query may attend.

    Raises:
        TypeError: `scores` is not floating, `mask` not boolean, or `count` not an int.
        ValueError: `count` is below 1, or the mask does not fit.

    Example:
        >>> import torch
        >>> best_keys(torch.tensor([[0.1, 3.0, 2.0]]), 2)
        tensor([[False,  True,  True]])
    """
    checks.floating("scores", scores)
    checks.integer("count", count, minimum=1)
    seen = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        seen = seen & checks.mask(mask, scores.shape, device=scores.device)
    best = scores.masked_fill(~seen, -torch.inf).topk(min(count, scores.shape[-1]), -1).indices
    return torch.zeros_like(seen).scatter(-1, best, True) & seen
