"""What encoder and decoder layers share, and how they are copied from torch's."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnkit import checks
from attnkit.mechanisms.multihead import MultiHeadAttention

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class Layer(nn.Module):
    """What both layers share: the feed-forward network, and a residual with its norm."""

    def __init__(
        self,
        embed_dim: int,
        hidden_dim: int,
        *,
        norms: int,
        dropout: float,
        activation: str,
        norm_first: bool,
        bias: bool,
        norm_eps: float,
    ):
        super().__init__()
        checks.integer("hidden_dim", hidden_dim, minimum=1)
        self.norm_first = checks.flag("norm_first", norm_first)
        self.activation = checks.choice("activation", activation, tuple(ACTIVATIONS))
        checks.positive("norm_eps", norm_eps)
        self.linear1 = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.linear2 = nn.Linear(hidden_dim, embed_dim, bias=bias)
        for place in range(1, norms + 1):
            self.add_module(f"norm{place}", nn.LayerNorm(embed_dim, norm_eps, bias=bias))
        self.dropout = nn.Dropout(checks.probability("dropout", dropout))

    def before(self, norm: nn.LayerNorm, x: Tensor) -> Tensor:
        """What goes into a sublayer: x, normed when the layer is pre-norm."""
        return norm(x) if self.norm_first else x

    def join(self, norm: nn.LayerNorm, x: Tensor, new: Tensor) -> Tensor:
        """Add what a sublayer gave to the residual, and norm the sum when it is post-norm."""
        x = x + self.dropout(new)
        return x if self.norm_first else norm(x)

    def feed_forward(self, x: Tensor) -> Tensor:
        """W_2 f(W_1 x + b_1) + b_2, with dropout after f."""
        hidden = self.dropout(ACTIVATIONS[self.activation](self.linear1(x)))  # (B, L, hidden)
        return self.linear2(hidden)  # (B, L, E)

    def extra_repr(self) -> str:
        return f"activation={self.activation!r}, norm_first={self.norm_first}"


def copy_torch(
    cls: type,
    module: nn.Module,
    attentions: dict[str, nn.MultiheadAttention],
    norms: int,
) -> nn.Module:
    """Build `cls` with the sizes, weights, mode, dtype and device of one of torch's layers."""
    new = cls(
        module.linear1.in_features,
        module.self_attn.num_heads,
        module.linear1.out_features,
        dropout=module.dropout.p,
        activation=_activation_name(module.activation),
        norm_first=module.norm_first,
        bias=module.linear1.bias is not None,
        norm_eps=module.norm1.eps,
    )
    new.to(module.linear1.weight)
    for name, attention in attentions.items():
        setattr(new, name, MultiHeadAttention.from_torch(attention))
    for name in ("linear1", "linear2", *(f"norm{place}" for place in range(1, norms + 1))):
        getattr(new, name).load_state_dict(getattr(module, name).state_dict())
    return new.train(module.training)


def _activation_name(activation: Callable[[Tensor], Tensor]) -> str:
    if activation is F.relu or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is F.gelu or (
        isinstance(activation, nn.GELU) and activation.approximate == "none"
    ):
        return "gelu"
    checks.fail("module", "an activation of ReLU or exact GELU", repr(activation))


def last_norm(embed_dim: int, options: dict[str, Any]) -> nn.Module:
    """The norm that a stack of pre-norm layers ends in; nothing for post-norm ones."""
    if not options.get("norm_first", False):
        return nn.Identity()
    return nn.LayerNorm(embed_dim, options.get("norm_eps", 1e-5), bias=options.get("bias", True))


def stack(weights: list[Tensor | None]) -> Tensor | None:
    """Weights of N layers, (B, H, L, S) each, as (B, N, H, L, S)."""
    return None if weights[0] is None else torch.stack(weights, dim=1)  # (B, N, H, L, S)
