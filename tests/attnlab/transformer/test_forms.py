"""The forms that a layer may take: its norms, its feed-forward network, its heads, its names."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import masks
from attnlab.transformer import (
    DecoderLayer,
    Encoder,
    EncoderLayer,
    LanguageModel,
    PositionScheme,
    Transformer,
)

V, E = 11, 12
LLAMA = {
    "embed_dim": E, "num_heads": 4, "num_kv_heads": 2, "head_dim": 4, "num_layers": 2,
    "hidden_dim": 10, "activation": "silu", "gated": True, "norm": "rms", "bias": False,
    "dropout": 0.0,
}  # fmt: skip


def redrawn(module):
    """Weights far from 0 and 1, so that a mix-up shows."""
    torch.manual_seed(0)
    for name, parameter in module.named_parameters():
        nn.init.normal_(parameter, mean=float("norm" in name or "after" in name), std=0.4)
    return module.eval()


@pytest.mark.parametrize("more", [{}, {"positions": "learned"}, {"positions": "alibi"}, LLAMA])
def test_states_are_those_behind_the_logits(more):
    model = redrawn(LanguageModel(V, **({"embed_dim": E, "num_heads": 3} | more)))
    tokens = torch.randint(V, (2, 6))
    with torch.no_grad():
        found = model.states(tokens)
        assert_close(model.output(model.stack.norm(found.states[:, -1])), model(tokens))
        assert_close(found.weights, model.weights(tokens))
        without = model.states(tokens, need_weights=False)
        assert_close(without.states, found.states, atol=1e-5, rtol=1e-5)
        assert without.weights is None
        caches = model.new_caches()
        parts = [model.states(part, caches=caches) for part in tokens.split([4, 2], 1)]
    assert_close(torch.cat([part.states for part in parts], 2), found.states, atol=1e-5, rtol=1e-5)
    assert_close(parts[1].weights, found.weights[..., 4:, :], atol=1e-5, rtol=1e-5)


def test_states_of_an_encoder_end_in_its_output():
    encoder = redrawn(Encoder(E, 2, 8, num_layers=3, norm_first=True))
    x, mask = torch.randn(2, 5, E), masks.padding([5, 3])
    found, attended = encoder.states(x, mask=mask), encoder(x, mask=mask, need_weights=True)
    assert torch.equal(found.states[:, 0], x)
    assert found.states.shape == (2, 4, 5, E)
    assert_close(encoder.norm(found.states[:, -1]), attended.output)
    assert_close(found.weights, attended.weights)


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_a_norm_a_layer_adds_what_its_two_parts_give(norm_first):
    layer = redrawn(EncoderLayer(E, 2, 7, norm="none", norm_first=norm_first))
    x = torch.randn(2, 5, E)
    y = x + layer.attention(x).output
    assert_close(layer(x).output, y + layer.feed_forward(y))
    assert not [name for name, _ in layer.named_parameters() if "norm" in name]


def test_the_last_norm_of_a_stack_is_of_the_kind_and_epsilon_of_its_layers():
    for more in ({"norm": "rms"}, {"norm_eps": 0.5}, {"bias": False}):
        encoder = Encoder(E, 2, 8, num_layers=2, norm_first=True, **more)
        first, last = encoder.layers[0].norm1, encoder.norm
        assert repr(first) == repr(last)
        assert first.weight is not last.weight


def test_the_options_of_a_layer_reach_every_layer_of_the_models():
    options = {"norm": "rms", "norm_eps": 0.25, "gated": True, "head_dim": 6, "bias": False}
    for model in (
        LanguageModel(V, embed_dim=E, num_heads=4, **options),
        Transformer(V, V, embed_dim=E, num_heads=4, positions="rotary", norm_first=True, **options),
    ):
        norms = [part for part in model.modules() if isinstance(part, nn.RMSNorm)]
        assert len(norms) == (5 if isinstance(model, LanguageModel) else 4 + 6 + 2)
        assert {norm.eps for norm in norms} == {0.25}
        for part in model.modules():
            if isinstance(part, EncoderLayer | DecoderLayer):
                assert part.gate.bias is part.linear1.bias is None
                assert getattr(part, part.attentions[0]).head_dim == 6
    source = torch.randint(3, V, (2, 5))
    assert model(source, None, source).isfinite().all()


def test_a_scheme_passes_base_and_layout_on():
    scheme = PositionScheme("rotary", 8, 2, base=50.0, layout="half")
    assert (scheme.rotary.base, scheme.rotary.layout, scheme.rotary.head_dim) == (50.0, "half", 4)
    assert PositionScheme("rotary", 9, 2, head_dim=6).rotary.head_dim == 6


def test_names_and_their_order_are_those_of_the_models_that_are_shipped():
    """Weights are saved by these names, and a seed draws in the order of these parameters."""
    ends = ["weight", "bias"]
    inner = [f"{name}.{end}" for name in ("linear1", "linear2", "norm1", "norm2") for end in ends]
    attention = [f"{name}.{end}" for name in ("in_proj", "out_proj") for end in ends]
    assert list(DecoderLayer(8, 2, 8, gated=True).state_dict()) == [
        *inner, "norm3.weight", "norm3.bias",
        *(f"self_attention.{name}" for name in attention),
        *(f"cross_attention.{name}" for name in attention),
        "gate.weight", "gate.bias",
    ]  # fmt: skip
    assert list(LanguageModel(V, num_layers=1).state_dict()) == [
        "embedding.weight",
        *(f"stack.layers.0.{name}" for name in inner),
        *(f"stack.layers.0.attention.{name}" for name in attention),
        "stack.norm.weight", "stack.norm.bias",
        "output.weight",
    ]  # fmt: skip
