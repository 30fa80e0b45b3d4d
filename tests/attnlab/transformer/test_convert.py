"""Copies of torch's layers and stacks: equal, complete, and sharing nothing."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import masks
from attnlab.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer

B, L, S, E, H = 4, 6, 7, 16, 4
LENGTHS = torch.tensor([7, 5, 2, 1])
LAYERS = {
    "encoder": (EncoderLayer, nn.TransformerEncoderLayer),
    "decoder": (DecoderLayer, nn.TransformerDecoderLayer),
}


def shaken(module):
    """The module with every parameter away from where it started: norms at 1, biases at 0."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


def torch_layer(kind, **options):
    defaults = {"dim_feedforward": 24, "dropout": 0.3, "batch_first": True}
    return shaken(kind(E, H, **(defaults | options)))


def run_torch(layer, x, memory, mask):
    causal = ~masks.causal(x.shape[1])
    if isinstance(layer, (nn.TransformerEncoderLayer, nn.TransformerEncoder)):
        return layer(memory, src_key_padding_mask=~mask[:, 0])
    return layer(x, memory, tgt_mask=causal, memory_key_padding_mask=~mask[:, 0])


def run_ours(layer, x, memory, mask):
    if isinstance(layer, (EncoderLayer, Encoder)):
        return layer(memory, mask=mask).output
    return layer(x, memory, mask=masks.causal(x.shape[1]), memory_mask=mask).output


def inputs(dtype=torch.float32):
    torch.manual_seed(1)
    x, memory = torch.randn(B, L, E, dtype=dtype), torch.randn(B, S, E, dtype=dtype)
    return x, memory, masks.padding(LENGTHS)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_with_frozen_parts_and_norms_of_its_own_is_copied(kind):
    ours_kind, torch_kind = LAYERS[kind]
    theirs = torch_layer(torch_kind, norm_first=True, activation=nn.GELU("tanh")).double()
    theirs.norm1.eps, theirs.norm2.eps = 1e-1, 1e-2
    theirs.self_attn.dropout = 0.5
    theirs.linear1.weight.requires_grad_(False)
    theirs.self_attn.in_proj_weight.requires_grad_(False)
    theirs.self_attn.out_proj.bias.requires_grad_(False)
    theirs.eval()
    ours = ours_kind.from_torch(theirs)
    attention = getattr(ours, ours.attentions[0])
    assert not ours.linear1.weight.requires_grad
    assert not attention.in_proj.weight.requires_grad
    assert not attention.out_proj.bias.requires_grad
    assert attention.in_proj.bias.requires_grad
    assert (ours.dropout.p, attention.dropout, ours.activation) == (0.3, 0.5, "gelu_tanh")
    assert (ours.norm1.eps, ours.norm2.eps, ours.norm_first) == (1e-1, 1e-2, True)
    assert not any(part.training for part in ours.modules())
    assert not {x.data_ptr() for x in theirs.parameters()} & {
        x.data_ptr() for x in ours.parameters()
    }
    assert_close(run_ours(ours, *inputs(torch.double)), run_torch(theirs, *inputs(torch.double)))


@pytest.mark.parametrize("final_norm", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_stacks_are_copied(norm_first, final_norm):
    options = {"norm_first": norm_first, "batch_first": True, "dropout": 0.0}
    norm = nn.LayerNorm(E, eps=1e-3) if final_norm else None
    layer = nn.TransformerEncoderLayer(E, H, 24, **options)
    their_encoder = nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False)
    their_decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(E, H, 24, **options), 3, norm)
    for theirs, kind in ((their_encoder, Encoder), (their_decoder, Decoder)):
        shaken(theirs).layers[1].requires_grad_(False)
        theirs.eval()
        ours = kind.from_torch(theirs)
        assert [layer.norm1.weight.requires_grad for layer in ours.layers] == [True, False, True]
        expected = run_torch(theirs, *inputs())
        assert_close(run_ours(ours, *inputs()), expected, atol=1e-4, rtol=1e-4)
        shared = {x.data_ptr() for x in theirs.parameters()}
        assert not shared & {x.data_ptr() for x in ours.parameters()}
        built = kind(E, H, 24, 3, norm_first=norm_first, final_norm=final_norm)
        built.load_state_dict(ours.state_dict())  # the same parts as one built by hand


@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_a_stack_ends_in_a_norm_when_it_is_pre_norm_unless_it_is_told(kind):
    def last(**options):
        return type(kind(E, H, 24, 1, **options).norm)

    assert (last(), last(norm_first=True)) == (nn.Identity, nn.LayerNorm)
    assert last(final_norm=True) == nn.LayerNorm
    assert last(norm_first=True, final_norm=False) == nn.Identity


def test_what_torch_says_goes_through_for_activations():
    for activation, name in ((nn.GELU(), "gelu"), (nn.ReLU(), "relu")):
        theirs = nn.TransformerEncoderLayer(E, H, activation=activation)
        assert EncoderLayer.from_torch(theirs).activation == name
