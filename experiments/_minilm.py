"""all-MiniLM-L6-v2 for the experiments of chapter 15: its layers one by one, open to a change."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnlab import pretrained
from attnlab.pretrained import Bert, Reader
from attnlab.transformer import States
from attnlab.transformer.layers import EncoderLayer

NAME = "all-MiniLM-L6-v2"
LAYERS, HEADS = 6, 12
FAMOUS = (3, 1)  # layer, head
Edit = Callable[[int, Tensor], Tensor]


def reader(device: torch.device | str = "cpu") -> Reader:
    """The model with its tokenizer. Raises FileNotFoundError where its weights are missing."""
    found = pretrained.load(NAME)
    found.model.to(device)
    return found


def run(
    model: Bert,
    x: Tensor,
    mask: Tensor,
    *,
    edit: Edit | None = None,
    residual: bool = True,
    feed_forward: bool = True,
) -> States:
    """The layers of `model`, written out, with changed weights or without parts.

    Args:
        x: first states (B, L, E), from `model.embed`.
        mask: boolean (B, 1, L), True for real tokens.
        edit: from the number of a layer and its weights (B, H, L, L) to those to use.
        residual: False for no skip connections.
        feed_forward: False for attention alone.

    Without any change it is `model.run(x, mask)`.
    """
    states, weights = [x], []
    for number, layer in enumerate(model.encoder.layers):
        attended, looked = attend(layer, x, mask, number, edit)
        x = layer.norm1(x + attended if residual else attended)
        if feed_forward:
            fed = layer.feed_forward(x)
            x = layer.norm2(x + fed if residual else fed)
        states.append(x)
        weights.append(looked)
    return States(torch.stack(states, 1), torch.stack(weights, 1))


def attend(
    layer: EncoderLayer, x: Tensor, mask: Tensor, number: int, edit: Edit | None
) -> tuple[Tensor, Tensor]:
    """The attention of one layer: output (B, L, E), weights (B, H, L, L) after the edit."""
    attention = layer.attention
    parts = attention.in_proj(x).chunk(3, -1)
    query, key, value = (
        part.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for part in parts
    )  # (B, H, L, D)
    scores = query @ key.mT / math.sqrt(attention.head_dim)  # (B, H, L, L)
    weights = scores.masked_fill(~mask[:, None], -math.inf).softmax(-1)
    if edit is not None:
        weights = edit(number, weights)
    heads = (weights @ value).transpose(1, 2).flatten(2)  # (B, L, E)
    return attention.out_proj(heads), weights


def without(heads: Sequence[tuple[int, int]]) -> Edit:
    """An edit that takes the output of these (layer, head) away."""

    def edit(number: int, weights: Tensor) -> Tensor:
        off = [head for layer, head in heads if layer == number]
        if off:
            weights = weights.clone()
            weights[:, off] = 0.0
        return weights

    return edit


def rollout(weights: Tensor) -> Tensor:
    """Attention rollout (Abnar and Zuidema 2020): weights (layers, H, L, L) to (L, L).

    The mean over heads, half of it kept for the token itself, multiplied through the layers.
    """
    found = torch.eye(weights.shape[-1], dtype=weights.dtype)
    for layer in weights.mean(1):
        found = (0.5 * layer + 0.5 * torch.eye(len(layer), dtype=layer.dtype)) @ found
    return found
