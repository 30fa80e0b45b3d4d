"""The Transformer: against PyTorch's layers, by gradient for causality, cached against whole."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import masks, trace
from attnkit.efficient import KVCache
from attnlab.transformer import POSITION_SCHEMES, DecoderLayer, EncoderLayer, Transformer
from tests.attnlab.sequence_models import TRANSFORMERS, batch
from tests.attnlab.sequence_models import transformer as make

B, L, S, E, H = 4, 6, 7, 16, 4
LENGTHS = torch.tensor([7, 5, 2, 1])
TORCH = list(itertools.product([True, False], ["relu", "gelu"], [True, False]))


def torch_layer(kind, norm_first, activation, batch_first, dropout=0.0, **options):
    torch.manual_seed(0)
    options |= {"norm_first": norm_first, "batch_first": batch_first}
    layer = kind(E, H, 24, dropout=dropout, activation=activation, **options)
    for parameter in layer.parameters():  # biases and norms away from 0 and 1
        nn.init.normal_(parameter, std=0.3)
    return layer


def call_torch(layer, batch_first, *inputs, **options):
    if not batch_first:
        inputs = [x.transpose(0, 1) for x in inputs]
    output = layer(*inputs, **options)
    return output if batch_first else output.transpose(0, 1)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "whole"])
@pytest.mark.parametrize("norm_first, activation, batch_first", TORCH)
@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no_grad"])
def test_encoder_layer_agrees_with_torch(
    norm_first, activation, batch_first, padded, training, grad
):
    theirs = torch_layer(nn.TransformerEncoderLayer, norm_first, activation, batch_first)
    theirs.train(training)
    ours = EncoderLayer.from_torch(theirs)
    assert ours.training == training
    x = torch.randn(B, S, E)
    mask = masks.padding(LENGTHS) if padded else None
    options = {"src_key_padding_mask": ~mask[:, 0]} if padded else {}
    with torch.set_grad_enabled(grad):
        expected = call_torch(theirs, batch_first, x, **options)
        output = ours(x, mask=mask).output
        assert_close(output, expected, atol=1e-5, rtol=1e-5)
        assert_close(ours(x, mask=mask, need_weights=True).output, output, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "whole"])
@pytest.mark.parametrize("norm_first, activation, batch_first", TORCH)
def test_decoder_layer_agrees_with_torch(norm_first, activation, batch_first, padded, training):
    theirs = torch_layer(nn.TransformerDecoderLayer, norm_first, activation, batch_first)
    theirs.train(training)
    ours = DecoderLayer.from_torch(theirs)
    x, memory = torch.randn(B, L, E).requires_grad_(), torch.randn(B, S, E).requires_grad_()
    causal = masks.causal(L)
    memory_mask = masks.padding(LENGTHS) if padded else None
    options = {"memory_key_padding_mask": ~memory_mask[:, 0]} if padded else {}
    expected = call_torch(theirs, batch_first, x, memory, tgt_mask=~causal, **options)
    decoded = ours(x, memory, mask=causal, memory_mask=memory_mask)
    assert_close(decoded.output, expected, atol=1e-5, rtol=1e-5)
    found, wanted = (torch.autograd.grad(y.sin().sum(), (x, memory), retain_graph=True)
                     for y in (decoded.output, expected))  # fmt: skip
    assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    assert decoded.weights is None
    assert decoded.cross_weights is None
    seen = ours(x, memory, mask=causal, memory_mask=memory_mask, need_weights=True)
    assert_close(seen.output, expected, atol=1e-5, rtol=1e-5)
    assert_close(seen.weights.sum(-1), torch.ones(B, H, L))
    assert_close(seen.cross_weights.sum(-1), torch.ones(B, H, L))


def test_dropout_falls_in_the_same_places_as_torchs():
    """Same moments over many draws: the same places, the same probability."""
    theirs = torch_layer(nn.TransformerEncoderLayer, False, "relu", True, dropout=0.4)
    ours = EncoderLayer.from_torch(theirs)
    x = torch.randn(1, 3, E).expand(20_000, 3, E)
    with torch.no_grad():
        mine, other = ours(x).output, theirs(x)
    assert_close(mine.mean(0), other.mean(0), atol=0.05, rtol=0)
    assert_close(mine.std(0), other.std(0), atol=0.05, rtol=0)
    assert mine.std(0).mean() > 0.1


# The model


@pytest.fixture(params=TRANSFORMERS.values(), ids=TRANSFORMERS)
def model(request):
    return make(**request.param)


def test_every_step_with_caches_equals_the_whole(model):
    source, lengths, target_in = batch(targets=(6, 6, 6, 6))
    with torch.no_grad():
        memory = model.encode(source, lengths)
        whole = model.decode(target_in, memory, need_weights=True)
        for split in ([1] * 6, [3, 1, 2], [6]):
            caches = [KVCache(window=model.window) for _ in range(2)]
            cross = [KVCache() for _ in range(2)]
            start = 0
            for piece in target_in.split(split, 1):
                part = model.decode(
                    piece, memory, caches=caches, cross_caches=cross, need_weights=True
                )
                rows = slice(start, start + piece.shape[1])
                assert_close(part.logits, whole.logits[:, rows], atol=1e-5, rtol=0)
                expected = whole.cross_weights[..., rows, :]
                assert_close(part.cross_weights, expected, atol=1e-5, rtol=0)
                start = rows.stop


def test_weights_of_every_layer_sum_to_one_and_are_those_recorded(model):
    source, lengths, target_in = batch()
    with torch.no_grad():
        weights = model.weights(source, lengths, target_in)
        with trace.record(model) as calls:
            logits = model(source, lengths, target_in)
        assert_close(logits, model(source, lengths, target_in))
    assert weights.encoder.shape == (4, 2, H, 7, 7)
    assert weights.decoder.shape == (4, 2, H, 6, 6)
    assert weights.cross.shape == (4, 2, H, 6, 7)
    for kind in weights:
        assert_close(kind.sum(-1), torch.ones(kind.shape[:-1]))
    recorded = {call.module: call["weights"] for call in calls}
    assert set(recorded) == {
        f"{stack}.layers.{n}.{part}"
        for n in (0, 1)
        for stack, part in (
            ("encoder", "attention"),
            ("decoder", "self_attention"),
            ("decoder", "cross_attention"),
        )
    }
    for n in (0, 1):
        assert_close(recorded[f"encoder.layers.{n}.attention"], weights.encoder[:, n])
        assert_close(recorded[f"decoder.layers.{n}.self_attention"], weights.decoder[:, n])
        assert_close(recorded[f"decoder.layers.{n}.cross_attention"], weights.cross[:, n])


def test_order_matters_with_every_kind_of_positions_and_not_without():
    source, target_in = torch.tensor([[3, 4, 5, 6, 7, 8]]), torch.tensor([[1, 5]])
    shuffled = source[:, [0, 4, 2, 5, 1, 3]]
    for kind in POSITION_SCHEMES:
        model = make(kind).double()
        one, other = (model(x, None, target_in) for x in (source, shuffled))
        assert torch.allclose(one, other) == (kind == "none"), kind


def test_relative_positions_look_both_ways_in_the_encoder_alone():
    model = make("relative")
    assert model.source_positions.relative.bidirectional
    assert not model.target_positions.relative.bidirectional
    # Causal buckets spend none on keys ahead, so that 16 distances have one each, not 8.
    near = model.target_positions.bias(17, 17, offset=0)[0, 16, :]  # (S,)
    assert len(set(near.tolist())) == 17


def test_shared_embeddings_are_one_matrix():
    torch.manual_seed(0)
    model = Transformer(11, 11, embed_dim=E, num_heads=H, share_embeddings=True)
    assert model.source_embedding.weight is model.target_embedding.weight is model.output.weight
    count = sum(p.numel() for p in model.parameters())
    separate = Transformer(11, 11, embed_dim=E, num_heads=H)
    assert sum(p.numel() for p in separate.parameters()) == count + 2 * 11 * E + 11
    source, lengths, target_in = batch()
    model(source, lengths, target_in.clamp(max=10)).sum().backward()
    assert model.output.weight.grad.abs().sum() > 0


def test_embeddings_start_with_the_variance_of_the_positions():
    torch.manual_seed(0)
    model = Transformer(2000, 2000, embed_dim=64, num_heads=4, num_layers=1)
    scaled = model.source_embedding.weight[1:] * 8
    assert scaled.std().item() == pytest.approx(1.0, abs=0.02)
    assert (model.source_embedding.weight[0] == 0).all()
