"""Positions that are added to the scores."""

import math

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnkit.masks import _aligned
from attnkit.positions.rotation import even


def relative_positions(
    query_len: int,
    key_len: int | None = None,
    *,
    offset: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """How far key j stands behind (negative) or ahead of query i: j - (i + offset). (L, S).

    Args:
        query_len: L.
        key_len: S; default `query_len`.
        offset: as in `masks.causal`; demanded when L != S.
        device: where to build it.

    Raises:
        ValueError: `offset` is missing although L != S, or a length is negative.
        TypeError: an argument is not an int.

    Example:
        >>> from attnkit.positions import relative_positions
        >>> relative_positions(2, 3, offset=1)
        tensor([[-1,  0,  1],
                [-2, -1,  0]])
    """
    query_len, key_len, offset = _aligned(query_len, key_len, offset)
    queries = torch.arange(query_len, device=device)[:, None] + offset  # (L, 1)
    return torch.arange(key_len, device=device) - queries  # (L, S)


def alibi_slopes(num_heads: int) -> Tensor:
    r"""One slope for each head. Shape (H,), float32.

    .. math:: m_h = 2^{-8 (h + 1) / H}

    When H is not a power of two, the slopes of the power below come first, then every other one
    of the power above (Press et al. 2022, section 3 and their code).

    Raises:
        ValueError: `num_heads` is below 1.
        TypeError: `num_heads` is not an int.

    Example:
        >>> from attnkit.positions import alibi_slopes
        >>> alibi_slopes(4)
        tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """
    checks.integer("num_heads", num_heads, minimum=1)
    below = 2 ** (num_heads.bit_length() - 1)
    exponents = [8 * (head + 1) / below for head in range(below)]
    exponents += [4 * (head + 1) / below for head in range(0, 2 * below, 2)]
    return torch.tensor([2**-exponent for exponent in exponents[:num_heads]], dtype=torch.float32)


def alibi(
    num_heads: int,
    query_len: int,
    key_len: int | None = None,
    *,
    offset: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Attention with linear biases. Shape (H, L, S), float32.

    .. math:: -m_h \, |i + \mathrm{offset} - j|

    for query i and key j, with the slopes m of `alibi_slopes`. Pass it as `bias=` (Press et al.
    2022). The paper is causal; there the distance is always towards the past, and keys ahead are
    masked, so mask them. Without a causal mask both directions are weighed alike.

    Args:
        num_heads: H.
        query_len, key_len, offset, device: as in `relative_positions`.

    Raises:
        ValueError: `offset` is missing although L != S, or a size is out of range.
        TypeError: an argument is not an int.

    Example:
        >>> from attnkit.positions import alibi
        >>> alibi(8, 1, 3, offset=2)[0]
        tensor([[-1.0000, -0.5000,  0.0000]])
    """
    slopes = alibi_slopes(num_heads).to(device)
    ahead = relative_positions(query_len, key_len, offset=offset, device=device)  # (L, S)
    return slopes[:, None, None] * -ahead.abs()  # (H, L, S)


class ClippedRelativeBias(nn.Module):
    r"""A learned bias for each head and distance. Gives (H, L, S).

    .. math:: w_{h,\, \mathrm{clip}(j - i, -k, k)}

    Distances beyond k = `max_distance` share one weight, as in Shaw et al. (2018), eq. 4. Their
    model learns a vector for each distance and dots it with the query; this is the scalar form,
    which goes into `bias=`. Starts at zero, so that it changes nothing before training.

    Raises:
        ValueError: `num_heads` or `max_distance` is below 1; in the call, as
            `relative_positions`.
        TypeError: an argument is not an int.

    Example:
        >>> from attnkit.positions import ClippedRelativeBias
        >>> ClippedRelativeBias(num_heads=2, max_distance=4)(3, 5, offset=2).shape
        torch.Size([2, 3, 5])
    """

    def __init__(self, num_heads: int, max_distance: int = 16):
        super().__init__()
        self.num_heads = checks.integer("num_heads", num_heads, minimum=1)
        self.max_distance = checks.integer("max_distance", max_distance, minimum=1)
        self.weight = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(
        self, query_len: int, key_len: int | None = None, *, offset: int | None = None
    ) -> Tensor:
        """Return the bias (H, L, S); the arguments are those of `relative_positions`."""
        device = self.weight.device
        ahead = relative_positions(query_len, key_len, offset=offset, device=device)  # (L, S)
        clipped = ahead.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return self.weight[:, clipped]  # (H, L, S)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, max_distance={self.max_distance}"


class BucketedRelativeBias(nn.Module):
    """A learned bias for each head and bucket of distances, as in T5. Gives (H, L, S).

    Near distances have a bucket each, farther ones share buckets that grow with the logarithm of
    the distance up to `max_distance`, the rest share the last (Raffel et al. 2020, section 2.1).
    `bidirectional=False` puts every key ahead into bucket 0, for causal use. Starts at zero.

    Raises:
        ValueError: a size is too small, or `num_buckets` is odd and `bidirectional` True; in the
            call, as `relative_positions`.
        TypeError: an argument is not of the type named.

    Example:
        >>> from attnkit.positions import BucketedRelativeBias
        >>> BucketedRelativeBias(num_heads=2, num_buckets=8, max_distance=20)(4).shape
        torch.Size([2, 4, 4])
    """

    def __init__(
        self,
        num_heads: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
    ):
        super().__init__()
        self.num_heads = checks.integer("num_heads", num_heads, minimum=1)
        self.bidirectional = checks.flag("bidirectional", bidirectional)
        self.num_buckets = checks.integer("num_buckets", num_buckets, minimum=4)
        if bidirectional:
            even("num_buckets", num_buckets)
        one_way = num_buckets // 2 if bidirectional else num_buckets
        self.max_distance = checks.integer("max_distance", max_distance, minimum=one_way)
        self.weight = nn.Parameter(torch.zeros(num_heads, num_buckets))

    def forward(
        self, query_len: int, key_len: int | None = None, *, offset: int | None = None
    ) -> Tensor:
        """Return the bias (H, L, S); the arguments are those of `relative_positions`."""
        device = self.weight.device
        ahead = relative_positions(query_len, key_len, offset=offset, device=device)  # (L, S)
        return self.weight[:, self.bucket(ahead)]  # (H, L, S)

    def bucket(self, ahead: Tensor) -> Tensor:
        """Number of the bucket of each relative position; an integer tensor of the same shape."""
        one_way = self.num_buckets // 2 if self.bidirectional else self.num_buckets
        side = (ahead > 0) * one_way if self.bidirectional else torch.zeros_like(ahead)
        distance = ahead.abs() if self.bidirectional else (-ahead).clamp(min=0)
        exact = one_way // 2
        growth = (distance.clamp(min=1) / exact).log() / math.log(self.max_distance / exact)
        shared = (exact + (growth * (one_way - exact)).long()).clamp(max=one_way - 1)
        return side + torch.where(distance < exact, distance, shared)

    def extra_repr(self) -> str:
        return (
            f"num_heads={self.num_heads}, num_buckets={self.num_buckets}, "
            f"max_distance={self.max_distance}, bidirectional={self.bidirectional}"
        )
