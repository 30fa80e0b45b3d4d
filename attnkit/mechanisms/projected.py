"""Simple projected attention over raw encoder states."""

import math

from torch import Tensor, nn

from attnkit import checks
from attnkit.mechanisms.scored import ScoredAttention


class ProjectedAttention(ScoredAttention):
    r"""Compare learned projections of query and key; average the states as they are.

    .. math:: \mathrm{score}(q, k) = \frac{(W_q\, q)^\top (W_k\, k)}{\sqrt{A}}

    The smallest attention that learns what to look for. It stands between Luong's "general"
    score, which is :math:`q^\top W k` with :math:`W = W_q^\top W_k` of rank A at most, and one
    head of Vaswani et al. (2017), which projects the values too. Values are the raw encoder
    states, or whatever is passed as `value`.

    Args:
        query_dim: features of a query, at least 1.
        key_dim: features of a key, at least 1.
        hidden_dim: features A in which the two are compared, at least 1.

    Shapes: query (..., L, query_dim), key (..., S, key_dim), value (..., S, Ev) -> output
    (..., L, Ev), weights (..., L, S). See `forward`.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1.

    Example:
        >>> import torch
        >>> from attnkit import ProjectedAttention
        >>> attention = ProjectedAttention(query_dim=4, key_dim=6, hidden_dim=8)
        >>> attended = attention(torch.randn(2, 1, 4), torch.randn(2, 5, 6), need_weights=True)
        >>> attended.output.shape, attended.weights.shape
        (torch.Size([2, 1, 6]), torch.Size([2, 1, 5]))
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__(query_dim, key_dim)
        self.hidden_dim = checks.integer("hidden_dim", hidden_dim, minimum=1)
        self.query_proj = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key_proj = nn.Linear(key_dim, hidden_dim, bias=False)

    def project_query(self, query: Tensor) -> Tensor:
        """W_q q: (..., L, query_dim) -> (..., L, A)."""
        return self.query_proj(query)

    def project_key(self, key: Tensor) -> Tensor:
        """W_k k: (..., S, key_dim) -> (..., S, A). Pass it on as `projected_key=` to reuse it."""
        return self.key_proj(key)

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Scaled dot product of what the two projections gave -> (..., L, S)."""
        return query @ key.mT / math.sqrt(self.hidden_dim)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, hidden_dim={self.hidden_dim}"
