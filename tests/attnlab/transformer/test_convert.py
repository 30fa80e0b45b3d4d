"""Copies of torch's layers and stacks: equal, complete, and sharing nothing."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import masks
from attnlab.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer

B, L, S, E, H = 4, 6, 7, 16, 4
LENGTHS = torch.tensor([7, 5, 2, 1])
FORMS = list(itertools.product([True, False], ["relu", "gelu"], [True, False]))
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


def run_torch(layer, x, memory, mask, batch_first=True):
    if not batch_first:
        x, memory = x.transpose(0, 1), memory.transpose(0, 1)
    hidden = None if mask is None else ~mask[:, 0]
    if isinstance(layer, (nn.TransformerEncoderLayer, nn.TransformerEncoder)):
        output = layer(memory, src_key_padding_mask=hidden)
    else:
        output = layer(x, memory, tgt_mask=~masks.causal(L), memory_key_padding_mask=hidden)
    return output if batch_first else output.transpose(0, 1)


def run_ours(layer, x, memory, mask, need_weights=False):
    """Output and all weights; of a decoder's layer, those of both its attentions."""
    if isinstance(layer, (EncoderLayer, Encoder)):
        return layer(memory, mask=mask, need_weights=need_weights)
    own = masks.causal(L)
    return layer(x, memory, mask=own, memory_mask=mask, need_weights=need_weights)


def inputs(dtype=torch.float32):
    torch.manual_seed(1)
    x, memory = torch.randn(B, L, E, dtype=dtype), torch.randn(B, S, E, dtype=dtype)
    return x, memory, masks.padding(LENGTHS)


@pytest.mark.parametrize("training, grad", [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "whole"])
@pytest.mark.parametrize("norm_first, activation, batch_first", FORMS)
@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_agrees_with_torchs(
    kind, norm_first, activation, batch_first, padded, training, grad
):
    ours_kind, torch_kind = LAYERS[kind]
    options = {"norm_first": norm_first, "activation": activation, "batch_first": batch_first}
    theirs = torch_layer(torch_kind, dropout=0.0, **options).train(training)
    ours = ours_kind.from_torch(theirs)
    assert ours.training == training
    x, memory, mask = inputs()
    given = [y.requires_grad_(grad) for y in ((x, memory) if kind == "decoder" else (memory,))]
    mask = mask if padded else None
    expected = run_torch(theirs, x, memory, mask, batch_first)
    (output, *unasked), (again, *weights) = (
        run_ours(ours, x, memory, mask, need_weights=asked) for asked in (False, True)
    )
    assert_close(output, expected, atol=1e-5, rtol=1e-5)
    assert_close(again, expected, atol=1e-5, rtol=1e-5)
    assert not any(each is not None for each in unasked)
    for each in weights:
        assert_close(each.sum(-1), torch.ones(each.shape[:-1]))
    if grad:
        found, wanted = (torch.autograd.grad(y.sin().sum(), given) for y in (output, expected))
        assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_dropout_falls_in_the_same_places_as_torchs():
    """Same moments over many draws: the same places, the same probability."""
    theirs = torch_layer(nn.TransformerEncoderLayer, dropout=0.4)
    ours = EncoderLayer.from_torch(theirs)
    x = torch.randn(1, 3, E).expand(20_000, 3, E)
    with torch.no_grad():
        mine, other = ours(x).output, theirs(x)
    assert_close(mine.mean(0), other.mean(0), atol=0.05, rtol=0)
    assert_close(mine.std(0), other.std(0), atol=0.05, rtol=0)
    assert mine.std(0).mean() > 0.1


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
    given = inputs(torch.double)
    assert_close(run_ours(ours, *given).output, run_torch(theirs, *given))


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
        assert_close(run_ours(ours, *inputs()).output, expected, atol=1e-4, rtol=1e-4)
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
