"""What the attention modules share: checks of a call, setting aside what is not finite, and the
base class of every mechanism that is a score followed by a masked softmax.
"""

import math

import torch
from torch import Tensor, nn

from attnkit import checks
from attnkit.functional import Attended, attend
from attnkit.numerics import as_autocast, set_aside, widen, without_autocast


class ScoredAttention(nn.Module):
    """Attention that is a score, a masked softmax and a weighted average of the values.

    A subclass gives `project_query` and `project_key`, the learned and affine parts of its score,
    which cost one pass over queries and one over keys, and `scores`, which pairs their results.
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

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> Attended:
        """Scores, softmax and average of projected queries and keys, in at least float32.

        The weights come back whether needed or not; a subclass that can do without them may.
        """
        (value,) = as_autocast(value)
        dtype = value.dtype
        query, key, value = widen(query, key, value)
        with without_autocast(value):
            output, weights = attend(self.scores(query, key), value, mask=mask)
        return Attended(output.to(dtype), weights.to(dtype))

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
            key: (..., S, key_dim); `query` when left out (self-attention).
            value: (..., S, Ev), any Ev; `key` when left out.
            mask: boolean, broadcastable to (..., L, S); True where the query may attend. A query
                that may see nothing gives weights 0 and output 0. Masked keys and values never
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
        key, value = default_key_value(query, key, value, self.query_dim, self.key_dim)
        target = check_inputs(self, query, key, value, self.query_dim, self.key_dim)
        checks.flag("need_weights", need_weights)
        if mask is not None:
            checks.mask(mask, target, device=query.device)
        if projected_key is not None:
            _check_projected(projected_key, key)
            key = projected_key
        query, key, value, spoiled = set_aside(query, key, value, mask)
        key = key if projected_key is not None else self.project_key(key)
        attended = self.attend(self.project_query(query), key, value, mask, need_weights)
        return spoil(attended, spoiled, mask, need_weights)

    def extra_repr(self) -> str:
        return f"query_dim={self.query_dim}, key_dim={self.key_dim}"


def default_key_value(
    query: Tensor, key: Tensor | None, value: Tensor | None, query_dim: int, key_dim: int
) -> tuple[Tensor, Tensor]:
    """Let key default to query and value to key.

    Raises:
        TypeError: `key` is left out where a query cannot be a key.
    """
    if key is None and query_dim != key_dim:
        expected = f"a tensor, since key_dim ({key_dim}) is not query_dim ({query_dim})"
        checks.fail("key", expected, "None", TypeError)
    key = query if key is None else key
    return key, key if value is None else value


def check_inputs(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, query_dim: int, key_dim: int
) -> tuple[int, ...]:
    """Check the inputs against each other and the module; return (..., L, S).

    All three have the same number of dimensions. Otherwise a query (B, E) that lacks its length
    would pass for B queries, and be asked of every sequence.
    """
    checks.query_key_value(query, key, value)
    checks.size("query", query, -1, query_dim, "query_dim")
    checks.size("key", key, -1, key_dim, "key_dim")
    for name, item in {"query": query, "value": value}.items():
        if item.dim() != key.dim():
            expected = f"{key.dim()} dimensions, as key {checks.shape(key)} has"
            checks.fail(name, expected, f"shape {checks.shape(item)}")
    lead = checks.leading_dims(query=query, key=key, value=value)
    parameter = next(module.parameters(), None)
    if parameter is not None:
        _check_parameter(query, parameter)
    return (*lead, query.shape[-2], key.shape[-2])


def spoil(
    attended: Attended, spoiled: Tensor | None, mask: Tensor | None, need_weights: bool
) -> Attended:
    """Write NaN where `set_aside` hid something that a query did see; drop unwanted weights.

    `mask` is the one that the weights were made with; it may have a dimension for heads.
    """
    output, weights = attended
    weights = weights if need_weights else None
    if spoiled is None:
        return Attended(output, weights)
    if weights is not None:
        rows = spoiled if weights.dim() == output.dim() else spoiled[..., None, :, :]
        weights = weights.masked_fill(rows & mask, math.nan)
    return Attended(output.masked_fill(spoiled, math.nan), weights)


def _check_parameter(query: Tensor, parameter: Tensor) -> None:
    if query.device != parameter.device:
        expected = f"device {parameter.device} (that of the module)"
        checks.fail("query", expected, f"device {query.device}")
    if query.dtype != parameter.dtype and not torch.is_autocast_enabled(query.device.type):
        expected = f"dtype {parameter.dtype} (that of the module)"
        checks.fail("query", expected, str(query.dtype), TypeError)


def _check_projected(projected_key: Tensor, key: Tensor) -> None:
    checks.floating("projected_key", projected_key)
    checks.dims("projected_key", projected_key, 2, "(..., S, features)")
    if projected_key.shape[:-1] != key.shape[:-1]:
        expected = f"shape {(*key.shape[:-1], '*')}, one row for each key"
        checks.fail("projected_key", expected, f"shape {checks.shape(projected_key)}")
