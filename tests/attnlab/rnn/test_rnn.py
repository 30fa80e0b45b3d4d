"""Recurrent models: against the formulas step by step, padding, causality, teacher forcing."""

import functools
import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnkit import AdditiveAttention, MultiHeadAttention, ProjectedAttention, trace
from attnlab.rnn import (
    BahdanauDecoder,
    Encoder,
    FixedVectorDecoder,
    LuongDecoder,
    Seq2Seq,
    seq2seq,
)

LENGTHS, TARGETS = (7, 5, 2, 1), (6, 6, 3, 2)
ATTENTIONS = ["none", "additive", "dot", "general", "concat"]
VARIANTS = {
    "fixed first": {"attention": "none"},
    "fixed every": {"attention": "none", "context": "every"},
    "fixed lstm": {"attention": "none", "cell": "lstm", "context": "every", "num_layers": 2},
    "additive": {"attention": "additive"},
    "additive lstm": {"attention": "additive", "cell": "lstm", "num_layers": 2},
    "dot": {"attention": "dot"},
    "dot no feeding": {"attention": "dot", "input_feeding": False},
    "general lstm": {"attention": "general", "cell": "lstm"},
    "general no feeding": {"attention": "general", "input_feeding": False, "num_layers": 2},
    "concat": {"attention": "concat", "num_layers": 2},
    "one way": {"attention": "general", "bidirectional": False},
}


def make(**options):
    torch.manual_seed(0)
    model = seq2seq(11, 13, **({"embed_dim": 6, "hidden_dim": 8} | options))
    for parameter in model.parameters():  # wide enough for the parts to matter
        nn.init.normal_(parameter, std=0.4)
    with torch.no_grad():
        for embedding in (model.encoder.embedding, model.decoder.embedding):
            embedding.weight[0] = 0.0
    return model.eval()


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    return make(**request.param)


def batch(lengths=LENGTHS, targets=TARGETS):
    torch.manual_seed(1)
    source = torch.randint(3, 11, (len(lengths), max(lengths)))
    target_in = torch.randint(3, 13, (len(targets), max(targets)))
    target_in[:, 0] = 1
    for row, (length, target) in enumerate(zip(lengths, targets, strict=True)):
        source[row, length:] = 0
        target_in[row, target:] = 0
    return source, torch.tensor(lengths), target_in


# The encoder


@pytest.mark.parametrize(
    "cell, num_layers, bidirectional",
    list(itertools.product(["gru", "lstm"], [1, 2], [True, False])),
)
def test_the_encoder_is_torchs_rnn_on_each_sentence_alone(cell, num_layers, bidirectional):
    torch.manual_seed(0)
    encoder = Encoder(
        11, 6, 8, cell=cell, num_layers=num_layers, bidirectional=bidirectional
    ).eval()
    source, lengths, _ = batch()
    encoded = encoder(source, lengths)
    directions = 2 if bidirectional else 1
    assert encoder.output_dim == 8 * directions
    for row, length in enumerate(LENGTHS):
        outputs, state = encoder.rnn(encoder.embedding(source[row : row + 1, :length]))
        hidden, memory = state if cell == "lstm" else (state, None)
        assert_close(encoded.outputs[row, :length], outputs[0])
        assert (encoded.outputs[row, length:] == 0).all()
        # torch: (layers * directions, 1, hidden), the directions of a layer side by side
        joined = hidden.view(num_layers, directions * 8)
        assert_close(encoded.state[row], joined)
        if cell == "lstm":
            assert_close(encoded.cell[row], memory.view(num_layers, directions * 8))
        else:
            assert encoded.cell is None
        # the last state is that of the last token forwards and of the first backwards
        assert_close(encoded.state[row, -1, :8], outputs[0, -1, :8])
        if bidirectional:
            assert_close(encoded.state[row, -1, 8:], outputs[0, 0, 8:])
    assert encoded.mask.sum((1, 2)).tolist() == list(LENGTHS)


def test_an_empty_source_gives_states_of_zero():
    encoder = Encoder(11, 6, 8, cell="lstm")
    encoded = encoder(torch.randint(3, 11, (3, 4)), [4, 0, 2])
    for part in (encoded.outputs, encoded.state, encoded.cell):
        assert (part[1] == 0).all()
        assert (part[0] != 0).any()


