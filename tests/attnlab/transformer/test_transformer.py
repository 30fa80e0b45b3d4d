"""The Transformer: against PyTorch's layers, by gradient for causality, cached against whole."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import masks, trace
from attnkit.efficient import KVCache
from attnlab.transformer import (
    POSITION_SCHEMES,
    DecoderLayer,
    EncoderLayer,
    Transformer,
)

B, L, S, E, H = 4, 6, 7, 16, 4
LENGTHS = torch.tensor([7, 5, 2, 1])
TORCH = list(itertools.product([True, False], ["relu", "gelu"], [True, False]))


def torch_layer(kind, norm_first, activation, batch_first, dropout=0.0, **options):
    torch.manual_seed(0)
    layer = kind(
        E,
        H,
        24,
        dropout=dropout,
        activation=activation,
        norm_first=norm_first,
        batch_first=batch_first,
        **options,
    )
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
    x, memory = torch.randn(B, L, E), torch.randn(B, S, E)
    causal = masks.causal(L)
    memory_mask = masks.padding(LENGTHS) if padded else None
    options = {"memory_key_padding_mask": ~memory_mask[:, 0]} if padded else {}
    expected = call_torch(theirs, batch_first, x, memory, tgt_mask=~causal, **options)
    decoded = ours(x, memory, mask=causal, memory_mask=memory_mask)
    assert_close(decoded.output, expected, atol=1e-5, rtol=1e-5)
    assert decoded.weights is None
    assert decoded.cross_weights is None
    seen = ours(x, memory, mask=causal, memory_mask=memory_mask, need_weights=True)
    assert_close(seen.output, expected, atol=1e-5, rtol=1e-5)
    assert_close(seen.weights.sum(-1), torch.ones(B, H, L))
    assert_close(seen.cross_weights.sum(-1), torch.ones(B, H, L))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_gradients_of_layers_agree_with_torch(kind, norm_first):
    encoder = kind == "encoder"
    torch_kind = nn.TransformerEncoderLayer if encoder else nn.TransformerDecoderLayer
    theirs = torch_layer(torch_kind, norm_first, "gelu", True).double()
    ours = (EncoderLayer if encoder else DecoderLayer).from_torch(theirs)
    x = torch.randn(B, L, E, dtype=torch.float64)
    inputs = (x,) if encoder else (x, torch.randn(B, S, E, dtype=torch.float64))
    theirs(*inputs).pow(2).sum().backward()
    ours(*inputs).output.pow(2).sum().backward()
    for name in ("linear1", "linear2", "norm1", "norm2"):
        for part in ("weight", "bias"):
            mine, other = (getattr(getattr(m, name), part).grad for m in (ours, theirs))
            assert_close(mine, other)
    attention = ours.attention if encoder else ours.self_attention
    assert_close(attention.in_proj.weight.grad, theirs.self_attn.in_proj_weight.grad)
    if not encoder:
        mine = ours.cross_attention.in_proj.weight.grad
        assert_close(mine, theirs.multihead_attn.in_proj_weight.grad)


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


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_source_that_sees_nothing_stays_finite_where_torch_gives_nan(norm_first):
    theirs = torch_layer(nn.TransformerEncoderLayer, norm_first, "relu", True).eval()
    ours = EncoderLayer.from_torch(theirs)
    x = torch.randn(2, 3, E, requires_grad=True)
    mask = masks.padding([3, 0])
    with torch.no_grad():
        expected = theirs(x, src_key_padding_mask=~mask[:, 0])
    assert expected[1].isnan().all()
    output = ours(x, mask=mask).output
    assert_close(output[0], expected[0], atol=1e-5, rtol=1e-5)
    output.sum().backward()
    assert output.isfinite().all()
    assert x.grad.isfinite().all()
    # Attention adds nothing to the residual, so what is left is the rest of the layer.
    with torch.no_grad():
        ours.attention.out_proj.weight.zero_()
        ours.attention.out_proj.bias.zero_()
    assert_close(output[1], ours(x).output[1], atol=1e-5, rtol=1e-5)


# The model


def make(positions="sinusoidal", **options):
    torch.manual_seed(0)
    defaults = {"embed_dim": E, "num_heads": H, "num_layers": 2, "positions": positions}
    model = Transformer(11, 13, **(defaults | options))
    for name, parameter in model.named_parameters():
        if "relative" in name:
            nn.init.normal_(parameter)
    return model.eval()


def batch(lengths=(7, 5, 2, 1), targets=(6, 6, 3, 2)):
    torch.manual_seed(1)
    source = torch.randint(3, 11, (len(lengths), max(lengths)))
    target_in = torch.randint(3, 13, (len(targets), max(targets)))
    target_in[:, 0] = 1
    for row, (length, target) in enumerate(zip(lengths, targets, strict=True)):
        source[row, length:] = 0
        target_in[row, target:] = 0
    return source, torch.tensor(lengths), target_in


VARIANTS = {
    **{kind: {"positions": kind} for kind in POSITION_SCHEMES},
    "pre-norm gelu": {"norm_first": True, "activation": "gelu"},
    "grouped": {"num_kv_heads": 2, "positions": "rotary"},
    "multi-query": {"num_kv_heads": 1},
    "window": {"window": 3, "positions": "rotary"},
    "window sinusoidal": {"window": 3},
    "window alibi": {"window": 2, "positions": "alibi"},
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    return make(**request.param)


def test_a_padded_batch_equals_its_sentences_one_by_one(model):
    source, lengths, target_in = batch()
    logits = model(source, lengths, target_in)
    for row, (length, target) in enumerate(zip(lengths.tolist(), (6, 6, 3, 2), strict=True)):
        alone = model(source[row : row + 1, :length], [length], target_in[row : row + 1, :target])
        assert_close(logits[row, :target], alone[0], atol=1e-5, rtol=1e-5)


def test_targets_are_causal_by_gradient(model):
    model = model.double()
    source, lengths, target_in = batch(targets=(6, 6, 6, 6))
    seen = {}

    def keep(module, args, output):
        output.retain_grad()
        seen["embedded"] = output

    model.target_embedding.register_forward_hook(keep)
    for t in range(6):
        logits = model(source, lengths, target_in)
        logits[:, t].pow(2).sum().backward()
        reach = seen["embedded"].grad.abs().sum((0, 2))
        first = 0 if model.window is None else max(0, t - 2 * (model.window - 1))
        assert (reach[t + 1 :] == 0).all()
        assert (reach[first : t + 1] > 0).all()
        assert (reach[:first] == 0).all()


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


def test_greedy_equals_repeating_the_whole_forward_pass(model):
    source, lengths, _ = batch()
    decoded = model.greedy(source, lengths, 8)
    written = torch.ones(4, 1, dtype=torch.long)
    for t in range(decoded.tokens.shape[1]):
        with torch.no_grad():
            logits = model(source, lengths, written)[:, -1]
        logits[:, :2] = -torch.inf
        alive = decoded.lengths > t
        assert torch.equal(logits.argmax(-1)[alive], decoded.tokens[alive, t])
        assert (decoded.tokens[~alive, t] == 0).all()
        written = torch.cat((written, decoded.tokens[:, t : t + 1]), 1)


def test_nan_in_the_rows_of_padding_harms_nothing(model):
    source, lengths, target_in = batch()
    clean = model(source, lengths, target_in)
    with torch.no_grad():
        model.source_embedding.weight[0] = torch.nan
        model.target_embedding.weight[0] = torch.nan
    logits = model(source, lengths, target_in)
    assert_close(logits, clean)
    logits.pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


def test_a_source_of_length_zero_is_finite_and_blind(model):
    source, _, target_in = batch()
    logits = model(source, [7, 5, 2, 0], target_in)
    other = source.clone()
    other[3] = 9
    assert logits.isfinite().all()
    assert_close(logits, model(other, [7, 5, 2, 0], target_in))
    logits.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


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


def test_eval_is_deterministic_and_train_is_not():
    model = make(dropout=0.3)
    inputs = batch()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))
    decoded = [model.greedy(inputs[0], inputs[1], 6) for _ in range(2)]
    assert torch.equal(decoded[0].scores, decoded[1].scores)
    assert model.training
    assert model.encoder.layers[0].dropout.training


def test_float64_agrees_with_float32(model):
    source, lengths, target_in = batch()
    single = model(source, lengths, target_in)
    double = model.double()(source, lengths, target_in)
    assert double.dtype == torch.float64
    assert_close(single.double(), double, atol=1e-4, rtol=1e-4)


def test_it_runs_in_half_precision_and_under_autocast(model):
    source, lengths, target_in = batch()
    lengths[3] = 0
    logits = model(source, lengths, target_in)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model(source, lengths, target_in)
        assert_close(mixed.float(), logits, atol=0.15, rtol=0.15)
        assert model.beam(source, lengths, 4, beam_size=2).scores.dtype == torch.float32
    mixed.float().pow(2).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    for dtype in (torch.bfloat16, torch.float16):
        low = model.to(dtype)(source, lengths, target_in)
        assert low.dtype == dtype
        assert_close(low.float(), logits, atol=0.15, rtol=0.15)
        assert model.greedy(source, lengths, 4).scores.dtype == torch.float32


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_what_the_cpu_gives(model):
    source, lengths, target_in = batch()
    model = model.double()
    expected, found = model(source, lengths, target_in), model.beam(source, lengths, 6)
    model, source, target_in = model.cuda(), source.cuda(), target_in.cuda()
    for placed in (lengths, lengths.cuda()):
        assert_close(model(source, placed, target_in).cpu(), expected)
        decoded = model.beam(source, placed, 6)
        assert torch.equal(decoded.tokens.cpu(), found.tokens)
        assert_close(decoded.scores.cpu(), found.scores)
        assert torch.equal(
            model.beam(source, placed, 6, beam_size=1).tokens,
            model.greedy(source, placed, 6).tokens,
        )


def test_beam_search_runs_through_the_cache_and_matches_teacher_forcing(model):
    source, lengths, _ = batch()
    decoded = model.beam(source, lengths, 7, beam_size=3, need_weights=True)
    steps = decoded.tokens.shape[1]
    target_in = torch.cat((torch.ones(4, 1, dtype=torch.long), decoded.tokens[:, :-1]), 1)
    with torch.no_grad():
        log_probs = model(source, lengths, target_in).log_softmax(-1)
        cross = model.weights(source, lengths, target_in).cross
    alive = torch.arange(steps) < decoded.lengths[:, None]
    picked = log_probs.gather(2, decoded.tokens[..., None]).squeeze(2).masked_fill(~alive, 0.0)
    assert_close(picked.sum(1), decoded.scores, atol=1e-4, rtol=1e-5)
    expected = cross.masked_fill(~alive[:, None, None, :, None], 0.0)
    assert_close(decoded.weights, expected, atol=1e-5, rtol=0)


def test_a_padded_batch_is_searched_as_its_sentences_one_by_one(model):
    source, lengths, _ = batch()
    for search in (lambda *x: model.greedy(*x, 6), lambda *x: model.beam(*x, 6, beam_size=3)):
        together = search(source, lengths)
        for row, length in enumerate((7, 5, 2, 1)):
            alone = search(source[row : row + 1, :length], [length])
            written = int(alone.lengths)
            assert int(together.lengths[row]) == written
            assert torch.equal(together.tokens[row, :written], alone.tokens[0])
            assert_close(together.scores[row], alone.scores[0], atol=1e-5, rtol=1e-5)


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


@pytest.mark.build
def test_it_learns_to_reverse():
    torch.manual_seed(0)
    model = Transformer(8, 8, embed_dim=32, num_heads=4, dropout=0.0, norm_first=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        source = torch.randint(3, 8, (64, 5))
        target = torch.cat((source.flip(1), torch.full((64, 1), 2)), 1)
        target_in = torch.cat((torch.ones(64, 1, dtype=torch.long), target[:, :-1]), 1)
        loss = nn.functional.cross_entropy(
            model(source, None, target_in).flatten(0, 1), target.flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source = torch.randint(3, 8, (200, 5))
    decoded = model.greedy(source, None, 8)
    target = torch.cat((source.flip(1), torch.full((200, 1), 2)), 1)
    exact = [row[:n].tolist() for row, n in zip(decoded.tokens, decoded.lengths, strict=True)]
    right = sum(mine == gold for mine, gold in zip(exact, target.tolist(), strict=True))
    assert right >= 190
