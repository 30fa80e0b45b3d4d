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


def test_scores_keep_their_dtype_beside_a_wider_bias():
    x = torch.randn(3, 4)
    with trace.record() as calls:
        attnkit.scaled_dot_product_attention(x, x, x, bias=torch.zeros(3, 3, dtype=torch.float64))
    assert calls[0]["scores"].dtype == calls[0]["weights"].dtype == torch.float32


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


# Torch's own attention

B, L, S, E, H = 2, 4, 5, 8, 2
PADDING = torch.tensor([[False] * 5, [False, False, False, True, True]])  # True hides
PER_HEAD = torch.rand(B * H, L, S) > 0.7
PER_HEAD[..., 0] = False


def float_mask(hidden):
    return torch.randn(hidden.shape).masked_fill(hidden, -math.inf)


MULTI_HEAD = {
    "plain": {},
    "padding": {"key_padding_mask": PADDING},
    "mask": {"attn_mask": ~masks.causal(L, S, offset=1)},
    "mask per head": {"attn_mask": PER_HEAD},
    "float mask": {"attn_mask": float_mask(~masks.causal(L, S, offset=1))},
    "both": {"attn_mask": PER_HEAD, "key_padding_mask": PADDING},
    "both float": {"attn_mask": float_mask(PER_HEAD), "key_padding_mask": float_mask(PADDING)},
}


@pytest.mark.parametrize("options", MULTI_HEAD.values(), ids=MULTI_HEAD)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("sizes", [{}, {"kdim": 6, "vdim": 7}, {"bias": False}], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_torchs_multihead_attention_is_recorded(options, need_weights, sizes, training):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(E, H, batch_first=True, **sizes).train(training)
    model = nn.ModuleDict({"attention": layer})
    key, value = torch.randn(B, S, layer.kdim), torch.randn(B, S, layer.vdim)
    inputs = (torch.randn(B, L, E), key, value)
    expected, per_head = layer(*inputs, average_attn_weights=False, **options)
    with trace.record(model) as calls:
        output, _ = layer(*inputs, need_weights=need_weights, **options)
    assert torch.allclose(output, expected, atol=1e-6)
    (call,) = calls
    assert call.module == "attention"
    assert call["scores"].shape == (B, H, L, S)
    assert torch.allclose(call["weights"], per_head, atol=1e-6)
    assert torch.allclose(call["masked_scores"].softmax(-1), per_head, atol=1e-6)
    joined = call["output"].transpose(1, 2).flatten(2)  # (B, L, E)
    assert torch.allclose(layer.out_proj(joined), expected, atol=1e-6)


def test_torchs_stacks_are_recorded_layer_by_layer():
    layer = nn.TransformerDecoderLayer(E, H, 16, batch_first=True)
    model = nn.TransformerDecoder(layer, 2).eval()
    x, memory = torch.randn(B, L, E), torch.randn(B, S, E)
    with torch.no_grad():
        expected = model(x, memory)
        with trace.record(model) as calls:
            output = model(x, memory)
    assert torch.allclose(output, expected, atol=1e-6)
    names = [f"layers.{n}.{part}" for n in (0, 1) for part in ("self_attn", "multihead_attn")]
    assert [call.module for call in calls] == names
    assert [call["weights"].shape[-1] for call in calls] == [L, S, L, S]


def test_the_fused_form_of_torchs_encoder_is_recorded():
    layer = nn.TransformerEncoderLayer(E, H, 16, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2).eval(), torch.randn(B, S, E)
    with torch.no_grad():
        expected = model(x, src_key_padding_mask=PADDING)
        with trace.record() as calls:
            output = model(x, src_key_padding_mask=PADDING)
    assert torch.allclose(output[~PADDING], expected[~PADDING], atol=1e-6)
    assert len(calls) == 2
    assert (calls[0]["weights"][1, ..., 3:] == 0).all()


def test_multihead_attention_without_a_batch_and_with_added_keys():
    layer, x = nn.MultiheadAttention(E, H), torch.randn(L, E)
    with trace.record() as calls:
        _, weights = layer(x, x, x, average_attn_weights=False)
    assert torch.allclose(calls[0]["weights"], weights, atol=1e-6)
    layer = nn.MultiheadAttention(E, H, add_zero_attn=True)
    with pytest.warns(UserWarning, match="not recorded"), trace.record() as calls:
        layer(x, x, x)
    assert calls == []


SDPA = {
    "plain": {},
    "mask": {"attn_mask": masks.causal(L, S, offset=1)},
    "float mask": {"attn_mask": float_mask(~masks.causal(L, S, offset=1))},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.1},
    "empty row": {"attn_mask": masks.causal(L, S, offset=-1)},
}


@pytest.mark.parametrize("options", SDPA.values(), ids=SDPA)
@pytest.mark.parametrize("kv_heads", [2, 1])
def test_torchs_function_is_recorded(options, kv_heads):
    torch.manual_seed(0)
    query = torch.randn(B, 2, L, 4, requires_grad=True)
    key, value = torch.randn(B, kv_heads, S, 4), torch.randn(B, kv_heads, S, 3)
    options = {**options, "enable_gqa": kv_heads == 1}
    expected = nn.functional.scaled_dot_product_attention(query, key, value, **options)
    with trace.record() as outer, trace.record() as calls:
        output = nn.functional.scaled_dot_product_attention(query, key, value, **options)
    assert torch.equal(output, expected)
    assert output.requires_grad
    (call,) = calls
    assert len(outer) == 1
    assert not call["scores"].requires_grad
    assert torch.allclose(call["output"], expected.nan_to_num(), atol=1e-6)
    assert torch.allclose(
        call["weights"] @ value.repeat_interleave(2 // kv_heads, 1), call["output"]
    )


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])  # with four dimensions the kernel runs alone
@pytest.mark.parametrize("bias", [None, torch.randn(5, 5)], ids=["plain", "bias"])
def test_attnkits_function_is_recorded(lead, bias):
    x = torch.randn(*lead, 5, 4)
    with trace.record() as calls:
        output = attnkit.scaled_dot_product_attention(x, x, x, bias=bias).output
    (call,) = calls
    scores = x @ x.mT / 2 + (0 if bias is None else bias)
    assert torch.allclose(call["scores"], scores, atol=1e-6)
    assert torch.allclose(call["weights"], scores.softmax(-1), atol=1e-6)
    assert torch.allclose(call["output"], output, atol=1e-6)


def test_what_attnkit_asks_of_torch_is_not_recorded_twice():
    x = torch.randn(2, 3, 4)
    module = attnkit.MultiHeadAttention(4, 2)
    with trace.record(), trace.record() as calls:
        attnkit.scaled_dot_product_attention(x, x, x)
        module(x)
    assert len(calls) == 2


def test_a_compiled_model_runs_uncompiled_and_is_recorded():
    model, x = Model(), torch.randn(2, 3, 4)
    compiled = torch.compile(model, backend="eager")
    expected = compiled(x)
    with trace.record(compiled) as calls:
        output = compiled(x)
    assert torch.allclose(output, expected)
    assert [call.module for call in calls] == ["layers.0", "layers.1"]


def test_an_old_torch_says_that_it_cannot_record_a_compiled_model(monkeypatch):
    compiled = torch.compile(Model(), backend="eager")
    monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    expected = pytest.warns(UserWarning, match="record the one it was compiled from")
    with expected, trace.record(compiled):
        pass
