"""Multi-head latent attention (DeepSeek-V2, 2024)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnkit.call import Attended, Call, check_module, project
from attnkit.formula import default_scale
from attnkit.guard import checks
from attnkit.mechanisms.multihead import Cache, Rotate, check_hooks, divisor, turned


class LatentAttention(nn.Module):
    r"""Heads whose keys and values are all read out of one small vector a token.

    .. math::

        c_j &= \mathrm{norm}(W_c x_j) \qquad k_j^h = [W_k^h c_j; r_j] \qquad v_j^h = W_v^h c_j \\
        q_i^h &= [W_q^h x_i; \rho(W_{qr}^h x_i)] \qquad r_j = \rho(W_r x_j)

    DeepSeek-AI (2024), "DeepSeek-V2", section 2.1. A cache holds the latent :math:`c_j` and the one
    key :math:`r_j` that carries the position by the rotation :math:`\rho`, the same for all heads:
    `latent_dim + rope_dim` numbers a token, where multi-head attention keeps 2 * H * head_dim. It
    is turned apart, since a turned :math:`k_j^h` could not be read out of :math:`c_j` anymore.

    **Absorbed**: :math:`q^\top W_k c = (W_k^\top q)^\top c`. So a query can be brought to the
    latents, and they be keys and values at once, for all heads: at decode time it is multi-query
    attention with heads of `latent_dim + rope_dim`, and no key is ever made. The result is the
    same; with many queries at a time the plain form costs less.

    Args:
        embed_dim: features E of query, key and output.
        num_heads: heads H.
        latent_dim: features of the latent.
        rope_dim: features of the key that is turned; 0 for none.
        head_dim: features of the other part of a head's key, and of its value; E / H when omitted.
        norm: makes the norm of the latent from `latent_dim`; None for none.
        bias: add a learned bias in the last projection.
        scale: factor of the scores; 1/sqrt(head_dim + rope_dim) when omitted.

    Shapes: query (..., L, E), key (..., S, E) -> output (..., L, E), weights (..., H, L, S).

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: a size is out of range, or `num_heads` does not divide `embed_dim`.

    Example:
        >>> import torch
        >>> from attnkit import KVCache
        >>> from attnkit.mechanisms import LatentAttention
        >>> attention = LatentAttention(embed_dim=64, num_heads=8, latent_dim=12, rope_dim=4)
        >>> cache, x = KVCache(), torch.randn(1, 10, 64)
        >>> attention(x, cache=cache).output.shape, cache.nbytes // 4 // 10
        (torch.Size([1, 10, 64]), 16)
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        latent_dim: int,
        rope_dim: int = 0,
        head_dim: int | None = None,
        norm: Callable[[int], nn.Module] | None = nn.RMSNorm,
        bias: bool = False,
        scale: float | None = None,
    ):
        super().__init__()
        self.embed_dim = checks.integer("embed_dim", embed_dim, minimum=1)
        self.num_heads = checks.integer("num_heads", num_heads, minimum=1)
        if head_dim is None:
            head_dim = embed_dim // divisor("num_heads", num_heads, "embed_dim", embed_dim)
        self.head_dim = checks.integer("head_dim", head_dim, minimum=1)
        self.latent_dim = checks.integer("latent_dim", latent_dim, minimum=1)
        self.rope_dim = checks.integer("rope_dim", rope_dim, minimum=0)
        whole = default_scale(head_dim + rope_dim)
        self.scale = whole if scale is None else checks.number("scale", scale)
        self.query_proj = nn.Linear(embed_dim, num_heads * (head_dim + rope_dim), bias=False)
        self.latent_proj = nn.Linear(embed_dim, latent_dim + rope_dim, bias=False)
        self.norm = nn.Identity() if norm is None else norm(latent_dim)
        self.key_up = nn.Parameter(torch.empty(num_heads, head_dim, latent_dim))
        self.value_up = nn.Parameter(torch.empty(num_heads, head_dim, latent_dim))
        for weight in (self.key_up, self.value_up):
            nn.init.xavier_uniform_(weight.view(-1, latent_dim))
        self.out_proj = nn.Linear(num_heads * head_dim, embed_dim, bias=checks.flag("bias", bias))

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        rotate: Rotate | None = None,
        cache: Cache | None = None,
        absorbed: bool = False,
        need_weights: bool = False,
    ) -> Attended:
        """Attend with every head; masks, empty rows and NaN as in `MultiHeadAttention.forward`.

        Args:
            query: (..., L, E).
            key: (..., S, E), of which keys and values are made; `query` when omitted.
            mask: boolean, broadcastable to (..., L, S), the same for every head.
            rotate: as in `MultiHeadAttention.forward`, of the `rope_dim` features.
            cache: latents and turned keys of earlier calls, as one head's keys.
            absorbed: read the latents themselves, and make no keys and values. The same result.
            need_weights: return the weights (..., H, L, S).

        Returns:
            `Attended(output, weights)`: output (..., L, E), weights or None.

        Raises:
            TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
            ValueError: shapes, sizes or devices do not fit.
        """
        dims = dict.fromkeys(("query_dim", "key_dim", "value_dim"), self.embed_dim)
        key, _, (*lead, L, S) = check_module(self, query, key, None, need_weights, **dims)
        check_hooks(rotate, cache)
        held = 0 if cache is None else getattr(cache, "kept", cache.length)
        if mask is not None:
            mask = checks.mask(mask, (*lead, L, held + S), device=query.device).unsqueeze(-3)
        asks, turns = self._queries(query, mask)
        latent, shared = project(self._latents, key, mask).split(
            [self.latent_dim, self.rope_dim], -1
        )
        shared = shared.unsqueeze(-3)  # (..., 1, S, rope_dim)
        if rotate is not None and self.rope_dim:
            offset = 0 if cache is None else cache.length
            turns, shared = turned(rotate, turns, offset), turned(rotate, shared, offset)
        kept = torch.cat((latent.unsqueeze(-3), shared), -1)  # (..., 1, S, latent_dim + rope_dim)
        if cache is not None:
            kept, _ = cache.update(kept, kept[..., :0])
        latent, shared = kept.split([self.latent_dim, self.rope_dim], -1)
        if absorbed:
            asks, keys, values = asks @ self.key_up, kept, latent
        else:
            up = torch.cat((self.key_up, self.value_up)).flatten(0, 1)  # (2 * H * D, latent_dim)
            made = project(lambda x: x @ up.mT, latent.squeeze(-3), mask)
            made = made.unflatten(-1, (2 * self.num_heads, -1)).transpose(-3, -2)
            keys, values = made.chunk(2, -3)  # (..., H, S, D)
            keys = torch.cat((keys, shared.expand(*keys.shape[:-1], -1)), -1)
        call = Call(
            torch.cat((asks, turns), -1), keys, values, mask,
            lead=(*lead, self.num_heads), grouped=absorbed,
        )  # fmt: skip
        output, weights = call.dot_product(self.scale, need_weights=need_weights)
        if absorbed:
            output = output @ self.value_up.mT  # (..., H, L, D)
        output = self.out_proj(output.transpose(-3, -2).flatten(-2))  # (..., L, E)
        return call.finish(call.zero_empty(output), weights)

    def _queries(self, query: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The two parts of the queries: (..., H, L, head_dim) and (..., H, L, rope_dim)."""
        heads = project(self.query_proj, query, mask).unflatten(-1, (self.num_heads, -1))
        return heads.transpose(-3, -2).split([self.head_dim, self.rope_dim], -1)

    def _latents(self, key: Tensor) -> Tensor:
        """Latents and what is to be turned (..., S, latent_dim + rope_dim)."""
        latent, shared = self.latent_proj(key).split([self.latent_dim, self.rope_dim], -1)
        return torch.cat((self.norm(latent), shared), -1)

    def extra_repr(self) -> str:
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, head_dim={self.head_dim}, "
            f"latent_dim={self.latent_dim}, rope_dim={self.rope_dim}"
        )
