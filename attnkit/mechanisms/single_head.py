"""One head: of projected query and key over raw states, and of self-attention."""

from torch import Tensor, nn

from attnkit.call import Attended, Call, check_module, project_linear
from attnkit.formula import default_scale
from attnkit.guard import checks
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
        scale: factor of the scores; 1/sqrt(A) when omitted.

    Shapes: query (..., L, query_dim), key (..., S, key_dim), value (..., S, Ev) -> output
    (..., L, Ev), weights (..., L, S). See `forward`.

    Raises:
        TypeError: a size is not an int, or `scale` is not a number.
        ValueError: a size is below 1.

    Example:
        >>> import torch
        >>> from attnkit import ProjectedAttention
        >>> attention = ProjectedAttention(query_dim=4, key_dim=6, hidden_dim=8)
        >>> attended = attention(torch.randn(2, 1, 4), torch.randn(2, 5, 6), need_weights=True)
        >>> attended.output.shape, attended.weights.shape
        (torch.Size([2, 1, 6]), torch.Size([2, 1, 5]))
    """

    def __init__(
        self, query_dim: int, key_dim: int, hidden_dim: int, *, scale: float | None = None
    ):
        super().__init__(query_dim, key_dim)
        self.hidden_dim = checks.integer("hidden_dim", hidden_dim, minimum=1)
        self.scale = default_scale(hidden_dim) if scale is None else checks.number("scale", scale)
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
        return self.scale * (query @ key.mT)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, hidden_dim={self.hidden_dim}"


class SelfAttention(nn.Module):
    r"""One head of scaled dot-product attention with learned projections.

    .. math:: \mathrm{softmax}\!\left(\frac{(X W_q)(X W_k)^\top}{\sqrt{D}}\right) X W_v

    Vaswani et al. (2017), equation 1, with the projections of one head of section 3.2.2 and no
    output projection. Without a mask or positions it is permutation equivariant: shuffle the
    tokens, and the outputs are shuffled the same way.

    Args:
        embed_dim: features E of a token, at least 1.
        head_dim: features D of query, key and value; `embed_dim` when omitted.
        bias: add a learned bias in each projection.
        scale: factor of the scores; 1/sqrt(D) when omitted.
        dropout: probability of dropping a weight in training.

    Shapes: query (..., L, E), key and value (..., S, E) -> output (..., L, D), weights
    (..., L, S). See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: a size is below 1, or `dropout` is not a probability.

    Example:
        >>> import torch
        >>> from attnkit import SelfAttention, masks
        >>> attention = SelfAttention(embed_dim=8)
        >>> attended = attention(torch.randn(2, 5, 8), mask=masks.causal(5), need_weights=True)
        >>> attended.output.shape, attended.weights.shape
        (torch.Size([2, 5, 8]), torch.Size([2, 5, 5]))
        >>> bool((attended.weights.triu(1) == 0).all())
        True
    """

    def __init__(
        self,
        embed_dim: int,
        head_dim: int | None = None,
        *,
        bias: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.embed_dim = embed_dim = checks.integer("embed_dim", embed_dim, minimum=1)
        head_dim = embed_dim if head_dim is None else head_dim
        self.head_dim = checks.integer("head_dim", head_dim, minimum=1)
        checks.flag("bias", bias)
        self.scale = default_scale(head_dim) if scale is None else checks.number("scale", scale)
        self.dropout = checks.probability("dropout", dropout)
        self.query_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.key_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.value_proj = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Attend from every token of `query` to those of `key`, which is `query` when omitted.

        Args:
            query: (..., L, embed_dim).
            key: (..., S, embed_dim); given, this is one head of cross-attention.
            value: (..., S, embed_dim); `key` when omitted.
            mask: boolean, broadcastable to (..., L, S); True where the query may attend. A fully
                masked query gives weights 0 and output 0.
            need_weights: return the weights (..., L, S), before dropout.

        Raises:
            TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
            ValueError: shapes, sizes or devices do not fit.
        """
        dims = dict.fromkeys(("query_dim", "key_dim", "value_dim"), self.embed_dim)
        key, value, target = check_module(self, query, key, value, need_weights, **dims)
        if mask is not None:
            mask = checks.mask(mask, target, device=query.device)
        query, query_ok = project_linear(self.query_proj, query, mask)  # (..., L, D)
        key, key_ok = project_linear(self.key_proj, key, mask)  # (..., S, D)
        value, value_ok = project_linear(self.value_proj, value, mask)  # (..., S, D)
        finite = query_ok and key_ok and value_ok
        call = Call(query, key, value, mask, lead=target[:-2], finite=finite)
        dropout_p = self.dropout if self.training else 0.0
        return call.finish(*call.dot_product(self.scale, dropout_p, need_weights))

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, head_dim={self.head_dim}, dropout={self.dropout}"
