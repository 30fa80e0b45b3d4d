"""What every sequence-to-sequence model promises, recurrent or Transformer."""

from functools import cache, partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnlab.rnn import FixedVectorDecoder
from attnlab.transformer import Transformer
from tests.attnlab.sequence_models import (
    LENGTHS,
    RECURRENT,
    TARGETS,
    TRANSFORMERS,
    batch,
    embeddings,
    recurrent,
    transformer,
)

VARIANTS = {
    **{f"rnn {name}": (recurrent, options) for name, options in RECURRENT.items()},
    **{f"transformer {name}": (transformer, options) for name, options in TRANSFORMERS.items()},
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    build, options = request.param
    return build(**options)


def cross_weights(model, *inputs):
    weights = model.weights(*inputs)
    return weights.cross if isinstance(model, Transformer) else weights


def looks_back(model):
    return not isinstance(model.decoder, FixedVectorDecoder)


def test_a_padded_batch_equals_its_sentences_one_by_one(model):
    source, lengths, target_in = batch()
    logits = model(source, lengths, target_in)
    wide = torch.cat((source, torch.full((4, 3), 9)), 1)
    assert_close(model(wide, lengths, target_in), logits, atol=1e-5, rtol=1e-5)
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

    embeddings(model)[1].register_forward_hook(keep)
    window = getattr(model, "window", None)
    for t in range(6):
        seen.clear()
        model(source, lengths, target_in)[:, t].pow(2).sum().backward()
        grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in seen]
        reach = torch.cat(grads, 1).abs().sum((0, 2))  # (T,)
        assert reach.shape == (6,)
        first = 0 if window is None else max(0, t - 2 * (window - 1))  # of two layers
        assert (reach[t + 1 :] == 0).all()
        assert (reach[first : t + 1] > 0).all()
        assert (reach[:first] == 0).all()


def test_nan_in_the_rows_of_padding_harms_nothing(model):
    source, lengths, target_in = batch()
    lengths[3], source[3] = 0, 0
    clean = model(source, lengths, target_in)
    with torch.no_grad():
        for embedding in embeddings(model):
            embedding.weight[0] = torch.nan
    logits = model(source, lengths, target_in)
    assert_close(logits, clean)
    logits.pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


def test_a_source_of_length_zero_is_finite_and_not_read(model):
    source, lengths, target_in = batch()
    lengths[3] = 0
    logits = model(source, lengths, target_in)
    other = source.clone()
    other[3] = 9
    assert logits.isfinite().all()
    assert_close(logits, model(other, lengths, target_in))
    if looks_back(model):
        assert (cross_weights(model, source, lengths, target_in)[3] == 0).all()
    assert model.greedy(source, lengths, 4).scores.isfinite().all()
    logits.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_greedy_search_is_the_likeliest_token_again_and_again(model):
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


@pytest.mark.parametrize("beam_size", [1, 3])
def test_scores_and_weights_of_a_search_are_those_of_teacher_forcing(model, beam_size):
    source, lengths, _ = batch()
    search = model.greedy if beam_size == 1 else partial(model.beam, beam_size=beam_size)
    decoded, plain = (
        search(source, lengths, 7, need_weights=n) for n in (looks_back(model), False)
    )
    assert torch.equal(plain.tokens, decoded.tokens)
    assert plain.weights is None
    steps = decoded.tokens.shape[1]
    target_in = torch.cat((torch.ones(4, 1, dtype=torch.long), decoded.tokens[:, :-1]), 1)
    with torch.no_grad():
        log_probs = model(source, lengths, target_in).log_softmax(-1)
    alive = torch.arange(steps) < decoded.lengths[:, None]
    picked = log_probs.gather(2, decoded.tokens[..., None]).squeeze(2).masked_fill(~alive, 0.0)
    assert_close(picked.sum(1), decoded.scores, atol=1e-4, rtol=1e-5)
    if looks_back(model):
        expected = cross_weights(model, source, lengths, target_in)
        ended = ~alive.view(4, *[1] * (expected.dim() - 3), steps, 1)
        assert_close(decoded.weights, expected.masked_fill(ended, 0.0), atol=1e-5, rtol=1e-5)


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


@cache
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


def test_it_runs_in_every_precision(model):
    source, lengths, target_in = batch()
    lengths[3] = 0
    logits = model(source, lengths, target_in)
    for dtype, near in ((torch.float64, 1e-4), (torch.bfloat16, 0.15), (torch.float16, 0.15)):
        other = model.to(dtype)(source, lengths, target_in)
        assert other.dtype == dtype
        assert_close(other.float(), logits, atol=near, rtol=near)
        scores = model.greedy(source, lengths, 4).scores
        assert scores.dtype == torch.promote_types(dtype, torch.float32)


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


@pytest.mark.parametrize(
    "made",
    [
        lambda: recurrent(attention="additive", dropout=0.4, num_layers=2),
        lambda: transformer(dropout=0.3),
    ],
    ids=["rnn", "transformer"],
)
def test_eval_is_deterministic_and_searching_leaves_the_mode_alone(made):
    model, inputs = made(), batch()
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))
    for search in (model.greedy, lambda *x: model.beam(*x, beam_size=2)):
        first, second = (search(*inputs[:2], 5) for _ in range(2))
        assert torch.equal(first.scores, second.scores)
    assert all(part.training for part in model.modules())


# The contract holds the gradients of the others, and test_translator.py has one of them learn.
