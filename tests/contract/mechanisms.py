"""The mechanisms that the contract test runs through. A new one joins by an entry here.

An entry builds a module with `forward(query, key, value, *, mask, need_weights) -> Attended` and
names a `peer`: the same mathematics in PyTorch's own words, from the same parameters, in the
dtype of its inputs, on masks without empty rows. The peer is the oracle in float64, and the
measure of what error a dtype allows below that.
"""

import math
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attnkit
from attnkit import efficient
from attnkit.efficient import flash, tiled_additive, window


class Mechanism(NamedTuple):
    name: str
    build: Callable[[], nn.Module]
    peer: Callable[[nn.Module, Tensor, Tensor, Tensor, Tensor | None], Tensor]
    query_dim: int = 8
    key_dim: int = 8
    value_dim: int = 8
    sums_to_one: bool = True

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
    scale = getattr(module, "options", {}).get("scale")
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def _explicit_only(query, key, value, *, mask, need_weights, **options):
    """The form with weights, asked for always: both forms then stand in the contract test."""
    output, weights = attnkit.scaled_dot_product_attention(
        query, key, value, mask=mask, need_weights=True, **options
    )
    return attnkit.Attended(output, weights if need_weights else None)


@contextmanager
def small_tiles():
    """Make every tiled form work in many small tiles, however small the problem."""
    with (
        patch.multiple(tiled_additive, WORTH_TILING=0, FEW_PAIRS=0, TILE=64, BAND=2, ROWS=2),
        patch.multiple(flash, ROWS=2, KEYS=3, SHORT=0),
        patch.multiple(window, MIN_ROWS=2, MAX_ROWS=2, SHORT=0),
    ):
        yield


class InTiles(nn.Module):
    """A mechanism made to work in many small tiles."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, *inputs, **options):
        with small_tiles():
            return self.module(*inputs, **options)


def _linear_peer(module, query, key, value, mask):
    scores = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    scores = scores if mask is None else scores.masked_fill(~mask, 0.0)
    return F.normalize(scores, p=1.0, dim=-1) @ value


def _average(scores, value, mask):
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


def _pairs(query, key):
    """Every query beside every key, concatenated: (B, L, S, Eq + Ek)."""
    L, S = query.shape[-2], key.shape[-2]
    queries = query[..., :, None, :].expand(*query.shape[:-1], S, query.shape[-1])
    keys = key[..., None, :, :].expand(*key.shape[:-2], L, *key.shape[-2:])
    return torch.cat([queries, keys], dim=-1)


def _additive_peer(module, query, key, value, mask):
    weight = torch.cat([module.query_proj.weight, module.key_proj.weight], dim=1)
    hidden = F.linear(_pairs(query, key), weight, module.query_proj.bias).tanh()
    return _average(hidden @ module.v, value, mask)


def _dot_peer(module, query, key, value, mask):
    return _average(query @ key.mT, value, mask)


def _general_peer(module, query, key, value, mask):
    return _average(query @ (module.weight @ key.mT), value, mask)


def _concat_peer(module, query, key, value, mask):
    hidden = (_pairs(query, key) @ module.weight.T).tanh()
    return _average(hidden @ module.v, value, mask)


def _projected_peer(module, query, key, value, mask):
    return F.scaled_dot_product_attention(
        module.query_proj(query), module.key_proj(key), value, attn_mask=mask
    )


def _self_peer(module, query, key, value, mask):
    return F.scaled_dot_product_attention(
        module.query_proj(query), module.key_proj(key), module.value_proj(value), attn_mask=mask
    )


def _heads(module, *inputs):
    """Queries, keys and values (B, heads, length, D), each as its own projection gives it."""
    if module.packed:
        packed = module.in_proj.weight, module.in_proj.bias
        parts = zip(*(x.split(module.sizes) for x in packed), strict=True)
    else:
        layers = module.query_proj, module.key_proj, module.value_proj
        parts = ((layer.weight, layer.bias) for layer in layers)
    for x, (weight, bias) in zip(inputs, parts, strict=True):
        yield F.linear(x, weight, bias).unflatten(-1, (-1, module.head_dim)).transpose(1, 2)


def _by_kernel(module, query, key, value, mask):
    """PyTorch's kernel on heads, and the last projection on what it gives."""
    mask = None if mask is None else mask.expand(query.shape[0], -1, -1)[:, None]
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    return module.out_proj(output.transpose(1, 2).flatten(-2))


def _multihead_peer(module, query, key, value, mask):
    return _by_kernel(module, *_heads(module, query, key, value), mask)


def _normed_peer(module, query, key, value, mask):
    """PyTorch's kernel over queries and keys divided by their root mean square."""
    query, key, value = _heads(module, query, key, value)
    query, key = (
        norm.weight * x / (x.square().mean(-1, keepdim=True) + norm.eps).sqrt()
        for norm, x in ((module.query_norm, query), (module.key_norm, key))
    )
    return _by_kernel(module, query, key, value, mask)


