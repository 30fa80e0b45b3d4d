"""The mechanisms that the contract test runs through. A new one joins by an entry here.

An entry builds a module with `forward(query, key, value, *, mask, need_weights) -> Attended` and
names a `peer`: the same mathematics in PyTorch's own words, from the same parameters, in the
dtype of its inputs, on masks without empty rows. The peer is the oracle in float64, and the
measure of what error a dtype allows below that.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

import attnkit


class Mechanism(NamedTuple):
    name: str
    build: Callable[[], nn.Module]
    peer: Callable[[nn.Module, Tensor, Tensor, Tensor, Tensor | None], Tensor]
    query_dim: int = 8
    key_dim: int = 8
    value_dim: int = 8

    def __repr__(self) -> str:
        return self.name


class Function(nn.Module):
    """A function of attnkit dressed as a module, with the dropout and bias of the case at hand."""

    def __init__(self, function: Callable[..., attnkit.Attended], **options: object):
        super().__init__()
        self.function, self.options = function, options

    def forward(self, query, key=None, value=None, *, mask=None, need_weights=False):
        key = query if key is None else key
        value = key if value is None else value
        return self.function(
            query, key, value, mask=mask, need_weights=need_weights, **self.options
        )


def _sdpa_peer(module, query, key, value, mask):
    scale = module.options.get("scale")
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def _explicit_only(query, key, value, *, mask, need_weights, **options):
    """The form with weights, asked for always: both forms then stand in the contract test."""
    output, weights = attnkit.scaled_dot_product_attention(
        query, key, value, mask=mask, need_weights=True, **options
    )
    return attnkit.Attended(output, weights if need_weights else None)


MECHANISMS = [
    Mechanism(
        "sdpa", lambda: Function(attnkit.scaled_dot_product_attention), _sdpa_peer, value_dim=5
    ),
    Mechanism("sdpa-explicit", lambda: Function(_explicit_only), _sdpa_peer, value_dim=5),
    Mechanism(
        "sdpa-scale",
        lambda: Function(attnkit.scaled_dot_product_attention, scale=1 / math.sqrt(3)),
        _sdpa_peer,
    ),
]
