"""The decoder: layers that look at what is written so far, and at a memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from torch import Tensor, nn

from attnkit import checks
from attnkit.efficient.cache import KVCache
from attnkit.mechanisms.multihead import MultiHeadAttention, Rotate
from attnkit.transformer.layers import Layer, copy_torch, last_norm, stack


class DecoderAttended(NamedTuple):
    """`output` (B, L, E); `weights` (B, H, L, L') over the target and `cross_weights` (B, H, L, S)
    over the memory, both None unless asked for."""

    output: Tensor
    weights: Tensor | None
    cross_weights: Tensor | None


class DecoderLayer(Layer):
    r"""Self-attention, cross-attention to a memory, and a feed-forward network.

    .. math::

        \text{post-norm:}\quad & y = \mathrm{LN}(x + \mathrm{MHA}(x)) \\
            & u = \mathrm{LN}(y + \mathrm{MHA}(y, m)) \qquad z = \mathrm{LN}(u + \mathrm{FFN}(u)) \\
        \text{pre-norm:}\quad & y = x + \mathrm{MHA}(\mathrm{LN}(x)) \\
            & u = y + \mathrm{MHA}(\mathrm{LN}(y), m) \qquad z = u + \mathrm{FFN}(\mathrm{LN}(u))

    Vaswani et al. (2017), section 3.1, with the memory m of an encoder. Nothing here is causal by
    itself: pass `mask=masks.causal(L)`.

    Args:
        embed_dim, num_heads, hidden_dim: as in `EncoderLayer`.
        num_kv_heads: heads of key and value in both attentions.
        dropout, activation, norm_first: as in `EncoderLayer`.
        bias, norm_eps: as in `EncoderLayer`.

    Shapes: x (B, L, E), memory (B, S, E) -> output (B, L, E), weights (B, H, L, L),
    cross_weights (B, H, L, S). See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnkit import masks
        >>> from attnkit.transformer import DecoderLayer
        >>> layer = DecoderLayer(embed_dim=8, num_heads=2, hidden_dim=16).eval()
        >>> x, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
        >>> decoded = layer(x, memory, mask=masks.causal(5), need_weights=True)
        >>> decoded.output.shape, decoded.weights.shape, decoded.cross_weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]), torch.Size([3, 2, 5, 7]))
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
        attentions = [MultiHeadAttention(embed_dim, num_heads, **heads) for _ in range(2)]
        super().__init__(
            embed_dim,
            hidden_dim,
            norms=3,
            dropout=dropout,
            activation=activation,
            norm_first=norm_first,
            bias=bias,
            norm_eps=norm_eps,
        )
        self.self_attention, self.cross_attention = attentions

    @classmethod
    def from_torch(cls, module: nn.TransformerDecoderLayer) -> Self:
        """Copy an `nn.TransformerDecoderLayer`, as `EncoderLayer.from_torch` copies its sibling.

        Raises:
            TypeError: `module` is not an `nn.TransformerDecoderLayer`.
            ValueError: its activation is neither ReLU nor (exact) GELU.
        """
        if not isinstance(module, nn.TransformerDecoderLayer):
            expected = "an nn.TransformerDecoderLayer"
            checks.fail("module", expected, type(module).__name__, TypeError)
        attentions = {"self_attention": module.self_attn, "cross_attention": module.multihead_attn}
        return copy_torch(cls, module, attentions, norms=3)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: KVCache | None = None,
        cross_cache: KVCache | None = None,
        need_weights: bool = False,
    ) -> DecoderAttended:
        """Run the layer over x (B, L, E), looking at a memory (B, S, E).

        Args:
            x: (B, L, E).
            memory: (B, S, E).
            mask: which targets each may attend to, as `MultiHeadAttention` takes it.
            memory_mask: the same for the memory, as from `masks.padding`. A target that may see
                none of it gets nothing from it.
            bias, rotate, cache: handed to the self-attention.
            cross_cache: takes in the projected memory at the first call; at later calls with it
                the memory is not projected again, and must be the same.
            need_weights: return both kinds of weights, per head and before dropout.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`.
        """
        checks.flag("need_weights", need_weights)
        attended, weights = self.self_attention(
            self.before(self.norm1, x),
            mask=mask,
            bias=bias,
            rotate=rotate,
            cache=cache,
            need_weights=need_weights,
        )
        x = self.join(self.norm1, x, attended)
        if cross_cache is not None and cross_cache.length:
            memory = memory[:, :0]  # (B, 0, E)
        attended, cross_weights = self.cross_attention(
            self.before(self.norm2, x),
            memory,
            mask=memory_mask,
            cache=cross_cache,
            need_weights=need_weights,
        )
        x = self.join(self.norm2, x, attended)
        x = self.join(self.norm3, x, self.feed_forward(self.before(self.norm3, x)))
        return DecoderAttended(x, weights, cross_weights)


