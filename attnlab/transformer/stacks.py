"""Stacks of layers: the encoder and the decoder."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import torch
import torch.nn.functional as F
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


class Handed:
    """The keys and values that one layer hands to later ones: a cache for all of them in one pass.

    The first to come is the layer that has them. The others bring none, and get the same.
    """

    def __init__(self, cache: KVCache):
        self.cache, self.found = cache, None
        self.length, self.kept = cache.length, cache.kept  # before the pass, for each of them

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """What the cache gives for the keys and values that came first."""
        if self.found is None:
            self.found = self.cache.update(key, value)
        return self.found


class Stack(nn.Module):
    """Layers of one kind on top of each other, and a last norm. `Encoder` documents it."""

    layer_type: ClassVar[type[Layer]]
    #: For each layer the number of the one whose keys and values it reads; None: each its own.
    kv_from: Sequence[int] | None = None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        num_layers: int,
        *,
        norm_first: bool = False,
        final_norm: bool | None = None,
        kv_from: Sequence[int] | None = None,
        **options: Any,
    ):
        super().__init__()
        checks.integer("num_layers", num_layers, minimum=1)
        if kv_from is not None:
            if len(self.layer_type.attentions) > 1:
                checks.fail("kv_from", "None, for layers of a decoder share nothing", str(kv_from))
            self.kv_from = _check_sources(kv_from, num_layers)
        final_norm = norm_first if final_norm is None else checks.flag("final_norm", final_norm)
        sizes = (embed_dim, num_heads, hidden_dim)
        own = self.own_keys(num_layers)
        self.layers = nn.ModuleList(
            self.layer_type(
                *sizes,
                norm_first=norm_first,
                **(options if number in own else options | {"num_kv_heads": 0}),
            )
            for number in range(num_layers)
        )
        self.norm = copy.deepcopy(self.layers[0].norm1) if final_norm else nn.Identity()

    def own_keys(self, num_layers: int) -> list[int]:
        """The numbers of the layers that have keys and values of their own."""
        return sorted(set(range(num_layers) if self.kv_from is None else self.kv_from))

    def new_caches(self, *, window: int | Sequence[int | None] | None = None) -> list[KVCache]:
        """An empty `KVCache` for each layer that has keys of its own; `window` as for `each`."""
        windows = self.each("window", window)
        return [KVCache(window=windows[number]) for number in self.own_keys(len(self.layers))]

    def one_per_layer(
        self, name: str, caches: Sequence[KVCache] | None
    ) -> Sequence[KVCache | Handed | None]:
        """For each layer its cache, or the one that is handed to it; None stands for no caches."""
        if caches is None and self.kv_from is None:
            return [None] * len(self.layers)
        own = self.own_keys(len(self.layers))
        caches = [KVCache() for _ in own] if caches is None else caches
        if len(caches) != len(own):
            keyed = "" if self.kv_from is None else " with keys of its own"
            checks.fail(name, f"{len(own)} caches, one for each layer{keyed}", str(len(caches)))
        if self.kv_from is None:
            return caches
        handed = dict(zip(own, map(Handed, caches), strict=True))
        return [handed[number] for number in self.kv_from]

    def each(self, name: str, value: Any) -> Sequence[Any]:
        """A value for each layer: of a list or tuple its items, and anything else for them all."""
        if not isinstance(value, list | tuple):
            return [value] * len(self.layers)
        if len(value) != len(self.layers):
            checks.fail(name, f"{len(self.layers)} items, one for each layer", str(len(value)))
        return value


class Encoder(Stack):
    """Encoder layers, with a last norm when they are pre-norm.

    Vaswani et al. (2017), section 3.1; the last norm is Xiong et al.'s (2020). With a causal mask
    and caches it is the stack of a decoder-only model: see `LanguageModel`.

    Args:
        embed_dim, num_heads, hidden_dim: of every layer.
        num_layers: number of layers N.
        norm_first: True for pre-norm.
        final_norm: end in a norm as the layers have; default `norm_first`.
        kv_from: for each layer the number of the layer whose keys and values it reads, itself or
            one before it that has its own; default each its own. A layer that reads another's has
            no projections of keys and values (YOCO, Sun et al. 2024; Gemma 3n, 2025).
        options: the other arguments of `EncoderLayer`.

    Shapes: x (B, L, E) -> output (B, L, E), weights (B, N, H, L, L).

    Raises:
        TypeError, ValueError: as `EncoderLayer`; `num_layers` is not an int of at least 1, or
            `kv_from` does not name a layer for each.

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
        mask: Tensor | Sequence[Tensor | None] | None = None,
        bias: Tensor | Sequence[Tensor | None] | None = None,
        rotate: Rotate | Sequence[Rotate] | None = None,
        caches: Sequence[KVCache] | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Run x (B, L, E) through every layer.

        Args:
            x, need_weights: as in `EncoderLayer.forward`.
            mask, bias, rotate: the same, of all layers; or a list of one for each.
            caches: one `KVCache` for each layer that has keys of its own: see `new_caches`.

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
        mask: Tensor | Sequence[Tensor | None] | None = None,
        bias: Tensor | Sequence[Tensor | None] | None = None,
        rotate: Rotate | Sequence[Rotate] | None = None,
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
        caches = self.one_per_layer("caches", caches)
        options = {name: self.each(name, value) for name, value in options.items()}
        for number, (layer, cache) in enumerate(zip(self.layers, caches, strict=True)):
            own = {name: values[number] for name, values in options.items()}
            attended = layer(x, cache=cache, **own)  # (B, L, E), (B, H, L, S)
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
    for other in caches or ():
        if other.window != window:
            checks.fail("caches", f"window={window}, as the model has", f"{other.window}")
    size = x.shape[1]
    mask = cache.mask(size)  # (L, kept + L), or None when L is 1
    key_len = cache.kept + size
    options = scheme.in_attention(size, key_len, offset=cache.kept, device=x.device)
    options["mask"] = None if mask is None else mask.to(x.device)
    return scheme.add(x, cache.length), options


def _stack_layers(weights: list[Tensor | None]) -> Tensor | None:
    """Weights of N layers, (B, H, L, S) each, as (B, N, H, L, S): 0 for what a window let go."""
    if weights[0] is None:
        return None
    longest = max(each.shape[-1] for each in weights)
    gone = [longest - each.shape[-1] for each in weights]
    weights = [F.pad(each, (n, 0)) if n else each for n, each in zip(gone, weights, strict=True)]
    return torch.stack(weights, dim=1)  # (B, N, H, L, S)


def _check_sources(kv_from: Sequence[int], num_layers: int) -> list[int]:
    """Check `kv_from`: one number a layer, of itself or of one before it that has keys."""
    checks.instance("kv_from", kv_from, (list, tuple), "a list of numbers of layers")
    if len(kv_from) != num_layers:
        checks.fail("kv_from", f"{num_layers} numbers, one for each layer", str(len(kv_from)))
    for number, source in enumerate(kv_from):
        checks.integer(f"kv_from[{number}]", source, minimum=0, maximum=number)
        if kv_from[source] != source:
            expected = "the number of a layer with keys of its own"
            checks.fail(f"kv_from[{number}]", expected, str(source))
    return list(kv_from)
