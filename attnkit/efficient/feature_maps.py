"""Feature maps of linear attention: what takes the place of the exponential."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

FeatureMap = Callable[[Tensor], Tensor]


def elu_features(x: Tensor) -> Tensor:
    """The feature map `elu(x) + 1`, positive everywhere, with the shape of `x`.

    Katharopoulos et al. (2020), equation 7.

    Example:
        >>> import torch
        >>> elu_features(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.3679, 1.0000, 3.0000])
    """
    return F.elu(x) + 1
