"""Llama (Touvron et al. 2023) in plain products, one text at a time: what ours is compared with."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F


class Computed(NamedTuple):
    """`states` (layers + 1, L, E), `weights` (layers, H, L, L), `logits` (L, V)."""

    states: torch.Tensor
    weights: torch.Tensor
    logits: torch.Tensor


def rms_norm(x, weight, eps):
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def turned(x, base, layout):
    """Queries or keys (L, D), each pair of features turned as a complex number."""
    length, size = x.shape
    half = size // 2
    pairs = (x[:, 0::2], x[:, 1::2]) if layout == "interleaved" else (x[:, :half], x[:, half:])
    turns = torch.tensor([base ** (-2 * i / size) for i in range(half)], dtype=torch.float64)
    angles = torch.arange(length)[:, None] * turns
    spun = torch.complex(*(part.double() for part in pairs)) * torch.polar(
        torch.ones_like(angles), angles
    )
    parts = (spun.real, spun.imag)
    if layout == "interleaved":
        return torch.stack(parts, -1).flatten(-2).to(x.dtype)
    return torch.cat(parts, -1).to(x.dtype)


def llama(
    tensors, tokens, *, heads, kv_heads, head_dim, layers, eps, base, layout="half", window=None
):
    """Compute a text (L,) from tensors by the names of Hugging Face's checkpoints."""

    def product(x, name):
        bias = tensors.get(f"{name}.bias")
        out = x @ tensors[f"{name}.weight"].T
        return out if bias is None else out + bias

    places = torch.arange(len(tokens))
    back = places[:, None] - places
    hidden = (back < 0) | (back >= (window or len(tokens) + 1))
    x = tensors["model.embed_tokens.weight"][tokens]
    states, all_weights = [x], []
    for n in range(layers):
        name = f"model.layers.{n}"
        y = rms_norm(x, tensors[f"{name}.input_layernorm.weight"], eps)
        query, key, value = (product(y, f"{name}.self_attn.{part}_proj") for part in "qkv")
        outputs, weights = [], []
        for head in range(heads):
            group = head // (heads // kv_heads)
            own = slice(head * head_dim, (head + 1) * head_dim)
            shared = slice(group * head_dim, (group + 1) * head_dim)
            q, k = (turned(z, base, layout) for z in (query[:, own], key[:, shared]))
            scores = (q @ k.T / math.sqrt(head_dim)).masked_fill(hidden, -math.inf)
            weights.append(scores.softmax(-1))
            outputs.append(weights[-1] @ value[:, shared])
        x = x + product(torch.cat(outputs, -1), f"{name}.self_attn.o_proj")
        y = rms_norm(x, tensors[f"{name}.post_attention_layernorm.weight"], eps)
        gate, up = product(y, f"{name}.mlp.gate_proj"), product(y, f"{name}.mlp.up_proj")
        x = x + product(F.silu(gate) * up, f"{name}.mlp.down_proj")
        states.append(x)
        all_weights.append(torch.stack(weights))
    head = tensors.get("lm_head.weight", tensors["model.embed_tokens.weight"])
    logits = rms_norm(x, tensors["model.norm.weight"], eps) @ head.T
    return Computed(torch.stack(states), torch.stack(all_weights), logits)
