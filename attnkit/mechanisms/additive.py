"""Additive attention (Bahdanau, Cho and Bengio 2015)."""

import math

import torch
from torch import Tensor, nn

from attnkit.call import Call
from attnkit.efficient.tiled_additive import attend_in_tiles, worth_tiling
from attnkit.guard import checks
from attnkit.mechanisms.scored import ScoredAttention
from attnkit.scores import pair_scores


class AdditiveAttention(ScoredAttention):
    r"""Score a query against a key with a small network of one hidden layer.

    .. math:: \mathrm{score}(q, k) = v^\top \tanh(W_q\, q + W_k\, k + b)

    Bahdanau, Cho and Bengio (2015), "Neural machine translation by jointly learning to align and
    translate", equation 6 and appendix A.1.2. There the query is the previous decoder state
    :math:`s_{i-1}`, the keys are the encoder's annotations :math:`h_j`, and :math:`W_q`,
    :math:`W_k` are called :math:`W_a`, :math:`U_a`. One matrix :math:`W = [W_q; W_k]` on the
    concatenation :math:`[q; k]` gives the same score; as two projections, each query and each key
    is projected once, rather than once for every pair.

    Query, key and value may all have different sizes.

    Args:
        query_dim: features of a query, at least 1.
        key_dim: features of a key, at least 1.
        hidden_dim: hidden features A of the score, at least 1.

    Shapes: query (..., L, query_dim), key (..., S, key_dim), value (..., S, Ev) -> output
    (..., L, Ev), weights (..., L, S). See `forward`.

    Raises:
        TypeError: a size is not an int.
        ValueError: a size is below 1.

    Example:
        >>> import torch
        >>> from attnkit import AdditiveAttention, masks
        >>> _ = torch.manual_seed(0)
        >>> attention = AdditiveAttention(query_dim=4, key_dim=6, hidden_dim=8)
        >>> decoder_state, encoder_states = torch.randn(2, 1, 4), torch.randn(2, 5, 6)
        >>> mask = masks.padding([5, 3])
        >>> output, weights = attention(decoder_state, encoder_states, mask=mask, need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([2, 1, 6]), torch.Size([2, 1, 5]))
        >>> weights[1, 0, 3:]
        tensor([0., 0.], grad_fn=<SliceBackward0>)
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int):
        super().__init__(query_dim, key_dim)
        self.hidden_dim = checks.integer("hidden_dim", hidden_dim, minimum=1)
        self.query_proj = nn.Linear(query_dim, hidden_dim)
        # One b is enough: a second one would only be added to the first.
        self.key_proj = nn.Linear(key_dim, hidden_dim, bias=False)
        self.v = nn.Parameter(torch.empty(hidden_dim))
        bound = 1 / math.sqrt(hidden_dim)
        nn.init.uniform_(self.v, -bound, bound)

    def project_query(self, query: Tensor) -> Tensor:
        """W_q q + b: (..., L, query_dim) -> (..., L, A)."""
        return self.query_proj(query)

    def project_key(self, key: Tensor) -> Tensor:
        """W_k k: (..., S, key_dim) -> (..., S, A). Pass it on as `projected_key=` to reuse it."""
        return self.key_proj(key)

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """v^T tanh(query + key) of what the two projections gave -> (..., L, S)."""
        return pair_scores(query, key, self.v.to(query.dtype))

    def attend(self, call: Call, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """As the base does, or tile by tile where that is faster."""
        if worth_tiling(call.query, call.key):
            return attend_in_tiles(call, self.v, need_weights)
        return super().attend(call, need_weights)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, hidden_dim={self.hidden_dim}"
