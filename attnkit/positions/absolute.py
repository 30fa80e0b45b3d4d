"""Positions that are added to the embeddings."""

import math

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnkit.positions.rotation import angles_of, even, features


def sinusoidal(
    length: int,
    embed_dim: int,
    *,
    offset: int = 0,
    base: float = 10000.0,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Sine and cosine waves of each position. Shape (length, embed_dim).

    .. math:: P_{p, 2i} = \sin(p / b^{2i / E}) \qquad P_{p, 2i + 1} = \cos(p / b^{2i / E})

    with positions p from `offset` on, base b and E = `embed_dim` (Vaswani et al. 2017, section
    3.5). The angles are computed in float64.

    Args:
        length: number of positions.
        embed_dim: features, an even number.
        offset: the first position.
        base: sets the longest wave, 2 pi base.
        device, dtype: of the result.

    Raises:
        ValueError: `embed_dim` is odd or below 2, `length` or `offset` is negative, `base` is not
            positive.
        TypeError: an argument is not of the type named.

    Example:
        >>> from attnkit.positions import sinusoidal
        >>> sinusoidal(2, 4)
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    checks.integer("length", length, minimum=0)
    checks.integer("offset", offset, minimum=0)
    angles = angles_of(length, even("embed_dim", embed_dim), offset, base, device)  # (L, E / 2)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (L, E)
    return waves.to(torch.get_default_dtype() if dtype is None else dtype)


class SinusoidalPositions(nn.Module):
    """Add `sinusoidal` positions to embeddings: x + PE. (..., L, embed_dim) to the same shape.

    Vaswani et al. (2017), section 3.5. No parameters, and no longest length.

    Raises:
        ValueError: as `sinusoidal`; in the call, when `x` has not `embed_dim` features.
        TypeError: in the call, when `x` is not a floating tensor.

    Example:
        >>> import torch
        >>> from attnkit.positions import SinusoidalPositions
        >>> SinusoidalPositions(4)(torch.zeros(1, 2, 4), offset=1)[0, 0]
        tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """

    def __init__(self, embed_dim: int, *, base: float = 10000.0):
        super().__init__()
        self.embed_dim = even("embed_dim", embed_dim)
        self.base = checks.positive("base", base)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add positions offset, offset + 1, ... to x (..., L, embed_dim)."""
        features("x", x, self.embed_dim, "embed_dim")
        return x + sinusoidal(
            x.shape[-2],
            self.embed_dim,
            offset=offset,
            base=self.base,
            device=x.device,
            dtype=x.dtype,
        )

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, base={self.base}"


class LearnedPositions(nn.Module):
    """Add a learned vector for each position: x + P. (..., L, embed_dim) to the same shape.

    Gehring et al. (2017), section 3.1. Positions from `max_len` on do not exist.

    Raises:
        ValueError: a size is below 1; in the call, when `x` has not `embed_dim` features or runs
            beyond `max_len`.
        TypeError: in the call, when `x` is not a floating tensor.

    Example:
        >>> import torch
        >>> from attnkit.positions import LearnedPositions
        >>> LearnedPositions(8, 4)(torch.zeros(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(self, max_len: int, embed_dim: int):
        super().__init__()
        self.max_len = checks.integer("max_len", max_len, minimum=1)
        self.embed_dim = checks.integer("embed_dim", embed_dim, minimum=1)
        self.weight = nn.Parameter(torch.randn(max_len, embed_dim) / math.sqrt(embed_dim))

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add positions offset, offset + 1, ... to x (..., L, embed_dim)."""
        features("x", x, self.embed_dim, "embed_dim")
        stop = checks.integer("offset", offset, minimum=0) + x.shape[-2]
        if stop > self.max_len:
            checks.fail("x", f"positions below {self.max_len} (max_len)", f"positions up to {stop}")
        return x + self.weight[offset:stop]

    def extra_repr(self) -> str:
        return f"max_len={self.max_len}, embed_dim={self.embed_dim}"
