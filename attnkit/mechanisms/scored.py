"""The base class of every mechanism that is a score, a masked softmax and an average."""

from torch import Tensor, nn

from attnkit.call import Attended, Call, check_module, project
from attnkit.guard import checks
from attnkit.guard.dtypes import widen, without_autocast


class ScoredAttention(nn.Module):
    """Attention that is a score, a masked softmax and a weighted average of the values.

    A subclass gives `project_query` and `project_key`, the learned and affine parts of its score,
    which cost one pass over queries and one over keys, and `scores`, which pairs their results.

    Example:
        >>> import torch
        >>> from attnkit.mechanisms import ScoredAttention
        >>> class DistanceAttention(ScoredAttention):
        ...     def scores(self, query, key):
        ...         return -torch.cdist(query, key)
        >>> x = torch.tensor([[[0.0], [1.0], [5.0]]])
        >>> DistanceAttention(1, 1)(x, need_weights=True).weights[0, 0]
        tensor([0.7275, 0.2676, 0.0049])
    """

    def __init__(self, query_dim: int, key_dim: int):
        super().__init__()
        self.query_dim = checks.integer("query_dim", query_dim, minimum=1)
        self.key_dim = checks.integer("key_dim", key_dim, minimum=1)

    def project_query(self, query: Tensor) -> Tensor:
        """Map queries (..., L, query_dim) to what `scores` takes. The identity by default."""
        return query

    def project_key(self, key: Tensor) -> Tensor:
        """Map keys (..., S, key_dim) to what `scores` takes. The identity by default.

        A decoder that asks the same keys many times calls this once and passes the result to
        every call as `projected_key=`.
        """
        return key

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Score projected queries against projected keys -> (..., L, S), before the mask."""
        raise NotImplementedError(f"{type(self).__name__} must define scores(query, key)")

    def attend(self, call: Call, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        """Output and weights of a call that was checked and projected, in at least float32.

        A subclass may return None for the weights when `need_weights` is False.
        """
        query, key, value = widen(call.query, call.key, call.value)
        with without_autocast(value):
            scores = self.scores(query, key)  # (..., L, S)
            pairs = (query.shape[-2], key.shape[-2])
            if scores.dim() < max(query.dim(), key.dim()) or scores.shape[-2:] != pairs:
                # A subclass's, which would broadcast: a wrong number without an error.
                expected = f"shape (..., L, S) = (..., {pairs[0]}, {pairs[1]})"
                checks.fail("scores", expected, f"shape {checks.shape(scores)}")
            returned = weights = call.softmax(scores)
            if weights.dtype != call.dtype:
                returned, weights = call.shown(weights)
            output = weights @ value  # (..., L, Ev)
        call.record(output, weights, lambda: self.scores(query, key))
        return output, returned

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        projected_key: Tensor | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Attend from every query to the keys that the mask lets through.

        Args:
            query: (..., L, query_dim). One query for each sequence is L = 1, (B, 1, query_dim).
            key: (..., S, key_dim); `query` when omitted (self-attention).
            value: (..., S, Ev), any Ev; `key` when omitted.
            mask: boolean, broadcastable to (..., L, S); True where the query may attend. A fully
                masked query gives weights 0 and output 0. Masked keys and values never
                reach the output or a gradient, even when they hold NaN or Inf; a query that sees
                one of those gives NaN.
            projected_key: `project_key(key)` from an earlier call with the same keys.
            need_weights: return the weights (..., L, S). The output is the same either way.

        Returns:
            `Attended(output, weights)`: output (..., L, Ev), weights or None.

        Raises:
            TypeError: an input is not a floating tensor, dtypes differ, or `mask` is not boolean.
            ValueError: shapes, sizes or devices do not fit.
        """
        dims = {"query_dim": self.query_dim, "key_dim": self.key_dim}
        key, value, target = check_module(self, query, key, value, need_weights, **dims)
        if mask is not None:
            mask = checks.mask(mask, target, device=query.device)
        if projected_key is None:
            projected_key = project(self.project_key, key, mask)
        else:
            _check_projected(projected_key, key)
        query = project(self.project_query, query, mask)
        call = Call(query, projected_key, value, mask, lead=target[:-2])
        output, weights = self.attend(call, need_weights)
        return call.finish(output, weights if need_weights else None)

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, key_dim={self.key_dim}"


def _check_projected(projected_key: Tensor, key: Tensor) -> None:
    checks.floating("projected_key", projected_key)
    checks.dims("projected_key", projected_key, 2, "(..., S, features)")
    if projected_key.shape[:-1] != key.shape[:-1]:
        expected = f"shape {(*key.shape[:-1], '*')}, one row for each key"
        checks.fail("projected_key", expected, f"shape {checks.shape(projected_key)}")