class Decoder(nn.Module):
    """Decoder layers, with a last layer norm when they are pre-norm.

    Vaswani et al. (2017), section 3.1; the last norm is Xiong et al.'s (2020).

    Args:
        embed_dim, num_heads, hidden_dim: of every layer.
        num_layers: number of layers N.
        options: the other arguments of `DecoderLayer`.

    Shapes: x (B, L, E), memory (B, S, E) -> output (B, L, E), weights (B, N, H, L, L),
    cross_weights (B, N, H, L, S).

    Raises:
        TypeError, ValueError: as `DecoderLayer`; `num_layers` is not an int of at least 1.

    Example:
        >>> import torch
        >>> from attnkit import masks
        >>> from attnkit.transformer import Decoder
        >>> decoder = Decoder(embed_dim=8, num_heads=2, hidden_dim=16, num_layers=3)
        >>> x, memory = torch.randn(4, 5, 8), torch.randn(4, 7, 8)
        >>> decoder(x, memory, mask=masks.causal(5), need_weights=True).cross_weights.shape
        torch.Size([4, 3, 2, 5, 7])
    """

    def __init__(
        self, embed_dim: int, num_heads: int, hidden_dim: int, num_layers: int, **options: Any
    ):
        super().__init__()
        checks.integer("num_layers", num_layers, minimum=1)
        sizes = (embed_dim, num_heads, hidden_dim)
        self.layers = nn.ModuleList(DecoderLayer(*sizes, **options) for _ in range(num_layers))
        self.norm = last_norm(embed_dim, options)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        caches: Sequence[KVCache] | None = None,
        cross_caches: Sequence[KVCache] | None = None,
        need_weights: bool = False,
    ) -> DecoderAttended:
        """Run x (B, L, E) through every layer.

        Args:
            x, memory, mask, memory_mask, bias, rotate, need_weights: as in
                `DecoderLayer.forward`.
            caches, cross_caches: one `KVCache` for each layer.

        Raises:
            TypeError, ValueError: as `DecoderLayer.forward`.
            ValueError: there is not one cache for each layer.
        """
        caches = self._one_each("caches", caches)
        cross_caches = self._one_each("cross_caches", cross_caches)
        places = {"mask": mask, "memory_mask": memory_mask, "bias": bias, "rotate": rotate}
        seen, crossed = [], []
        for layer, cache, cross_cache in zip(self.layers, caches, cross_caches, strict=True):
            held = {"cache": cache, "cross_cache": cross_cache}
            x, weights, cross = layer(x, memory, need_weights=need_weights, **places, **held)
            seen.append(weights)
            crossed.append(cross)
        return DecoderAttended(self.norm(x), stack(seen), stack(crossed))

    def _one_each(self, name: str, caches: Sequence[KVCache] | None) -> Sequence[KVCache | None]:
        if caches is None:
            return [None] * len(self.layers)
        if len(caches) != len(self.layers):
            checks.fail(name, f"{len(self.layers)} caches, one for each layer", str(len(caches)))
        return caches
