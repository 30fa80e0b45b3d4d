"""Multi-head attention with a learned sink, as in gpt-oss (2025)."""

from typing import Any

import torch
from torch import Tensor, nn

from attnkit.call import Call
from attnkit.guard.dtypes import without_autocast
from attnkit.mechanisms.multihead import MultiHeadAttention


class SinkAttention(MultiHeadAttention):
    r"""Multi-head attention in which a head may look at nothing.

    .. math:: w_{ij} = \frac{e^{s_{ij}}}{e^{b_h} + \sum_k e^{s_{ik}}}

    A softmax has to spend all of its weight, and trained models spend what they do not need on the
    first token (Xiao et al. 2024). Here each head has one more score, the learned :math:`b_h`, to
    whose share of a row no value belongs, as in gpt-oss (OpenAI 2025); with :math:`b_h = 0` it is
    the "softmax off by one". A row of weights sums to less than 1: the output is that of a
    `MultiHeadAttention` times :math:`\sigma(\mathrm{logsumexp}_j s_{ij} - b_h)`.

    Arguments, shapes, calls and errors are those of `MultiHeadAttention`; `sink` (H,) begins at 0.
    All weights are in memory, whether they are asked for or not.

    Example:
        >>> import torch
        >>> from attnkit.mechanisms import SinkAttention
        >>> attention = SinkAttention(embed_dim=8, num_heads=2)
        >>> _, weights = attention(torch.randn(1, 5, 8), need_weights=True)
        >>> bool((weights.sum(-1) < 1).all())
        True
    """

    def __init__(self, embed_dim: int, num_heads: int, **options: Any):
        super().__init__(embed_dim, num_heads, **options)
        self.sink = nn.Parameter(torch.zeros(num_heads))

    def attend(self, call: Call, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """The softmax over the keys and the sink, whose share is then left out."""
        with without_autocast(call.query):
            scores = call.dot_scores(self.scale)  # (..., H, L, S)
            seen = scores if call.mask is None else scores.masked_fill(~call.mask, -torch.inf)
            sink = self.sink.to(scores.dtype)[:, None, None].expand(*seen.shape[:-1], 1)
            weights = torch.cat((seen, sink), -1).softmax(-1)[..., :-1]
        output, weights = call.spread(weights, self.dropout * self.training, lambda: scores)
        return output, weights if need_weights else None
