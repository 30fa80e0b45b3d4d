"""Luong's three scores (Luong, Pham and Manning 2015)."""

import math

import torch
from torch import Tensor, nn

from attnkit.call import Call
from attnkit.efficient.tiled_additive import attend_in_tiles, worth_tiling
from attnkit.guard import checks
from attnkit.mechanisms.scored import ScoredAttention
from attnkit.scores import pair_scores

SCORES = ("dot", "general", "concat")


class LuongAttention(ScoredAttention):
    r"""Score a query against a key by a product, or by a network on the pair.

    .. math::

        \mathrm{score}(q, k) = \begin{cases}
            q^\top k & \text{dot} \\
            q^\top W k & \text{general} \\
            v^\top \tanh(W [q; k]) & \text{concat}
        \end{cases}

    Luong, Pham and Manning (2015), "Effective approaches to attention-based neural machine
    translation", equation 8. There the query is the current decoder state :math:`h_t`, and the
    keys are the encoder's states :math:`\bar h_s`. Nothing is scaled: see
    `scaled_dot_product_attention` for that. "concat" is additive attention without the bias.

    Args:
        query_dim: features of a query, at least 1.
        key_dim: features of a key, at least 1; for "dot" the same as `query_dim`.
        score: "dot", "general" or "concat".
        hidden_dim: rows of W for "concat", `query_dim` when omitted. The other two have none.

    Shapes: query (..., L, query_dim), key (..., S, key_dim), value (..., S, Ev) -> output
    (..., L, Ev), weights (..., L, S). See `forward`.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1, `score` is unknown, the sizes differ for "dot", or
            `hidden_dim` is given where it has no use.

    Example:
        >>> import torch
        >>> from attnkit import LuongAttention
        >>> attention = LuongAttention(query_dim=2, key_dim=2, score="dot")
        >>> key = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
        >>> query = torch.tensor([[[0.0, 3.0]]])
        >>> attention(query, key, need_weights=True).weights
        tensor([[[0.0474, 0.9526]]])
        >>> LuongAttention(query_dim=2, key_dim=3, score="general").weight.shape
        torch.Size([2, 3])
    """

    def __init__(
        self, query_dim: int, key_dim: int, score: str = "dot", *, hidden_dim: int | None = None
    ):
        super().__init__(query_dim, key_dim)
        self.score = checks.choice("score", score, SCORES)
        if score == "dot" and query_dim != key_dim:
            expected = f"query_dim ({query_dim}) when score is 'dot' ('general' takes any)"
            checks.fail("key_dim", expected, str(key_dim))
        if score != "concat" and hidden_dim is not None:
            checks.fail("hidden_dim", f"None when score is {score!r}", repr(hidden_dim))
        if score == "general":
            self.weight = _uniform(query_dim, key_dim, fan_in=key_dim)
        if score == "concat":
            hidden_dim = query_dim if hidden_dim is None else hidden_dim
            checks.integer("hidden_dim", hidden_dim, minimum=1)
            self.weight = _uniform(hidden_dim, query_dim + key_dim, fan_in=query_dim + key_dim)
            self.v = _uniform(hidden_dim, fan_in=hidden_dim)

    def project_query(self, query: Tensor) -> Tensor:
        """W^T q (general), the part of W that meets q (concat), or q itself (dot)."""
        if self.score == "general":
            return query @ self.weight  # (..., L, key_dim)
        if self.score == "concat":
            return query @ self.weight[:, : self.query_dim].T  # (..., L, A)
        return query

    def project_key(self, key: Tensor) -> Tensor:
        """The part of W that meets k (concat), or k itself."""
        if self.score == "concat":
            return key @ self.weight[:, self.query_dim :].T  # (..., S, A)
        return key

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """v^T tanh(query + key) (concat), or query . key, of what was projected -> (..., L, S)."""
        if self.score == "concat":
            return pair_scores(query, key, self.v.to(query.dtype))
        return query @ key.mT

    def attend(self, call: Call, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """As the base does; "concat" tile by tile where that is faster."""
        if self.score == "concat" and worth_tiling(call.query, call.key):
            return attend_in_tiles(call, self.v, need_weights)
        return super().attend(call, need_weights)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, score={self.score!r}"


def _uniform(*shape: int, fan_in: int) -> nn.Parameter:
    bound = 1 / math.sqrt(fan_in)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