def test_without_lengths_every_token_is_read():
    encoder = Encoder(11, 6, 8)
    source = torch.randint(3, 11, (3, 4))
    for mine, other in zip(encoder(source)[:2], encoder(source, [4, 4, 4])[:2], strict=True):
        assert_close(mine, other)


# The decoders, by their formulas


def reference(model, source, target):
    """One sentence, one step at a time, in the words of the papers."""
    decoder, encoded = model.decoder, model.encoder(source)
    memory = encoded.outputs[0]  # (S, F)
    hidden = torch.tanh(decoder.bridge(encoded.state)).transpose(0, 1).contiguous()
    state = hidden
    if decoder.cell_bridge is not None:
        cell = decoder.cell_bridge(encoded.cell).transpose(0, 1).contiguous()
        state = (hidden, cell)
    fed = torch.zeros(decoder.hidden_dim)
    logits, weights = [], []
    for token in target:
        top = (state[0] if isinstance(state, tuple) else state)[-1, 0]  # (H,)
        y = decoder.embedding.weight[token]
        if isinstance(decoder, FixedVectorDecoder):
            x = torch.cat((y, encoded.state[0, -1])) if decoder.context == "every" else y
            out, state = decoder.rnn(x[None, None], state)
            logits.append(decoder.readout(out[0, 0]))
        elif isinstance(decoder, BahdanauDecoder):
            a = decoder.attention
            scores = torch.stack(
                [a.v @ torch.tanh(a.query_proj(top) + a.key_proj.weight @ h) for h in memory]
            )
            weights.append(scores.softmax(0))
            context = weights[-1] @ memory
            out, state = decoder.rnn(torch.cat((y, context))[None, None], state)
            logits.append(decoder.readout(torch.cat((out[0, 0], context, y))))
        else:
            x = torch.cat((y, fed)) if decoder.input_feeding else y
            out, state = decoder.rnn(x[None, None], state)
            s, a = out[0, 0], decoder.attention
            scores = {
                "dot": lambda h, s=s: s @ h,
                "general": lambda h, s=s, a=a: s @ a.weight @ h,
                "concat": lambda h, s=s, a=a: a.v @ torch.tanh(a.weight @ torch.cat((s, h))),
            }[a.score]
            weights.append(torch.stack([scores(h) for h in memory]).softmax(0))
            fed = torch.tanh(decoder.combine(torch.cat((weights[-1] @ memory, s))))
            logits.append(decoder.readout(fed))
    return torch.stack(logits), torch.stack(weights) if weights else None


def test_a_decoder_is_its_papers_formula(model):
    source, lengths, target_in = batch()
    logits = model(source, lengths, target_in)
    has_attention = not isinstance(model.decoder, FixedVectorDecoder)
    weights = model.weights(source, lengths, target_in) if has_attention else None
    for row, (length, target) in enumerate(zip(LENGTHS, TARGETS, strict=True)):
        alone = source[row : row + 1, :length]
        expected, seen = reference(model, alone, target_in[row, :target].tolist())
        assert_close(logits[row, :target], expected, atol=1e-5, rtol=1e-5)
        if has_attention:
            assert_close(weights[row, :target, :length], seen, atol=1e-5, rtol=1e-5)
            assert (weights[row, :, length:] == 0).all()


# Properties


def test_a_padded_batch_equals_its_sentences_one_by_one(model):
    source, lengths, target_in = batch()
    logits = model(source, lengths, target_in)
    wide = torch.cat((source, torch.full((4, 3), 9)), 1)
    assert_close(model(wide, lengths, target_in), logits, atol=1e-6, rtol=1e-6)
    for row, (length, target) in enumerate(zip(LENGTHS, TARGETS, strict=True)):
        alone = model(source[row : row + 1, :length], [length], target_in[row : row + 1, :target])
        assert_close(logits[row, :target], alone[0], atol=1e-5, rtol=1e-5)


def test_targets_are_causal_by_gradient(model):
    source, lengths, target_in = batch(targets=(6, 6, 6, 6))
    model = model.double()
    seen = []

    def keep(module, args, output):
        output.retain_grad()
        seen.append(output)

    model.decoder.embedding.register_forward_hook(keep)
    for t in range(6):
        seen.clear()
        model(source, lengths, target_in)[:, t].pow(2).sum().backward()
        grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in seen]
        reach = torch.cat(grads, 1).abs().sum((0, 2))  # (T,)
        assert reach.shape == (6,)
        assert (reach[: t + 1] > 0).all()
        assert (reach[t + 1 :] == 0).all()


