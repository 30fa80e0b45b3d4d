"""Gradient checkpointing: the same numbers, with less kept for the backward pass."""

import pytest
import torch
from torch import nn

from attnlab.transformer import checkpointed_layers
from tests.refusals.wrong_calls import refused


class Saved:
    def __init__(self):
        self.elements = 0

    def __enter__(self):
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.count, lambda x: x)
        self.hooks.__enter__()
        return self

    def __exit__(self, *error):
        self.hooks.__exit__(*error)

    def count(self, tensor):
        self.elements += tensor.numel()
        return tensor


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.dropout = nn.Linear(8, 8), nn.Dropout(0.3)
        self.calls = 0

    def forward(self, x, *, mask=None):
        self.calls += 1
        x = self.dropout(torch.relu(self.linear(x)))
        return x if mask is None else x.masked_fill(~mask, 0.0)


@pytest.mark.parametrize("segments", [None, 1, 2, 5, 7])
def test_layers_give_the_same_numbers_dropout_included(segments):
    torch.manual_seed(0)
    layers = [Layer() for _ in range(7)]
    x = torch.randn(3, 8, requires_grad=True)
    mask = torch.rand(3, 8) < 0.9
    parameters = [p for layer in layers for p in layer.parameters()]
    torch.manual_seed(1)
    plain = x
    for layer in layers:
        plain = layer(plain, mask=mask)
    expected = torch.autograd.grad(plain.square().sum(), [x, *parameters])
    torch.manual_seed(1)
    output = checkpointed_layers(layers, x, segments=segments, mask=mask)
    assert torch.equal(output, plain)
    for mine, theirs in zip(
        torch.autograd.grad(output.square().sum(), [x, *parameters]), expected, strict=True
    ):
        assert torch.equal(mine, theirs)
    assert [layer.calls for layer in layers] == [3] * 7


def test_layers_keep_only_the_inputs_of_segments():
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(16)]
    x = torch.randn(10, 8, requires_grad=True)
    with Saved() as plain:
        nn.Sequential(*layers)(x)
    with Saved() as checkpointed:
        checkpointed_layers(layers, x)
    assert plain.elements >= 16 * 80
    assert checkpointed.elements <= 4 * 80


X = torch.randn(2, 7, 8)


test_wrong_calls = refused("applications", "recompute", names=globals())
