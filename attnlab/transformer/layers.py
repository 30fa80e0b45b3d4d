"""The layers of the encoder and of the decoder."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple, Self

import torch.nn.functional as F
from torch import Tensor, nn

from attnkit.efficient.cache import KVCache
from attnkit.functional import Attended
from attnkit.guard import checks
from attnkit.mechanisms.multihead import MultiHeadAttention, Rotate
from attnkit.mechanisms.sink import SinkAttention
from attnkit.mechanisms.soft_cap import SoftCapAttention
from attnlab.transformer import convert

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
NORMS = ("layer", "rms", "none")


def make_norm(kind: str, features: int, *, eps: float = 1e-5, bias: bool = True) -> nn.Module:
    """A layer norm; for "rms" one by the root mean square alone (Zhang and Sennrich 2019), which
    subtracts no mean and has no bias; for "none" what changes nothing."""
    checks.positive("norm_eps", eps)
    if checks.choice("norm", kind, NORMS) != "layer":
        return nn.RMSNorm(features, eps) if kind == "rms" else nn.Identity()
    return nn.LayerNorm(features, eps, bias=bias)


class Layer(nn.Module):
    """What both layers are made of: attentions, a feed-forward network, norms and dropout.

    `EncoderLayer` documents the arguments.
    """

    #: Names of the attentions. One more norm than these: the last is the feed-forward network's.
    attentions: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        scale: float | None = None,
        qk_norm: bool = False,
        sink: bool = False,
        soft_cap: float | None = None,
        dropout: float = 0.1,
        activation: str = "relu",
        gated: bool = False,
        norm_first: bool = False,
        norm: str = "layer",
        norm_eps: float = 1e-5,
        norm_after: bool = False,
        bias: bool = True,
    ):
        super().__init__()
        checks.integer("hidden_dim", hidden_dim, minimum=1)
        self.norm_first = checks.flag("norm_first", norm_first)
        self.activation = checks.choice("activation", activation, tuple(ACTIVATIONS))
        make = partial(make_norm, norm, eps=norm_eps, bias=bias)
        heads = {"num_kv_heads": num_kv_heads, "head_dim": head_dim, "scale": scale}
        heads |= {"bias": bias, "dropout": dropout}
        heads["qk_norm"] = make if checks.flag("qk_norm", qk_norm) else None
        kind = SinkAttention if checks.flag("sink", sink) else MultiHeadAttention
        if soft_cap is not None:
            if sink:
                checks.fail("soft_cap", "None beside a sink", repr(soft_cap))
            kind = partial(SoftCapAttention, cap=checks.positive("soft_cap", soft_cap))
        # Drawn first and registered last: recorded results depend on both orders.
        attentions = {name: kind(embed_dim, num_heads, **heads) for name in self.attentions}
        self.linear1 = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.linear2 = nn.Linear(hidden_dim, embed_dim, bias=bias)
        for number in range(1, len(attentions) + 2):
            self.add_module(f"norm{number}", make(embed_dim))
            after = make(embed_dim) if checks.flag("norm_after", norm_after) else nn.Identity()
            self.add_module(f"after{number}", after)
        self.dropout = nn.Dropout(checks.probability("dropout", dropout))
        for name, attention in attentions.items():
            self.add_module(name, attention)
        self.gate = None
        if checks.flag("gated", gated):
            self.gate = nn.Linear(embed_dim, hidden_dim, bias=bias)

    def feed_forward(self, x: Tensor) -> Tensor:
        """W_2 f(W_1 x + b_1) + b_2, or with a gate W_2 (f(G x + c) * (W_1 x + b_1)) + b_2; dropout
        comes before W_2."""
        function, inner = ACTIVATIONS[self.activation], self.linear1(x)  # (B, L, hidden_dim)
        hidden = function(inner) if self.gate is None else function(self.gate(x)) * inner
        return self.linear2(self.dropout(hidden))  # (B, L, E)

    def extra_repr(self) -> str:
        return f"activation={self.activation!r}, norm_first={self.norm_first}"


class EncoderLayer(Layer):
    r"""Self-attention and a feed-forward network, each with a residual and a layer norm.

    .. math::

        \text{post-norm:}\quad & y = \mathrm{LN}(x + \mathrm{MHA}(x)) \qquad
            z = \mathrm{LN}(y + \mathrm{FFN}(y)) \\
        \text{pre-norm:}\quad & y = x + \mathrm{MHA}(\mathrm{LN}(x)) \qquad
            z = y + \mathrm{FFN}(\mathrm{LN}(y)) \\
        & \mathrm{FFN}(x) = W_2\, f(W_1 x + b_1) + b_2

    Vaswani et al. (2017), section 3.1, is post-norm with f = ReLU; pre-norm is analysed by Xiong
    et al. (2020). With `gated` :math:`f(Gx + c) \odot (W_1 x + b_1)` takes the place of
    :math:`f(W_1 x + b_1)`: SwiGLU when f = SiLU (Shazeer 2020), as in Llama. Dropout acts where
    `nn.TransformerEncoderLayer` has it: on the weights, on what each of the two adds to the
    residual, and before :math:`W_2`.

    Args:
        embed_dim: features E, a multiple of `num_heads` unless `head_dim` is given.
        num_heads: heads H.
        hidden_dim: features between the products of the feed-forward network.
        num_kv_heads: heads of key and value, a divisor of `num_heads`; default `num_heads`.
        head_dim: features of a head; default embed_dim / num_heads.
        scale: factor of the scores; default 1/sqrt(head_dim).
        qk_norm: norm each head's queries and keys.
        sink: give each head a learned sink, as `SinkAttention` has.
        soft_cap: the cap of the scores, as `SoftCapAttention` has one; None for none.
        dropout: probability of each dropout.
        activation: f, "relu", "gelu", "gelu_tanh" (GPT-2's approximation) or "silu".
        gated: multiply by a third product, the gate.
        norm_first: True for pre-norm.
        norm: "layer" for layer norms, "rms" to divide by the root mean square alone, or "none".
        norm_eps: added to the variance, or the mean square, in the norms.
        norm_after: norm also what each of the two adds to the residual (Gemma 2, 2024).
        bias: learn biases, in the layer norms too.

    Shapes: x (B, L, E) -> output (B, L, E), weights (B, H, L, L). See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnlab.transformer import EncoderLayer
        >>> layer = EncoderLayer(embed_dim=8, num_heads=2, hidden_dim=16).eval()
        >>> output, weights = layer(torch.randn(3, 5, 8), need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    attentions = ("attention",)

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
            bias, rotate, cache: passed to `MultiHeadAttention`.
            need_weights: return the weights (B, H, L, L), per head and before dropout.

        Returns:
            `Attended(output, weights)`: output (B, L, E), weights or None.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`.
        """
        checks.flag("need_weights", need_weights)
        options = {"mask": mask, "bias": bias, "rotate": rotate, "cache": cache}
        attend = partial(self.attention, **options, need_weights=need_weights)
        if self.norm_first:
            attended, weights = attend(self.norm1(x))  # (B, L, E), (B, H, L, L)
            x = x + self.dropout(self.after1(attended))
            x = x + self.dropout(self.after2(self.feed_forward(self.norm2(x))))
        else:
            attended, weights = attend(x)  # (B, L, E), (B, H, L, L)
            x = self.norm1(x + self.dropout(self.after1(attended)))
            x = self.norm2(x + self.dropout(self.after2(self.feed_forward(x))))
        return Attended(x, weights)

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoderLayer) -> Self:
        """Copy an `nn.TransformerEncoderLayer`: sizes, weights and which of them are frozen,
        dropout, the epsilon of each norm, mode, dtype and device.

        The copy is batch-first whatever the original was. Its masks mean the opposite of the
        original's. A token that may see nothing gets nothing from the attention, where the
        original gives NaN in eval, and the bias of its last projection in training.

        Raises:
            TypeError: `module` is not an `nn.TransformerEncoderLayer`.
            ValueError: its activation is neither ReLU nor GELU, or its dropouts differ.
        """
        return convert.layer_from_torch(cls, module, nn.TransformerEncoderLayer)


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
        num_kv_heads, head_dim, scale, qk_norm, sink, soft_cap: of both attentions.
        dropout, activation, gated, norm_first, norm, norm_eps, norm_after, bias: as in
            `EncoderLayer`.

    Shapes: x (B, L, E), memory (B, S, E) -> output (B, L, E), weights (B, H, L, L),
    cross_weights (B, H, L, S). See `forward`.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: an argument is out of range.

    Example:
        >>> import torch
        >>> from attnkit import masks
        >>> from attnlab.transformer import DecoderLayer
        >>> layer = DecoderLayer(embed_dim=8, num_heads=2, hidden_dim=16).eval()
        >>> x, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
        >>> decoded = layer(x, memory, mask=masks.causal(5), need_weights=True)
        >>> decoded.output.shape, decoded.weights.shape, decoded.cross_weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]), torch.Size([3, 2, 5, 7]))
    """

    attentions = ("self_attention", "cross_attention")

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
            bias, rotate, cache: passed to the self-attention.
            cross_cache: takes in the projected memory at the first call; at later calls with it
                the memory is not projected again, and must be the same.
            need_weights: return both kinds of weights, per head and before dropout.

        Raises:
            TypeError, ValueError: as `MultiHeadAttention`.
        """
        checks.flag("need_weights", need_weights)
        if cross_cache is not None and cross_cache.length:
            memory = memory[:, :0]  # (B, 0, E): its keys and values are in the cache
        options = {"mask": mask, "bias": bias, "rotate": rotate, "cache": cache}
        attend = partial(self.self_attention, **options, need_weights=need_weights)
        options = {"mask": memory_mask, "cache": cross_cache}
        attend_memory = partial(self.cross_attention, **options, need_weights=need_weights)
        if self.norm_first:
            attended, weights = attend(self.norm1(x))  # (B, L, E), (B, H, L, L)
            x = x + self.dropout(self.after1(attended))
            attended, cross_weights = attend_memory(self.norm2(x), memory)  # (B, H, L, S)
            x = x + self.dropout(self.after2(attended))
            x = x + self.dropout(self.after3(self.feed_forward(self.norm3(x))))
        else:
            attended, weights = attend(x)  # (B, L, E), (B, H, L, L)
            x = self.norm1(x + self.dropout(self.after1(attended)))
            attended, cross_weights = attend_memory(x, memory)  # (B, H, L, S)
            x = self.norm2(x + self.dropout(self.after2(attended)))
            x = self.norm3(x + self.dropout(self.after3(self.feed_forward(x))))
        return DecoderAttended(x, weights, cross_weights)

    @classmethod
    def from_torch(cls, module: nn.TransformerDecoderLayer) -> Self:
        """Copy an `nn.TransformerDecoderLayer`, as `EncoderLayer.from_torch` copies its sibling.

        Raises:
            TypeError: `module` is not an `nn.TransformerDecoderLayer`.
            ValueError: its activation is neither ReLU nor GELU, or its dropouts differ.
        """
        return convert.layer_from_torch(cls, module, nn.TransformerDecoderLayer)