def test_nan_in_the_rows_of_padding_harms_nothing(model):
    source, lengths, target_in = batch()
    lengths[3] = 0
    clean = model(source, lengths, target_in)
    with torch.no_grad():
        model.encoder.embedding.weight[0] = torch.nan
        model.decoder.embedding.weight[0] = torch.nan
    source[3] = 0
    logits = model(source, lengths, target_in)
    assert_close(logits, clean)
    logits.pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


def test_teacher_forcing_one_reads_the_target_and_zero_the_model_itself(model):
    source, lengths, target_in = batch(targets=(6, 6, 6, 6))
    assert_close(
        model(source, lengths, target_in, teacher_forcing=1.0), model(source, lengths, target_in)
    )
    free = model(source, lengths, target_in, teacher_forcing=0.0)
    own = torch.cat((target_in[:, :1], free.argmax(-1)[:, :-1]), 1)
    assert_close(free, model(source, lengths, own), atol=1e-5, rtol=1e-5)
    other = target_in.clone()
    other[:, 1:] = 3
    assert_close(model(source, lengths, other, teacher_forcing=0.0), free)


def test_teacher_forcing_between_reads_the_target_as_often_as_it_says():
    model = make(attention="none")
    read = []
    model.decoder.embedding.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    with torch.no_grad():
        model.decoder.readout.bias[7] = 1e4  # the model always says 7, the target never does
    source, target_in = torch.randint(3, 11, (200, 4)), torch.full((200, 50), 5)
    torch.manual_seed(0)
    model(source, None, target_in, teacher_forcing=0.7)
    tokens = torch.cat(read, 1)
    assert (tokens[:, 0] == 5).all()
    assert set(tokens.unique().tolist()) == {5, 7}
    assert (tokens[:, 1:] == 5).double().mean().item() == pytest.approx(0.7, abs=0.02)


def test_free_running_is_greedy_search(model):
    source, lengths, _ = batch()
    with torch.no_grad():
        model.decoder.readout.bias[:2] = -1e4  # greedy never says padding or the first symbol
    decoded = model.greedy(source, lengths, 6)
    steps = decoded.tokens.shape[1]
    target_in = torch.ones(4, steps, dtype=torch.long)
    tokens = model(source, lengths, target_in, teacher_forcing=0.0).argmax(-1)
    alive = torch.arange(steps) < decoded.lengths[:, None]
    assert torch.equal(tokens[alive], decoded.tokens[alive])
    assert (decoded.tokens[~alive] == 0).all()


@pytest.mark.parametrize("name", [n for n in VARIANTS if "fixed" not in n])
def test_weights_of_greedy_search_are_those_of_teacher_forcing(name):
    model = make(**VARIANTS[name])
    source, lengths, _ = batch()
    plain = model.greedy(source, lengths, 6)
    decoded = model.greedy(source, lengths, 6, need_weights=True)
    assert torch.equal(plain.tokens, decoded.tokens)
    assert plain.weights is None
    steps = decoded.tokens.shape[1]
    assert decoded.weights.shape == (4, steps, 7)
    target_in = torch.cat((torch.ones(4, 1, dtype=torch.long), decoded.tokens[:, :-1]), 1)
    expected = model.weights(source, lengths, target_in)
    alive = torch.arange(steps) < decoded.lengths[:, None]
    assert_close(decoded.weights[alive], expected[alive], atol=1e-5, rtol=1e-5)
    assert (decoded.weights[~alive] == 0).all()
    assert_close(decoded.weights.sum(-1), alive.float())


def test_beam_search_matches_teacher_forcing(model):
    source, lengths, _ = batch()
    decoded = model.beam(source, lengths, 7, beam_size=3)
    steps = decoded.tokens.shape[1]
    target_in = torch.cat((torch.ones(4, 1, dtype=torch.long), decoded.tokens[:, :-1]), 1)
    with torch.no_grad():
        log_probs = model(source, lengths, target_in).log_softmax(-1)
    alive = torch.arange(steps) < decoded.lengths[:, None]
    picked = log_probs.gather(2, decoded.tokens[..., None]).squeeze(2).masked_fill(~alive, 0.0)
    assert_close(picked.sum(1), decoded.scores, atol=1e-4, rtol=1e-5)


