"""The encoder: layers of self-attention and a feed-forward network."""

from typing import Any, Self

from torch import Tensor, nn

from attnkit import checks
from attnkit.efficient.cache import KVCache
from attnkit.functional import Attended
from attnkit.mechanisms.multihead import MultiHeadAttention, Rotate
from attnkit.transformer.layers import Layer, copy_torch, last_norm, stack


class EncoderLayer(Layer):
    r"""Self-attention and a feed-forward network, each with a residual and a layer norm.

    .. math::

        \text{post-norm:}\quad & y = \mathrm{LN}(x + \mathrm{MHA}(x)) \qquad
            z = \mathrm{LN}(y + \mathrm{FFN}(y)) \\
        \text{pre-norm:}\quad & y = x + \mathrm{MHA}(\mathrm{LN}(x)) \qquad
            z = y + \mathrm{FFN}(\mathrm{LN}(y)) \\
        & \mathrm{FFN}(x) = W_2\, f(W_1 x + b_1) + b_2

    Vaswani et al. (2017), section 3.1, is post-norm with f = ReLU; pre-norm is analysed by Xiong
    et al. (2020). Dropout acts where `nn.TransformerEncoderLayer` has it: on the weights, on what
    each of the two adds to the residual, and after f.

    Args:
        embed_dim: features E, a multiple of `num_heads`.
        num_heads: heads H.
        hidden_dim: features between the two products of the feed-forward network.
        num_kv_heads: heads of key and value, a divisor of `num_heads`; all when left out.
        dropout: probability of each dropout.
        activation: f, "relu" or "gelu".
        norm_first: True for pre-norm.
        bias: learn biases, in the layer norms too.
        norm_eps: added to the variance in the layer norms.

    Shapes: x (B, L, E) -> output (B, L, E), weights (B, H, L, L). See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnkit.transformer import EncoderLayer
        >>> layer = EncoderLayer(embed_dim=8, num_heads=2, hidden_dim=16).eval()
        >>> output, weights = layer(torch.randn(3, 5, 8), need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        *,
        num_kv_heads: int | None = None,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        bias: bool = True,
        norm_eps: float = 1e-5,
    ):
        heads = {"num_kv_heads": num_kv_heads, "bias": bias, "dropout": dropout}
        attention = MultiHeadAttention(embed_dim, num_heads, **heads)
        super().__init__(
            embed_dim,
            hidden_dim,
            norms=2,
            dropout=dropout,
            activation=activation,
            norm_first=norm_first,
            bias=bias,
            norm_eps=norm_eps,
        )
        self.attention = attention

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoderLayer) -> Self:
        """Copy an `nn.TransformerEncoderLayer`: sizes, weights, dropout, mode, dtype, device.

        The copy is batch-first whatever the original was. Its masks mean the opposite of the
        original's. A token that may see nothing gets nothing from the attention, where the
        original gives NaN in eval, and the bias of its last projection in training.

        Raises:
            TypeError: `module` is not an `nn.TransformerEncoderLayer`.
            ValueError: its activation is neither ReLU nor (exact) GELU.
        """
        if not isinstance(module, nn.TransformerEncoderLayer):
            expected = "an nn.TransformerEncoderLayer"
            checks.fail("module", expected, type(module).__name__, TypeError)
        return copy_torch(cls, module, {"attention": module.self_attn}, norms=2)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: KVCache | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Run the layer over x (B, L, E).

        Args:
            x: (B, L, E).
            mask: which tokens each may attend to, as `MultiHeadAttention` takes it.
            bias, rotate, cache: handed to `MultiHeadAttention`.
            need_weights: return the weights (B, H, L, L), per head and before dropout.

        Returns:
            `Attended(output, weights)`: output (B, L, E), weights or None.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`.
        """
        checks.flag("need_weights", need_weights)
        attended, weights = self.attention(
            self.before(self.norm1, x),
            mask=mask,
            bias=bias,
            rotate=rotate,
            cache=cache,
            need_weights=need_weights,
        )
        x = self.join(self.norm1, x, attended)
        x = self.join(self.norm2, x, self.feed_forward(self.before(self.norm2, x)))
        return Attended(x, weights)


class Encoder(nn.Module):
    """Encoder layers, with a last layer norm when they are pre-norm.

    Vaswani et al. (2017), section 3.1; the last norm is Xiong et al.'s (2020).

    Args:
        embed_dim, num_heads, hidden_dim: of every layer.
        num_layers: number of layers N.
        options: the other arguments of `EncoderLayer`.

    Shapes: x (B, L, E) -> output (B, L, E), weights (B, N, H, L, L).

    Raises:
        TypeError, ValueError: as `EncoderLayer`; `num_layers` is not an int of at least 1.

    Example:
        >>> import torch
        >>> from attnkit import masks
        >>> from attnkit.transformer import Encoder
        >>> encoder = Encoder(embed_dim=8, num_heads=2, hidden_dim=16, num_layers=3)
        >>> attended = encoder(
        ...     torch.randn(4, 5, 8), mask=masks.padding([5, 3, 1, 0]), need_weights=True
        ... )
        >>> attended.output.shape, attended.weights.shape
        (torch.Size([4, 5, 8]), torch.Size([4, 3, 2, 5, 5]))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, hidden_dim: int, num_layers: int, **options: Any
    ):
        super().__init__()
        checks.integer("num_layers", num_layers, minimum=1)
        sizes = (embed_dim, num_heads, hidden_dim)
        self.layers = nn.ModuleList(EncoderLayer(*sizes, **options) for _ in range(num_layers))
        self.norm = last_norm(embed_dim, options)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Run x (B, L, E) through every layer; arguments as in `EncoderLayer.forward`."""
        seen = []
        for layer in self.layers:
            x, weights = layer(x, mask=mask, bias=bias, rotate=rotate, need_weights=need_weights)
            seen.append(weights)
        return Attended(self.norm(x), stack(seen))
