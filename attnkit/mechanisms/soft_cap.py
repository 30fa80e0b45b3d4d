"""Multi-head attention whose scores are capped, as in Gemma 2 (2024)."""

from typing import Any

from torch import Tensor

from attnkit.call import Call
from attnkit.guard import checks
from attnkit.guard.dtypes import without_autocast
from attnkit.mechanisms.multihead import MultiHeadAttention


class SoftCapAttention(MultiHeadAttention):
    r"""Multi-head attention in which no score is larger than a cap.

    .. math:: w_{ij} = \mathrm{softmax}_j\left(c \tanh \frac{s_{ij}}{c}\right)

    Scores well below the cap stay what they are, and one far above it becomes :math:`c`, so that no
    weight can outgrow another by more than a factor of :math:`e^{2c}` (Gemma Team 2024, "Gemma 2",
    with c = 50). A bias is part of the score that is capped.

    Arguments, shapes, calls and errors are those of `MultiHeadAttention`, and `cap`, above 0.
    All weights are in memory, whether they are asked for or not.

    Example:
        >>> import torch
        >>> from attnkit.mechanisms import SoftCapAttention
        >>> attention = SoftCapAttention(embed_dim=8, num_heads=2, cap=0.1)
        >>> _, weights = attention(100 * torch.randn(1, 5, 8), need_weights=True)
        >>> bool(weights.max() < 0.25)  # e^0.2 / (e^0.2 + 4)
        True
    """

    def __init__(self, embed_dim: int, num_heads: int, *, cap: float = 50.0, **options: Any):
        super().__init__(embed_dim, num_heads, **options)
        self.cap = checks.positive("cap", cap)

    def attend(self, call: Call, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """The softmax over capped scores."""
        with without_autocast(call.query):
            scores = self.cap * (call.dot_scores(self.scale) / self.cap).tanh()  # (..., H, L, S)
            weights = call.softmax(scores)
        output, weights = call.spread(weights, self.dropout * self.training, lambda: scores)
        return output, weights if need_weights else None
