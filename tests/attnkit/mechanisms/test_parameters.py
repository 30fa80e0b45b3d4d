"""What a mechanism has to learn: by which names it is saved, how it starts, what it says of it."""

import math

import pytest
import torch
from torch import nn

from attnkit import (
    AdditiveAttention,
    LuongAttention,
    MultiHeadAttention,
    ProjectedAttention,
    SelfAttention,
)
from attnkit.mechanisms.scored import ScoredAttention

Q, K, V = "query_proj.weight", "key_proj.weight", "value_proj.weight"
OUT = {"out_proj.weight": (8, 8)}


def biased(shapes: dict[str, tuple]) -> dict[str, tuple]:
    """These, and a bias to each weight."""
    return shapes | {name.replace("weight", "bias"): size[:1] for name, size in shapes.items()}


MODULES = [
    (AdditiveAttention(4, 6, 7), {"v": (7,), Q: (7, 4), "query_proj.bias": (7,), K: (7, 6)},
     "query_dim=4, key_dim=6, hidden_dim=7"),
    (LuongAttention(4, 4), {}, "query_dim=4, key_dim=4, score='dot'"),
    (LuongAttention(4, 6, score="general"), {"weight": (4, 6)}, "score='general'"),
    (LuongAttention(4, 6, score="concat"), {"weight": (4, 10), "v": (4,)}, "score='concat'"),
    (LuongAttention(4, 6, score="concat", hidden_dim=7), {"weight": (7, 10), "v": (7,)}, ""),
    (ProjectedAttention(4, 6, 8), {Q: (8, 4), K: (8, 6)}, "query_dim=4, key_dim=6, hidden_dim=8"),
    (SelfAttention(8), {Q: (8, 8), K: (8, 8), V: (8, 8)}, "embed_dim=8"),
    (SelfAttention(8, 3, bias=True, dropout=0.2), biased({Q: (3, 8), K: (3, 8), V: (3, 8)}),
     "embed_dim=8, head_dim=3, dropout=0.2"),
    (MultiHeadAttention(8, 4), biased({"in_proj.weight": (24, 8)} | OUT), ""),
    (MultiHeadAttention(8, 4, bias=False, kdim=8, vdim=8), {"in_proj.weight": (24, 8)} | OUT, ""),
    (MultiHeadAttention(8, 4, num_kv_heads=2), biased({"in_proj.weight": (16, 8)} | OUT), ""),
    (MultiHeadAttention(8, 4, num_kv_heads=1), biased({"in_proj.weight": (12, 8)} | OUT), ""),
    (MultiHeadAttention(8, 4, kdim=6, dropout=0.1),
     biased({Q: (8, 8), K: (8, 6), V: (8, 8)} | OUT),
     "embed_dim=8, num_heads=4, num_kv_heads=4, head_dim=2, kdim=6, vdim=8, dropout=0.1"),
    (MultiHeadAttention(8, 4, bias=False, vdim=5, num_kv_heads=2),
     {Q: (8, 8), K: (4, 8), V: (4, 5)} | OUT, ""),
    (ScoredAttention(2, 3), {}, "query_dim=2, key_dim=3"),
]  # fmt: skip


@pytest.mark.parametrize("module, shapes, said", MODULES, ids=lambda one: type(one).__name__)
def test_names_and_sizes(module: nn.Module, shapes, said):
    assert {name: tuple(x.shape) for name, x in module.named_parameters()} == shapes
    assert said in repr(module)


@pytest.mark.parametrize("build, name, fan_in", [
    (lambda: AdditiveAttention(1, 1, 2500), "v", 2500),
    (lambda: LuongAttention(400, 100, score="general"), "weight", 100),
    (lambda: LuongAttention(400, 100, score="concat"), "weight", 500),
    (lambda: LuongAttention(400, 100, score="concat"), "v", 400),
])  # fmt: skip
def test_a_score_starts_as_the_weights_of_a_linear_layer_do(build, name, fan_in):
    torch.manual_seed(0)
    parameter, bound = getattr(build(), name), 1 / math.sqrt(fan_in)
    assert parameter.abs().max() <= bound
    assert parameter.min() < -0.9 * bound
    assert parameter.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.06)
