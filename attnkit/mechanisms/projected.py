"""Simple projected attention over raw encoder states, and an adapter for time-first tensors."""

import math
from collections.abc import Callable

from torch import Tensor, nn

from attnkit import checks
from attnkit.functional import Attended
from attnkit.mechanisms.scored import ScoredAttention
from attnkit.scores import dot_scores


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
    (..., L, Ev), weights (..., L, S). See `forward`. For time-first tensors see `time_first`.

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
        return dot_scores(query, key, scale=1 / math.sqrt(self.hidden_dim))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, hidden_dim={self.hidden_dim}"


def time_first(attention: Callable[..., Attended]) -> Callable[..., Attended]:
    """Wrap a batch-first mechanism so that it takes and gives time-first tensors.

    `nn.GRU` and `nn.LSTM` give (S, B, E) unless they were built with `batch_first=True`.

    Args:
        attention: any mechanism of attnkit, or a function with the same arguments.

    Returns:
        A function of the same arguments. query (L, B, E), key (S, B, E) and value (S, B, Ev) go
        in with time first, and output (L, B, Ev) comes back so. Masks and weights stay as they
        are, (B, L, S), since they have no time dimension of their own to move.

    Raises:
        TypeError: `attention` cannot be called, or an input is not a tensor.
        ValueError: an input is not three-dimensional.

    Example:
        >>> import torch
        >>> from attnkit import ProjectedAttention, time_first
        >>> attention = time_first(ProjectedAttention(query_dim=4, key_dim=6, hidden_dim=8))
        >>> states, _ = torch.nn.GRU(3, 6)(torch.randn(5, 2, 3))
        >>> attention(torch.randn(1, 2, 4), states).output.shape
        torch.Size([1, 2, 6])
    """
    if not callable(attention):
        checks.fail("attention", "a mechanism to call", type(attention).__name__, TypeError)

    def time_first_attention(
        query: Tensor, key: Tensor | None = None, value: Tensor | None = None, **options: object
    ) -> Attended:
        # One tensor given twice stays one, so that a packed projection can tell.
        value = None if value is key else value
        key = None if key is query else key
        turned = [
            x if x is None else _turn(name, x)
            for name, x in {"query": query, "key": key, "value": value}.items()
        ]
        output, weights = attention(*turned, **options)
        return Attended(output.transpose(0, 1), weights)

    return time_first_attention


def _turn(name: str, x: Tensor) -> Tensor:
    checks.tensor(name, x)
    if x.dim() != 3:
        checks.fail(name, "shape (length, B, features)", f"shape {checks.shape(x)}")
    return x.transpose(0, 1)  # (B, length, features)
