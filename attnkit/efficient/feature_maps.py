"""Feature maps of linear attention: what takes the place of the exponential."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnkit import checks

FeatureMap = Callable[[Tensor], Tensor]


def elu_features(x: Tensor) -> Tensor:
    """The feature map `elu(x) + 1`, positive everywhere, with the shape of `x`.

    Katharopoulos et al. (2020), equation 7.

    Example:
        >>> elu_features(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3679, 1.0000, 3.0000])
    """
    return F.elu(x) + 1


def relu_features(x: Tensor) -> Tensor:
    """The feature map `max(x, 0)`. A query that matches no key gives 0. Same shape as `x`.

    Example:
        >>> relu_features(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    return F.relu(x)


class RandomFeatures:
    r"""Positive random features, whose product is an estimate of :math:`e^{q \cdot k/\sqrt{E}}`.

    .. math:: \phi(x) = e^{w x' - |x'|^2 / 2} / \sqrt{F}, \qquad x' = x / E^{1/4}

    Choromanski et al. (2021), "Rethinking attention with Performers", lemma 1 and section 2.4, with
    orthogonal w. The estimate has no bias, and a variance that falls as features are added.

    Args:
        dim: E, features of queries and keys.
        num_features: F.
        generator: source of w; PyTorch's own when left out.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> phi, q, k = RandomFeatures(4, 20_000), 0.3 * torch.randn(1, 4), 0.3 * torch.randn(1, 4)
        >>> estimate, exact = phi(q) @ phi(k).T, (q @ k.T / 2).exp()
        >>> bool((estimate / exact - 1).abs() < 0.05)
        True
    """

    def __init__(self, dim: int, num_features: int, *, generator: torch.Generator | None = None):
        self.dim = checks.integer("dim", dim, minimum=1)
        checks.integer("num_features", num_features, minimum=1)
        blocks = -(-num_features // dim)
        gaussian = torch.randn(blocks, dim, dim, generator=generator, dtype=torch.float64)
        lengths = torch.randn(blocks, dim, dim, generator=generator, dtype=torch.float64)
        rotation, triangle = torch.linalg.qr(gaussian)
        # QR leaves the signs to the algorithm; settled, every direction is equally likely.
        rotation = rotation * triangle.diagonal(dim1=-2, dim2=-1).sign()[:, None]
        rows = rotation.mT * lengths.norm(dim=-1, keepdim=True)  # (blocks, E, E)
        self.weight = rows.flatten(0, 1)[:num_features]  # (F, E)

    def __call__(self, x: Tensor) -> Tensor:
        checks.size("x", x, -1, self.dim, "dim of these features")
        x = x / self.dim**0.25
        projected = x @ self.weight.to(x).T  # (..., F)
        return (projected - x.square().sum(-1, keepdim=True) / 2).exp() / math.sqrt(
            len(self.weight)
        )
