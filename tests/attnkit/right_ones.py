"""Attentions that are right, drawn at random, for the checks of attnkit.testing to be silent on."""

import math
import random

import torch
import torch.nn.functional as F
from torch import nn

import attnkit
from attnkit import testing
from tests import keras_on_torch as keras


class Plain(nn.Module):
    """Self-attention as a reader would write it, in under thirty lines."""

    def __init__(self, d_model, num_heads, causal=False, dropout=0.0):
        super().__init__()
        self.d_model, self.num_heads, self.causal = d_model, num_heads, causal
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, L, E = x.shape
        heads = self.qkv(x).view(B, L, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = heads  # (B, H, L, D) each
        scores = query @ key.mT / math.sqrt(query.shape[-1])  # (B, H, L, L)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], -math.inf)
        if self.causal:
            later = torch.ones(L, L, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        weights = self.dropout(scores.softmax(-1))
        output = (weights @ value).transpose(1, 2).reshape(B, L, E)
        return self.out(output)


def plain_function(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value, weights


def drawn(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    keras.utils.set_random_seed(seed)
    heads = rng.choice([1, 2, 4])
    width = heads * rng.choice([1, 2, 4, 8])
    bias, dropout = rng.random() < 0.5, rng.choice([0.0, 0.3])
    kv_heads = rng.choice([n for n in (1, 2, 4) if heads % n == 0])
    dtype = rng.choice([torch.float32, torch.float64])
    kind = list(KINDS)[seed % len(KINDS)]
    return kind, KINDS[kind](rng, heads, width, bias, dropout, kv_heads, dtype)


def _torch(rng, heads, width, bias, dropout, kv_heads, dtype):
    sizes = {}
    if rng.random() < 0.3:
        sizes = {"kdim": 6, "vdim": 5}
    return nn.MultiheadAttention(
        width, heads, dropout, bias, batch_first=rng.random() < 0.5, dtype=dtype, **sizes
    )


def _ours(rng, heads, width, bias, dropout, kv_heads, dtype):
    return attnkit.MultiHeadAttention(
        width, heads, num_kv_heads=kv_heads, bias=bias, dropout=dropout
    ).to(dtype)


def _sdpa(rng, heads, width, bias, dropout, kv_heads, dtype):
    return testing.adapt(F.scaled_dot_product_attention, embed_dim=width, heads=heads, dtype=dtype)


def _grouped_sdpa(rng, heads, width, bias, dropout, kv_heads, dtype):
    return testing.adapt(
        F.scaled_dot_product_attention,
        lambda query, key, value, mask: F.scaled_dot_product_attention(
            query, key, value, mask, enable_gqa=True
        ),
        embed_dim=width,
        heads=heads,
        kv_heads=kv_heads,
        dtype=dtype,
    )


def _our_function(rng, heads, width, bias, dropout, kv_heads, dtype):
    return testing.adapt(
        attnkit.scaled_dot_product_attention, embed_dim=width, heads=heads, dtype=dtype
    )


def _scored(rng, heads, width, bias, dropout, kv_heads, dtype):
    size = rng.choice([3, 8])
    module = rng.choice(
        [
            lambda: attnkit.AdditiveAttention(width, size, 6),
            lambda: attnkit.LuongAttention(width, size, score="general"),
            lambda: attnkit.LuongAttention(width, size, score="concat"),
            lambda: attnkit.ProjectedAttention(width, size, 6),
            lambda: attnkit.SelfAttention(width, bias=bias, dropout=dropout),
        ]
    )
    return module().to(dtype)


def _plain(rng, heads, width, bias, dropout, kv_heads, dtype):
    return Plain(width, heads, dropout=dropout).to(dtype)


def _plain_causal(rng, heads, width, bias, dropout, kv_heads, dtype):
    return testing.adapt(Plain(width, heads, causal=True, dropout=dropout).to(dtype), causal=True)


def _plain_function(rng, heads, width, bias, dropout, kv_heads, dtype):
    return testing.adapt(plain_function, embed_dim=width, heads=heads, dtype=dtype)


def _keras(rng, heads, width, bias, dropout, kv_heads, dtype):
    layer = keras.layers.MultiHeadAttention(heads, width // heads, use_bias=bias, dropout=dropout)
    return testing.adapt(layer, embed_dim=width)


def _keras_grouped(rng, heads, width, bias, dropout, kv_heads, dtype):
    layer = keras.layers.GroupQueryAttention(
        max(width // heads, 1), heads, kv_heads, use_bias=bias, dropout=dropout
    )
    return testing.adapt(layer, embed_dim=width)


KINDS = {
    "nn.MultiheadAttention": _torch,
    "attnkit.MultiHeadAttention": _ours,
    "F.scaled_dot_product_attention": _sdpa,
    "F.scaled_dot_product_attention, grouped": _grouped_sdpa,
    "attnkit.scaled_dot_product_attention": _our_function,
    "attnkit's scores": _scored,
    "a reader's class": _plain,
    "a reader's causal class": _plain_causal,
    "a reader's function": _plain_function,
    "keras MultiHeadAttention": _keras,
    "keras GroupQueryAttention": _keras_grouped,
}