def _sink_peer(module, query, key, value, mask):
    """PyTorch's kernel with one more key, of zeros and with a value of zeros, and a bias for it."""
    query, key, value = _heads(module, query, key, value)
    key, value = (F.pad(x, (0, 0, 0, 1)) for x in (key, value))
    bias = query.new_zeros(query.shape[0], 1, query.shape[2], key.shape[2] - 1)
    if mask is not None:
        bias = bias.masked_fill(~mask.expand(query.shape[0], -1, -1)[:, None], -math.inf)
    bias = bias.expand(-1, module.num_heads, -1, -1)
    sink = module.sink.to(bias.dtype)[:, None, None].expand(*bias.shape[:-1], 1)
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=torch.cat((bias, sink), -1), enable_gqa=True
    )
    return module.out_proj(output.transpose(1, 2).flatten(-2))


def _soft_cap_peer(module, query, key, value, mask):
    query, key, value = _heads(module, query, key, value)
    key, value = (x.repeat_interleave(2, 1) for x in (key, value))
    scores = torch.tanh(query @ key.mT / math.sqrt(query.shape[-1]) / module.cap) * module.cap
    if mask is not None:
        mask = mask.expand(query.shape[0], -1, -1)[:, None]
    return module.out_proj(_average(scores, value, mask).transpose(1, 2).flatten(-2))


def _with_biases(module):
    """Give the biases, which start at 0, something to be wrong about."""
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return module


def _with_norms(module):
    for norm in (module.query_norm, module.key_norm):
        torch.nn.init.uniform_(norm.weight, 0.5, 2)
    return _with_biases(module)


def _with_sinks(module):
    torch.nn.init.uniform_(module.sink, -1, 1)
    return _with_biases(module)


MECHANISMS = [
    Mechanism("sdpa", lambda: Function(attnkit.scaled_dot_product_attention), _sdpa_peer,
              value_dim=5),
    Mechanism("sdpa-explicit", lambda: Function(_explicit_only), _sdpa_peer, value_dim=5),
    Mechanism("sdpa-scale",
              lambda: Function(attnkit.scaled_dot_product_attention, scale=1 / math.sqrt(3)),
              _sdpa_peer),
    Mechanism("additive", lambda: attnkit.AdditiveAttention(6, 8, 10), _additive_peer, query_dim=6),
    Mechanism("luong-dot", lambda: attnkit.LuongAttention(8, 8, score="dot"), _dot_peer,
              value_dim=5),
    Mechanism("luong-general", lambda: attnkit.LuongAttention(6, 8, score="general"), _general_peer,
              query_dim=6),
    Mechanism("luong-concat", lambda: attnkit.LuongAttention(6, 7, score="concat"), _concat_peer,
              query_dim=6, key_dim=7),
    Mechanism("additive-tiled", lambda: InTiles(attnkit.AdditiveAttention(6, 8, 10)),
              lambda module, *inputs: _additive_peer(module.module, *inputs), query_dim=6),
    Mechanism("luong-concat-tiled", lambda: InTiles(attnkit.LuongAttention(6, 7, score="concat")),
              lambda module, *inputs: _concat_peer(module.module, *inputs), query_dim=6, key_dim=7),
    Mechanism("flash", lambda: InTiles(Function(efficient.flash_attention)), _sdpa_peer,
              value_dim=5),
    Mechanism("wide-window",
              lambda: InTiles(Function(efficient.sliding_window_attention,
                                       window=99, causal=False, offset=0)),
              _sdpa_peer, value_dim=5),
    Mechanism("linear", lambda: Function(efficient.linear_attention), _linear_peer, value_dim=5),
    Mechanism("projected", lambda: attnkit.ProjectedAttention(8, 8, 6), _projected_peer),
    Mechanism("self", lambda: attnkit.SelfAttention(8, 6, bias=True), _self_peer),
    Mechanism("multihead", lambda: _with_biases(attnkit.MultiHeadAttention(8, 2)), _multihead_peer),
    Mechanism("multihead-kdim-vdim",
              lambda: _with_biases(attnkit.MultiHeadAttention(8, 4, kdim=6, vdim=5)),
              _multihead_peer, key_dim=6, value_dim=5),
    Mechanism("multihead-grouped",
              lambda: _with_biases(attnkit.MultiHeadAttention(8, 4, num_kv_heads=2)),
              _multihead_peer),
    Mechanism("multihead-multiquery",
              lambda: _with_biases(attnkit.MultiHeadAttention(8, 4, num_kv_heads=1)),
              _multihead_peer),
    Mechanism("multihead-normed",
              lambda: _with_norms(attnkit.MultiHeadAttention(
                  8, 4, num_kv_heads=2, qk_norm=partial(nn.RMSNorm, eps=1e-3))),
              _normed_peer),
    Mechanism("sink", lambda: _with_sinks(attnkit.mechanisms.SinkAttention(8, 4, num_kv_heads=2)),
              _sink_peer, sums_to_one=False),
    Mechanism("soft-cap",
              lambda: _with_biases(attnkit.mechanisms.SoftCapAttention(
                  8, 4, num_kv_heads=2, cap=0.5)),
              _soft_cap_peer),
]  # fmt: skip
