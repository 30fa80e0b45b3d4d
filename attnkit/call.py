"""One attention call: its checks, and the way back for what is not finite."""

import math

import torch
from torch import Tensor, nn

from attnkit import checks
from attnkit.functional import Attended


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
