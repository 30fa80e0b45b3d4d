"""Stacks of layers: the encoder and the decoder."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn

from attnkit.efficient.cache import KVCache
from attnkit.functional import Attended
from attnkit.guard import checks
from attnkit.mechanisms.multihead import Rotate
from attnlab.transformer import convert
from attnlab.transformer.layers import DecoderAttended, DecoderLayer, EncoderLayer, Layer
from attnlab.transformer.positions import PositionScheme


class States(NamedTuple):
    """What a stack computes on its way: `states` (B, N + 1, L, E), its input and the output of each
    of N layers, before the last norm; and `weights` (B, N, H, L, S) or None."""

    states: Tensor
    weights: Tensor | None


class Stack(nn.Module):
    """Layers of one kind on top of each other, and a last norm. `Encoder` documents it."""

    layer_type: ClassVar[type[Layer]]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        num_layers: int,
        *,
        norm_first: bool = False,
        final_norm: bool | None = None,
        **options: Any,
    ):
        super().__init__()
        checks.integer("num_layers", num_layers, minimum=1)
        final_norm = norm_first if final_norm is None else checks.flag("final_norm", final_norm)
        sizes = (embed_dim, num_heads, hidden_dim)
        self.layers = nn.ModuleList(
            self.layer_type(*sizes, norm_first=norm_first, **options) for _ in range(num_layers)
        )
        self.norm = copy.deepcopy(self.layers[0].norm1) if final_norm else nn.Identity()

    def new_caches(self, *, window: int | None = None) -> list[KVCache]:
        """An empty `KVCache` for each layer."""
        return [KVCache(window=window) for _ in self.layers]

    def one_per_layer(
        self, name: str, caches: Sequence[KVCache] | None
    ) -> Sequence[KVCache | None]:
        """Check that there is one cache for each layer; None stands for no caches."""
        if caches is None:
            return [None] * len(self.layers)
        if len(caches) != len(self.layers):
            checks.fail(name, f"{len(self.layers)} caches, one for each layer", str(len(caches)))
        return caches


class Encoder(Stack):
    """Encoder layers, with a last norm when they are pre-norm.

    Vaswani et al. (2017), section 3.1; the last norm is Xiong et al.'s (2020). With a causal mask
    and caches it is the stack of a decoder-only model: see `LanguageModel`.

    Args:
        embed_dim, num_heads, hidden_dim: of every layer.
        num_layers: number of layers N.
        norm_first: True for pre-norm.
        final_norm: end in a norm as the layers have; default `norm_first`.
        options: the other arguments of `EncoderLayer`.

    Shapes: x (B, L, E) -> output (B, L, E), weights (B, N, H, L, L).

    Raises:
        TypeError, ValueError: as `EncoderLayer`; `num_layers` is not an int of at least 1.

    Example:
        >>> import torch
        >>> from attnkit import masks
        >>> from attnlab.transformer import Encoder
        >>> encoder = Encoder(embed_dim=8, num_heads=2, hidden_dim=16, num_layers=3)
        >>> attended = encoder(
        ...     torch.randn(4, 5, 8), mask=masks.padding([5, 3, 1, 0]), need_weights=True
        ... )
        >>> attended.output.shape, attended.weights.shape
        (torch.Size([4, 5, 8]), torch.Size([4, 3, 2, 5, 5]))
    """

    layer_type = EncoderLayer

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        caches: Sequence[KVCache] | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Run x (B, L, E) through every layer.

        Args:
            x, mask, bias, rotate, need_weights: as in `EncoderLayer.forward`.
            caches: one `KVCache` for each layer.

        Raises:
            TypeError, ValueError: as `EncoderLayer.forward`.
            ValueError: there is not one cache for each layer.
        """
        options = {"mask": mask, "bias": bias, "rotate": rotate, "need_weights": need_weights}
        all_weights = []
        for attended in self._layer_by_layer(x, caches, options):
            all_weights.append(attended.weights)
        return Attended(self.norm(attended.output), _stack_layers(all_weights))

    def states(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        caches: Sequence[KVCache] | None = None,
        need_weights: bool = True,
    ) -> States:
        """All that the layers compute of x (B, L, E); arguments and errors as in `forward`, whose
        output is `norm` of the last state."""
        options = {"mask": mask, "bias": bias, "rotate": rotate, "need_weights": need_weights}
        attended = list(self._layer_by_layer(x, caches, options))
        states = torch.stack([x, *(each.output for each in attended)], dim=1)  # (B, N + 1, L, E)
        return States(states, _stack_layers([each.weights for each in attended]))

    def _layer_by_layer(
        self, x: Tensor, caches: Sequence[KVCache] | None, options: dict[str, Any]
    ) -> Iterator[Attended]:
        for layer, cache in zip(self.layers, self.one_per_layer("caches", caches), strict=True):
            attended = layer(x, cache=cache, **options)  # (B, L, E), (B, H, L, S)
            x = attended.output
            yield attended

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoder) -> Self:
        """Copy an `nn.TransformerEncoder`, layer by layer as `EncoderLayer.from_torch` does. That
        of an `nn.Transformer` is its `encoder`.

        Raises:
            TypeError: `module` is not an `nn.TransformerEncoder`.
            ValueError: a layer cannot be copied.
        """
        return convert.stack_from_torch(cls, module, nn.TransformerEncoder)


