"""Self-attention with one head (Vaswani et al. 2017)."""

from torch import Tensor, nn

from attnkit import checks
from attnkit.call import check_inputs, default_key_value, spoil
from attnkit.functional import Attended, scaled_dot_product_attention
from attnkit.numerics import set_aside


class SelfAttention(nn.Module):
    r"""One head of scaled dot-product attention with learned projections.

    .. math:: \mathrm{softmax}\!\left(\frac{(X W_q)(X W_k)^\top}{\sqrt{D}}\right) X W_v

    Vaswani et al. (2017), equation 1, with the projections of one head of section 3.2.2 and no
    output projection. Without a mask or positions it is permutation equivariant: shuffle the
    tokens, and the outputs are shuffled the same way.

    Args:
        embed_dim: features E of a token, at least 1.
        head_dim: features D of query, key and value; `embed_dim` when left out.
        bias: add a learned bias in each projection.
        scale: factor of the scores; 1/sqrt(D) when left out.
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
        self.embed_dim = checks.integer("embed_dim", embed_dim, minimum=1)
        head_dim = embed_dim if head_dim is None else head_dim
        self.head_dim = checks.integer("head_dim", head_dim, minimum=1)
        checks.flag("bias", bias)
        self.scale = None if scale is None else checks.number("scale", scale)
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
        """Attend from every token of `query` to those of `key`, which is `query` when left out.

        Args:
            query: (..., L, embed_dim).
            key: (..., S, embed_dim); given, this is one head of cross-attention.
            value: (..., S, embed_dim); `key` when left out.
            mask: boolean, broadcastable to (..., L, S); True where the query may attend. A query
                that may see nothing gives weights 0 and output 0.
            need_weights: return the weights (..., L, S), before dropout.

        Raises:
            TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
            ValueError: shapes, sizes or devices do not fit.
        """
        key, value = default_key_value(query, key, value, self.embed_dim, self.embed_dim)
        target = check_inputs(self, query, key, value, self.embed_dim, self.embed_dim)
        checks.size("value", value, -1, self.embed_dim, "embed_dim")
        checks.flag("need_weights", need_weights)
        if mask is not None:
            checks.mask(mask, target, device=query.device)
        query, key, value, spoiled = set_aside(query, key, value, mask)
        attended = scaled_dot_product_attention(
            self.query_proj(query),  # (..., L, D)
            self.key_proj(key),  # (..., S, D)
            self.value_proj(value),  # (..., S, D)
            mask=mask,
            scale=self.scale,
            dropout_p=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        return spoil(attended, spoiled, mask, need_weights)

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, head_dim={self.head_dim}, dropout={self.dropout}"
