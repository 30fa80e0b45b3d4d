"""Attentions that are right, drawn at random, for the checks of attnkit.testing to be silent on."""

import math
import random
from types import SimpleNamespace

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
    """The kind with this number, and an attention of it."""
    of = SimpleNamespace(rng=random.Random(seed))
    torch.manual_seed(seed)
    keras.utils.set_random_seed(seed)
    of.heads = of.rng.choice([1, 2, 4])
    of.width = of.heads * of.rng.choice([1, 2, 4, 8])
    of.bias, of.dropout = of.rng.random() < 0.5, of.rng.choice([0.0, 0.3])
    of.kv_heads = of.rng.choice([n for n in (1, 2, 4) if of.heads % n == 0])
    of.dtype = of.rng.choice([torch.float32, torch.float64])
    kind = list(KINDS)[seed % len(KINDS)]
    return kind, KINDS[kind](of)


def of_torch(of):
    sizes = {"kdim": 6, "vdim": 5} if of.rng.random() < 0.3 else {}
    sizes |= {"batch_first": of.rng.random() < 0.5, "dtype": of.dtype}
    return nn.MultiheadAttention(of.width, of.heads, of.dropout, of.bias, **sizes)


def ours(of):
    options = {"num_kv_heads": of.kv_heads, "bias": of.bias, "dropout": of.dropout}
    return attnkit.MultiHeadAttention(of.width, of.heads, **options).to(of.dtype)


def adapted(of, function, *call, **options):
    sizes = {"embed_dim": of.width, "heads": of.heads, "dtype": of.dtype}
    return testing.adapt(function, *call, **sizes, **options)


def grouped(query, key, value, mask):
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)


def scored(of):
    size = of.rng.choice([3, 8])
    module = of.rng.choice(
        [
            lambda: attnkit.AdditiveAttention(of.width, size, 6),
            lambda: attnkit.LuongAttention(of.width, size, score="general"),
            lambda: attnkit.LuongAttention(of.width, size, score="concat"),
            lambda: attnkit.ProjectedAttention(of.width, size, 6),
            lambda: attnkit.SelfAttention(of.width, bias=of.bias, dropout=of.dropout),
        ]
    )
    return module().to(of.dtype)


def plain(of, **options):
    return Plain(of.width, of.heads, dropout=of.dropout, **options).to(of.dtype)


def of_keras(of, name, *sizes):
    layer = getattr(keras.layers, name)(*sizes, use_bias=of.bias, dropout=of.dropout)
    return testing.adapt(layer, embed_dim=of.width)


SDPA = F.scaled_dot_product_attention
KINDS = {
    "nn.MultiheadAttention": of_torch,
    "attnkit.MultiHeadAttention": ours,
    "F.scaled_dot_product_attention": lambda of: adapted(of, SDPA),
    "F.scaled_dot_product_attention, grouped":
        lambda of: adapted(of, SDPA, grouped, kv_heads=of.kv_heads),
    "attnkit.scaled_dot_product_attention":
        lambda of: adapted(of, attnkit.scaled_dot_product_attention),
    "attnkit's scores": scored,
    "a reader's class": plain,
    "a reader's causal class": lambda of: testing.adapt(plain(of, causal=True), causal=True),
    "a reader's function": lambda of: adapted(of, plain_function),
    "keras MultiHeadAttention":
        lambda of: of_keras(of, "MultiHeadAttention", of.heads, of.width // of.heads),
    "keras GroupQueryAttention":
        lambda of: of_keras(of, "GroupQueryAttention", max(of.width // of.heads, 1), of.heads,
                            of.kv_heads),
}  # fmt: skip
