"""The Transformer: cached against whole, its weights, positions and embeddings."""

import pytest
import torch
from torch.testing import assert_close

from attnkit import trace
from attnkit.efficient import KVCache
from attnlab.transformer import POSITION_SCHEMES, Transformer
from tests.attnlab.sequence_models import TRANSFORMERS, batch
from tests.attnlab.sequence_models import transformer as make

E, H = 16, 4


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
    recorded = {call.module: call["weights"] for call in calls}
    for kind, name, size in (
        ("encoder", "encoder.layers.{}.attention", (7, 7)),
        ("decoder", "decoder.layers.{}.self_attention", (6, 6)),
        ("cross", "decoder.layers.{}.cross_attention", (6, 7)),
    ):
        found = getattr(weights, kind)
        assert found.shape == (4, 2, H, *size)
        assert_close(found.sum(-1), torch.ones(found.shape[:-1]))
        for n in (0, 1):
            assert_close(recorded.pop(name.format(n)), found[:, n])
    assert not recorded


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
