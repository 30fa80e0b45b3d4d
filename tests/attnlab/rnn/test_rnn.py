"""Recurrent models: against the formulas step by step, padding, causality, teacher forcing."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from attnkit import AdditiveAttention, MultiHeadAttention, ProjectedAttention, trace
from attnlab.rnn import BahdanauDecoder, Encoder, FixedVectorDecoder, LuongDecoder, Seq2Seq, seq2seq
from tests.attnlab.sequence_models import LENGTHS, RECURRENT, TARGETS, batch
from tests.attnlab.sequence_models import recurrent as make

ATTENTIONS = ["none", "additive", "dot", "general", "concat"]


@pytest.fixture(params=RECURRENT.values(), ids=RECURRENT)
def model(request):
    return make(**request.param)


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