class Decoder(Stack):
    """Decoder layers, with a last norm when they are pre-norm.

    Vaswani et al. (2017), section 3.1; the last norm is Xiong et al.'s (2020).

    Args:
        embed_dim, num_heads, hidden_dim: of every layer.
        num_layers: number of layers N.
        norm_first, final_norm: as in `Encoder`.
        options: the other arguments of `DecoderLayer`.

    Shapes: x (B, L, E), memory (B, S, E) -> output (B, L, E), weights (B, N, H, L, L),
    cross_weights (B, N, H, L, S).

    Raises:
        TypeError, ValueError: as `DecoderLayer`; `num_layers` is not an int of at least 1.

    Example:
        >>> import torch
        >>> from attnkit import masks
        >>> from attnlab.transformer import Decoder
        >>> decoder = Decoder(embed_dim=8, num_heads=2, hidden_dim=16, num_layers=3)
        >>> x, memory = torch.randn(4, 5, 8), torch.randn(4, 7, 8)
        >>> decoder(x, memory, mask=masks.causal(5), need_weights=True).cross_weights.shape
        torch.Size([4, 3, 2, 5, 7])
    """

    layer_type = DecoderLayer

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
        caches = self.one_per_layer("caches", caches)
        cross_caches = self.one_per_layer("cross_caches", cross_caches)
        options = {"mask": mask, "memory_mask": memory_mask, "bias": bias, "rotate": rotate}
        options |= {"need_weights": need_weights}
        all_weights, all_cross_weights = [], []
        for layer, cache, cross_cache in zip(self.layers, caches, cross_caches, strict=True):
            x, weights, cross = layer(x, memory, cache=cache, cross_cache=cross_cache, **options)
            all_weights.append(weights)  # (B, H, L, L)
            all_cross_weights.append(cross)  # (B, H, L, S)
        return DecoderAttended(
            self.norm(x), _stack_layers(all_weights), _stack_layers(all_cross_weights)
        )

    @classmethod
    def from_torch(cls, module: nn.TransformerDecoder) -> Self:
        """Copy an `nn.TransformerDecoder`, layer by layer as `DecoderLayer.from_torch` does. That
        of an `nn.Transformer` is its `decoder`.

        Raises:
            TypeError: `module` is not an `nn.TransformerDecoder`.
            ValueError: a layer cannot be copied.
        """
        return convert.stack_from_torch(cls, module, nn.TransformerDecoder)


def after_caches(
    x: Tensor, scheme: PositionScheme, caches: Sequence[KVCache] | None, window: int | None
) -> tuple[Tensor, dict[str, Any]]:
    """Embeddings x (B, L, E) of the tokens that follow those of the caches, with their positions;
    and the arguments `mask`, `bias` and `rotate` of every layer, for queries that look back."""
    cache = caches[0] if caches else KVCache(window=window)  # all layers hold the same length
    if cache.window != window:
        checks.fail("caches", f"window={window}, as the model has", f"{cache.window}")
    size = x.shape[1]
    mask = cache.mask(size)  # (L, kept + L), or None when L is 1
    key_len = cache.kept + size
    options = scheme.in_attention(size, key_len, offset=cache.kept, device=x.device)
    options["mask"] = None if mask is None else mask.to(x.device)
    return scheme.add(x, cache.length), options


def _stack_layers(weights: list[Tensor | None]) -> Tensor | None:
    """Weights of N layers, (B, H, L, S) each, as (B, N, H, L, S)."""
    return None if weights[0] is None else torch.stack(weights, dim=1)  # (B, N, H, L, S)
