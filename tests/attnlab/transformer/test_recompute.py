"""Gradient checkpointing: the same numbers, with less kept for the backward pass."""

import pytest
import torch
from torch import nn

from attnlab.transformer import checkpointed_layers
from tests.refusals.wrong_calls import refused


def saved(call):
    """How many numbers a call keeps for its backward pass."""
    sizes = []

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        call()
    return sum(sizes)


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
    assert saved(lambda: nn.Sequential(*layers)(x)) >= 16 * 80
    assert saved(lambda: checkpointed_layers(layers, x)) <= 4 * 80


X = torch.randn(2, 7, 8)


test_wrong_calls = refused("applications", "recompute", names=globals())
