"""The recorder: it names, it copies, it leaves no trace of itself."""

import math

import pytest
import torch
from torch import nn

import attnkit
from attnkit import masks, trace
from attnkit import trace as observers


class Layer(nn.Module):
    def forward(self, x, mask=None):
        return attnkit.scaled_dot_product_attention(x, x, x, mask=mask).output


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x, mask)
        return x


def test_calls_are_named_and_in_order():
    x, model = torch.randn(2, 3, 4), Model()
    with trace.record(model) as calls:
        model(x)
        attnkit.scaled_dot_product_attention(x, x, x)
    assert [call.module for call in calls] == ["layers.0", "layers.1", ""]
    assert set(calls[0]) == {"scores", "masked_scores", "weights", "output"}


def test_what_is_recorded_is_what_happened():
    x, mask = torch.randn(2, 3, 4, dtype=torch.float64), masks.causal(3)
    with trace.record() as calls:
        output = attnkit.scaled_dot_product_attention(x, x, x, mask=mask).output
    call = calls[0]
    scores = x @ x.mT / 2
    assert torch.allclose(call["scores"], scores)
    assert torch.equal(call["masked_scores"].isneginf(), (~mask).expand(2, 3, 3))
    assert torch.allclose(call["masked_scores"].softmax(-1), call["weights"])
    assert torch.allclose(call["output"], output)


def test_recordings_are_copies_without_gradient():
    x = torch.randn(2, 3, 4, requires_grad=True)
    with trace.record() as calls:
        output, weights = attnkit.scaled_dot_product_attention(x, x, x, need_weights=True)
    calls[0]["weights"].fill_(9)
    calls[0]["output"].fill_(9)
    assert (weights < 9).all()
    assert (output < 9).all()
    assert not calls[0]["scores"].requires_grad
    assert output.requires_grad


def test_recorders_nest_and_end():
    x = torch.randn(3, 4)
    with trace.record() as outer:
        with trace.record() as inner:
            attnkit.scaled_dot_product_attention(x, x, x)
        attnkit.scaled_dot_product_attention(x, x, x)
    attnkit.scaled_dot_product_attention(x, x, x)
    assert (len(inner), len(outer)) == (1, 2)
    assert observers.observers.get() == ()


def test_an_error_inside_leaves_nothing_behind():
    model, x = Model(), torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match="mask"), trace.record(model) as calls:
        model(x, torch.ones(9, 9, dtype=torch.bool))
    assert observers.observers.get() == ()
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    with trace.record(model) as calls:
        model(x)
    assert [call.module for call in calls] == ["layers.0", "layers.1"]


def test_an_error_caught_inside_does_not_shift_the_names():
    model, x = Model(), torch.randn(2, 3, 4)
    with trace.record(model) as calls:
        with pytest.raises(ValueError, match="mask"):
            model(x, torch.ones(9, 9, dtype=torch.bool))
        model(x)
        attnkit.scaled_dot_product_attention(x, x, x)
    assert [call.module for call in calls] == ["layers.0", "layers.1", ""]


def test_empty_rows_are_minus_infinity_before_and_zero_after():
    x = torch.randn(2, 4)
    with trace.record() as calls:
        attnkit.scaled_dot_product_attention(x, x, x, mask=torch.zeros(2, 2, dtype=torch.bool))
    assert (calls[0]["masked_scores"] == -math.inf).all()
    assert (calls[0]["weights"] == 0).all()