def test_a_padded_batch_is_searched_as_its_sentences_one_by_one(model):
    source, lengths, _ = batch()
    for search in (lambda *x: model.greedy(*x, 6), lambda *x: model.beam(*x, 6, beam_size=3)):
        together = search(source, lengths)
        for row, length in enumerate(LENGTHS):
            alone = search(source[row : row + 1, :length], [length])
            written = int(alone.lengths)
            assert int(together.lengths[row]) == written
            assert torch.equal(together.tokens[row, :written], alone.tokens[0])
            assert_close(together.scores[row], alone.scores[0], atol=1e-5, rtol=1e-5)


def test_the_fixed_vector_is_all_that_passes():
    model = make(attention="none", context="every")
    source, lengths, target_in = batch()
    encoded = model.encoder(source, lengths)
    blind = encoded._replace(outputs=torch.zeros_like(encoded.outputs))
    assert_close(model.decoder(target_in, blind).logits, model(source, lengths, target_in))


def test_every_context_reaches_late_steps_when_the_state_forgets():
    logits = {}
    for context in ("first", "every"):
        model = make(attention="none", context=context)
        with torch.no_grad():
            model.decoder.bridge.weight.zero_()
            model.decoder.bridge.bias.zero_()
        source, lengths, target_in = batch()
        logits[context] = model(source, lengths, target_in)
    assert_close(logits["first"][0, 0], logits["first"][1, 0])
    assert not torch.allclose(logits["every"][0, 0], logits["every"][1, 0])


def test_a_source_of_length_zero_is_finite_with_weights_zero(model):
    source, _, target_in = batch()
    logits = model(source, [7, 5, 2, 0], target_in)
    assert logits.isfinite().all()
    if not isinstance(model.decoder, FixedVectorDecoder):
        assert (model.weights(source, [7, 5, 2, 0], target_in)[3] == 0).all()
    assert model.greedy(source, [7, 5, 2, 0], 4).scores.isfinite().all()


def test_float64_agrees_with_float32(model):
    source, lengths, target_in = batch()
    single = model(source, lengths, target_in)
    double = model.double()(source, lengths, target_in)
    assert double.dtype == torch.float64
    assert_close(single.double(), double, atol=1e-5, rtol=1e-4)


@functools.cache
def runs_under_autocast() -> bool:
    """Whether PyTorch's own LSTM does: oneDNN computes one in bfloat16 with AVX-512 alone."""
    try:
        with torch.autocast("cpu", torch.bfloat16):
            nn.LSTM(2, 2)(torch.zeros(1, 1, 2))
    except RuntimeError:
        return False
    return True


def test_it_runs_under_autocast(model):
    if any(isinstance(part, nn.LSTM) for part in model.modules()) and not runs_under_autocast():
        pytest.skip("PyTorch has no LSTM in bfloat16 on this processor")
    source, lengths, target_in = batch()
    lengths[3] = 0
    logits = model(source, lengths, target_in)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model(source, lengths, target_in)
        assert_close(mixed.float(), logits, atol=0.15, rtol=0.15)
        assert model.beam(source, lengths, 4, beam_size=2).scores.dtype == torch.float32
    mixed.float().pow(2).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_it_runs_in_half_precision(model):
    source, lengths, target_in = batch()
    lengths[3] = 0
    logits = model(source, lengths, target_in)
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


def test_eval_is_deterministic_and_searching_leaves_the_mode_alone():
    model = make(attention="additive", dropout=0.4, num_layers=2)
    inputs = batch()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))
    first, second = (model.beam(inputs[0], inputs[1], 5, beam_size=2) for _ in range(2))
    assert torch.equal(first.scores, second.scores)
    assert model.training
    assert model.encoder.rnn.training


# Any attention with the same interface


