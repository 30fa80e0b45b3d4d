"""Positions that turn queries and keys; and the angles of the waves, which `sinusoidal` adds."""

import torch
from torch import Tensor, nn

from attnkit.guard import checks
from attnkit.guard.dtypes import widen

_LAYOUTS = ("interleaved", "half")


def rotary(
    x: Tensor, offset: int = 0, *, base: float = 10000.0, layout: str = "interleaved"
) -> Tensor:
    r"""Turn each pair of features of x by an angle that grows with the position.

    .. math::

        (x_a, x_b) \mapsto
        (x_a \cos\theta - x_b \sin\theta,\; x_a \sin\theta + x_b \cos\theta)
        \qquad \theta = p / \mathrm{base}^{2i / D}

    for the pair i of the vector at position p, so that :math:`q_i^\top k_j` depends on their
    content and on i - j alone, and no norm changes (Su et al. 2021, equation 34).

    Args:
        x: queries or keys (..., L, D), D even; with heads (B, H, L, D). Not the values.
        offset: position of the first vector, as when a cache holds those before it.
        base: sets the slowest turn.
        layout: which features form pair i. "interleaved": 2i and 2i + 1 (the paper; GPT-J).
            "half": i and i + D/2 (GPT-NeoX, Llama as Hugging Face stores it). The two differ by a
            permutation of the features, so weights trained with one do not fit the other.

    Returns:
        A tensor of the shape and dtype of `x`; the turning itself runs in at least float32.

    Raises:
        TypeError: `x` is not a floating tensor.
        ValueError: D is odd, `offset` is negative, `layout` is unknown.

    Example:
        >>> import torch
        >>> from attnkit.positions import rotary
        >>> rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    checks.floating("x", x)
    checks.dims("x", x, 2, "(..., L, D)")
    checks.choice("layout", layout, _LAYOUTS)
    checks.integer("offset", offset, minimum=0)
    size = even("x's last dimension", x.shape[-1])
    angles = angles_of(x.shape[-2], size, offset, base, x.device)  # (L, D / 2)
    (wide,) = widen(x)
    cos, sin = angles.cos().to(wide.dtype), angles.sin().to(wide.dtype)
    if layout == "interleaved":
        evens, odds = wide[..., 0::2], wide[..., 1::2]  # (..., L, D / 2)
        turned = torch.stack((evens * cos - odds * sin, evens * sin + odds * cos), -1).flatten(-2)
    else:
        left, right = wide.chunk(2, dim=-1)  # (..., L, D / 2)
        turned = torch.cat((left * cos - right * sin, left * sin + right * cos), -1)
    return turned.to(x.dtype)  # (..., L, D)


class Rotary(nn.Module):
    """`rotary` as a module, for the calls of a `MultiHeadAttention`: `attention(x, rotate=...)`.

    (..., L, head_dim) to the same shape (Su et al. 2021). No parameters.

    Raises:
        ValueError: `head_dim` is odd, `layout` is unknown; in the call, when `x` has not
            `head_dim` features.
        TypeError: in the call, when `x` is not a floating tensor.

    Example:
        >>> import torch
        >>> from attnkit.positions import Rotary
        >>> x = torch.ones(1, 2, 5, 8)
        >>> torch.allclose(Rotary(8)(x).norm(dim=-1), x.norm(dim=-1))
        True
    """

    def __init__(self, head_dim: int, *, base: float = 10000.0, layout: str = "interleaved"):
        super().__init__()
        self.head_dim = even("head_dim", head_dim)
        self.base = checks.positive("base", base)
        self.layout = checks.choice("layout", layout, _LAYOUTS)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Turn x (..., L, head_dim), whose first vector stands at position `offset`."""
        features("x", x, self.head_dim, "head_dim")
        return rotary(x, offset, base=self.base, layout=self.layout)

    def extra_repr(self) -> str:
        return f"head_dim={self.head_dim}, base={self.base}, layout={self.layout!r}"


def angles_of(
    length: int, size: int, offset: int, base: float, device: torch.device | str | None
) -> Tensor:
    """Angle of each pair of features at positions offset, offset + 1, ...: (length, size / 2)."""
    # In float32 the angle at position 100 000 would already be wrong in its third decimal.
    checks.positive("base", base)
    on_mps = device is not None and torch.device(device).type == "mps"
    dtype = torch.float32 if on_mps else torch.float64
    indices = torch.arange(offset, offset + length, device=device, dtype=dtype)  # (L,)
    turns = base ** -(torch.arange(0, size, 2, device=device, dtype=dtype) / size)  # (size / 2,)
    return indices[:, None] * turns  # (L, size / 2)


def even(name: str, size: int) -> int:
    """Check that `size` is an even number of at least 2."""
    if checks.integer(name, size, minimum=2) % 2:
        checks.fail(name, "an even number, for features come in pairs", str(size))
    return size


def features(name: str, x: Tensor, size: int, why: str) -> None:
    """Check that `x` is floating and has `size` features."""
    checks.floating(name, x)
    checks.dims(name, x, 2, f"(..., L, {why})")
    checks.size(name, x, -1, size, why)
