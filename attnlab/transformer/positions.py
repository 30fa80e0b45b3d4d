"""Position schemes of the Transformer: on the embeddings, in the heads, or on the scores."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnkit.mechanisms.multihead import Rotate
from attnkit.positions import (
    BucketedRelativeBias,
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    alibi,
)

POSITION_SCHEMES = ("sinusoidal", "learned", "rotary", "alibi", "relative", "none")


class PositionScheme(nn.Module):
    """One kind of positions, at the three places where a stack of layers may need them.

    Args:
        kind: "sinusoidal" or "learned" add to the embeddings; "rotary" rotates queries and keys in
            every layer; "alibi" and "relative" (T5's buckets, shared by the layers) add to the
            scores of every layer; "none" does nothing. Without a causal mask "alibi" knows how
            far a key is, but not on which side.
        embed_dim: features of an embedding.
        num_heads: heads of a layer.
        max_len: positions of "learned"; the others need none.
        bidirectional: whether keys ahead of the query are seen, for "relative".
        head_dim: features of a head, for "rotary"; default embed_dim / num_heads.
        base, layout: of "rotary", as `positions.rotary` takes them; a list has one base a layer.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: `kind` is unknown, or a size does not suit it.

    Example:
        >>> import torch
        >>> from attnlab.transformer import PositionScheme
        >>> scheme = PositionScheme("alibi", embed_dim=8, num_heads=2)
        >>> scheme.bias(1, 4, offset=3).shape, scheme.rotate
        (torch.Size([2, 1, 4]), None)
    """

    def __init__(
        self,
        kind: str,
        embed_dim: int,
        num_heads: int,
        *,
        max_len: int = 512,
        bidirectional: bool = True,
        head_dim: int | None = None,
        base: float | Sequence[float] = 10000.0,
        layout: str = "interleaved",
    ):
        super().__init__()
        self.kind = checks.choice("positions", kind, POSITION_SCHEMES)
        self.num_heads = checks.integer("num_heads", num_heads, minimum=1)
        if kind == "sinusoidal":
            self.table = SinusoidalPositions(embed_dim)
        elif kind == "learned":
            self.table = LearnedPositions(max_len, embed_dim)
        elif kind == "rotary":
            if checks.integer("embed_dim", embed_dim, minimum=1) % num_heads and head_dim is None:
                checks.fail("num_heads", f"a divisor of embed_dim ({embed_dim})", str(num_heads))
            size = embed_dim // num_heads if head_dim is None else head_dim
            listed = isinstance(base, list | tuple)
            turns = [Rotary(size, base=one, layout=layout) for one in (base if listed else [base])]
            self.rotary = nn.ModuleList(turns) if listed else turns[0]
        elif kind == "relative":
            self.relative = BucketedRelativeBias(num_heads, bidirectional=bidirectional)

    def add(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add positions to embeddings (B, L, E), the first of which stands at `offset`."""
        return self.table(x, offset) if self.kind in ("sinusoidal", "learned") else x

    @property
    def rotate(self) -> Rotate | list[Rotate] | None:
        """What `MultiHeadAttention` takes as `rotate`; with a list of bases, one a layer."""
        if self.kind != "rotary":
            return None
        return list(self.rotary) if isinstance(self.rotary, nn.ModuleList) else self.rotary

    def bias(
        self,
        query_len: int,
        key_len: int,
        *,
        offset: int,
        device: torch.device | str | None = None,
    ) -> Tensor | None:
        """The bias (H, L, S) of the scores; arguments as in `positions.relative_positions`."""
        if self.kind == "alibi":
            return alibi(self.num_heads, query_len, key_len, offset=offset, device=device)
        if self.kind == "relative":
            return self.relative(query_len, key_len, offset=offset)
        return None

    def in_attention(
        self,
        query_len: int,
        key_len: int,
        *,
        offset: int,
        device: torch.device | str | None = None,
    ) -> dict[str, Any]:
        """The arguments `bias` and `rotate` of every layer; arguments as in `bias`."""
        bias = self.bias(query_len, key_len, offset=offset, device=device)
        return {"bias": bias, "rotate": self.rotate}

    def extra_repr(self) -> str:
        return f"kind={self.kind!r}"