@pytest.mark.parametrize("kind", [BahdanauDecoder, LuongDecoder])
@pytest.mark.parametrize("name", ["projected", "additive", "multihead"])
def test_attention_modules_are_exchangeable(kind, name):
    torch.manual_seed(0)
    attention, context_dim = {
        "projected": lambda: (ProjectedAttention(8, 10, 4), None),
        "additive": lambda: (AdditiveAttention(8, 10, 4), None),
        "multihead": lambda: (MultiHeadAttention(8, 2, kdim=10, vdim=10), 8),
    }[name]()
    decoder = kind(13, 6, 8, 10, attention, context_dim=context_dim)
    model = Seq2Seq(Encoder(11, 6, 5), decoder).eval()
    source, lengths, target_in = batch()
    model(source, lengths, target_in).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in attention.parameters())
    heads = (2,) if name == "multihead" else ()
    assert model.weights(source, lengths, target_in).shape == (4, *heads, 6, 7)
    decoded = model.beam(source, lengths, 5, beam_size=2, need_weights=True)
    assert decoded.weights.shape == (4, *heads, decoded.tokens.shape[1], 7)


def test_keys_are_projected_once_a_sentence():
    model = make(attention="additive")
    calls = []
    model.decoder.attention.key_proj.register_forward_hook(lambda *_: calls.append(1))
    source, lengths, target_in = batch()
    model(source, lengths, target_in)
    assert len(calls) == 1
    with trace.record(model) as recorded:
        model(source, lengths, target_in)
    assert len(recorded) == 6
    assert {call.module for call in recorded} == {"decoder.attention"}
    joined = torch.cat([call["weights"] for call in recorded], 1)
    assert_close(joined, model.weights(source, lengths, target_in))


def test_an_lstm_decoder_follows_a_gru_encoder_with_cells_of_zero():
    decoder = FixedVectorDecoder(13, 6, 8, 16, cell="lstm")
    model = Seq2Seq(Encoder(11, 6, 8, cell="gru"), decoder)
    state = decoder.start(model.encoder(torch.randint(3, 11, (2, 4))))
    assert (state.cell == 0).all()
    assert (state.hidden != 0).any()


@pytest.mark.build
@pytest.mark.parametrize(
    "attention",  # the contract holds the gradients of each; one that learns stands for them
    [one if one == "general" else pytest.param(one, marks=pytest.mark.slow) for one in ATTENTIONS],
)
def test_every_attention_learns_to_reverse_three_tokens(attention):
    torch.manual_seed(0)
    model = seq2seq(8, 8, attention=attention, embed_dim=16, hidden_dim=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(150):
        source = torch.randint(3, 8, (64, 3))
        target = torch.cat((source.flip(1), torch.full((64, 1), 2)), 1)
        target_in = torch.cat((torch.ones(64, 1, dtype=torch.long), target[:, :-1]), 1)
        logits = model(source, None, target_in)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source = torch.randint(3, 8, (200, 3))
    target = torch.cat((source.flip(1), torch.full((200, 1), 2)), 1)
    for decoded in (model.greedy(source, None, 8), model.beam(source, None, 8, beam_size=3)):
        written = [t[:n].tolist() for t, n in zip(decoded.tokens, decoded.lengths, strict=True)]
        right = sum(a == b for a, b in zip(written, target.tolist(), strict=True))
        assert right >= 190


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_shared_embeddings_are_one_matrix_three_times(attention):
    torch.manual_seed(0)
    sizes = {"attention": attention, "embed_dim": 6, "hidden_dim": 8, "share_embeddings": True}
    model = seq2seq(13, 13, **sizes).eval()
    narrow, _, logits = model.decoder.readout
    shared = model.decoder.embedding.weight
    assert model.encoder.embedding.weight is shared
    assert logits.weight is shared
    assert not shared[0].any()
    seen = []
    narrow.register_forward_hook(lambda module, given, gave: seen.append(gave))
    said = model(*batch())
    assert_close(said, torch.cat(seen, 1).tanh() @ shared.T)
    plain = seq2seq(13, 13, **sizes | {"share_embeddings": False})
    shares, owns = (sum(p.numel() for p in each.parameters()) for each in (model, plain))
    readout = narrow.in_features + 1
    assert owns - shares == 13 * 6 + readout * 13 - readout * 6


def test_the_score_of_additive_attention_may_have_a_size_of_its_own():
    model = seq2seq(9, 9, embed_dim=4, hidden_dim=6, attention_dim=3)
    assert model.decoder.attention.v.shape == (3,)
    assert seq2seq(9, 9, hidden_dim=6).decoder.attention.v.shape == (6,)
    with pytest.raises(TypeError, match="attention_dim"):
        seq2seq(9, 9, attention="none", attention_dim=3)
