"""The decoder-only model: causal, generating alike with and without caches, and learning."""

import pytest
import torch
from torch.testing import assert_close

from attnkit import masks
from attnlab import training
from attnlab.transformer import POSITION_SCHEMES, Encoder, LanguageModel

V = 11
VARIANTS = {
    **{kind: {"positions": kind} for kind in POSITION_SCHEMES},
    "grouped": {"num_kv_heads": 1},
    "window": {"window": 3},
    "untied relu": {"tie_embeddings": False, "activation": "relu"},
}
PROMPTS = torch.tensor([[3, 4, 5, 6], [7, 0, 10, 0], [8, 9, 0, 5]])  # junk behind the lengths
LENGTHS = [4, 1, 2]


def make(**options):
    torch.manual_seed(0)
    model = LanguageModel(V, **({"embed_dim": 16, "num_heads": 2, "dropout": 0.3} | options))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)  # far from uniform, so that a mix-up shows
    return model.eval()


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    return make(**request.param)


def test_a_logit_depends_on_the_tokens_up_to_its_own(model):
    tokens = torch.randint(V, (2, 8))
    logits = model(tokens)
    assert logits.shape == (2, 8, V)
    for place in range(8):
        other = tokens.clone()
        other[:, place] = (other[:, place] + 1) % V
        changed = (model(other) - logits).abs().amax((0, 2)) > 1e-6
        assert not changed[:place].any()
        assert changed[place]


def test_it_is_torchs_pre_norm_stack_between_two_uses_of_one_matrix():
    model = make(positions="none", activation="relu")
    layer = torch.nn.TransformerEncoderLayer(16, 2, 64, batch_first=True, norm_first=True)
    norm = torch.nn.LayerNorm(16)
    torch_stack = torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False).eval()
    for parameter in torch_stack.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model.stack.load_state_dict(Encoder.from_torch(torch_stack).state_dict())
    tokens = torch.randint(V, (2, 6))
    hidden = torch_stack(model.embedding.weight[tokens], mask=~masks.causal(6))
    assert_close(model(tokens), hidden @ model.embedding.weight.T, atol=1e-5, rtol=1e-5)


def test_greedy_is_the_argmax_repeated_with_and_without_cache(model):
    found = model.generate(PROMPTS, 5, lengths=LENGTHS, temperature=0)
    again = model.generate(PROMPTS, 5, lengths=LENGTHS, temperature=0, use_cache=False)
    assert torch.equal(found.tokens, again.tokens)
    assert_close(found.scores, again.scores, atol=1e-4, rtol=0)
    assert found.lengths.tolist() == [5, 5, 5]
    for row, length in enumerate(LENGTHS):
        text, score = PROMPTS[row : row + 1, :length], 0.0
        for _ in range(5):
            with torch.no_grad():
                log_probs = model(text)[:, -1].log_softmax(-1)
            score += log_probs.max().item()
            text = torch.cat((text, log_probs.argmax(-1)[:, None]), 1)
        assert text[0, length:].tolist() == found.tokens[row].tolist()
        assert found.scores[row].item() == pytest.approx(score, abs=1e-4)


def test_sampling_is_repeatable_and_alike_with_and_without_cache(model):
    def draw(seed=0, **options):
        generator = torch.Generator().manual_seed(seed)
        return model.generate(PROMPTS, 6, lengths=LENGTHS, generator=generator, **options).tokens

    options = {"temperature": 1.3, "top_k": 8, "top_p": 0.95}
    assert torch.equal(draw(**options), draw(**options))
    assert torch.equal(draw(**options), draw(**options, use_cache=False))
    assert any(not torch.equal(draw(**options), draw(seed, **options)) for seed in range(1, 5))
    assert torch.equal(draw(top_k=1), draw(temperature=0))


def test_a_row_ends_at_its_stop_and_the_rest_is_filler():
    model = make(pad=0)
    free = model.generate(PROMPTS, 8, lengths=LENGTHS, temperature=0)
    stop = int(free.tokens[0, 2])
    found = model.generate(PROMPTS, 8, lengths=LENGTHS, temperature=0, stop=stop)
    for row in range(3):
        alone = model.generate(PROMPTS[row : row + 1, : LENGTHS[row]], 8, temperature=0, stop=stop)
        length = int(found.lengths[row])
        assert int(alone.lengths) == length
        written = found.tokens[row, :length].tolist()
        assert written == free.tokens[row, :length].tolist() == alone.tokens[0].tolist()
        assert stop not in written[:-1]
        assert length == 8 or written[-1] == stop
        assert (found.tokens[row, length:] == 0).all()
        assert_close(found.scores[row], alone.scores[0], atol=1e-4, rtol=0)
    assert int(found.lengths[0]) <= 3
    without_pad = make().generate(PROMPTS, 8, lengths=LENGTHS, temperature=0, stop=stop)
    assert (without_pad.tokens[0, int(without_pad.lengths[0]) :] == stop).all()


def test_generate_leaves_the_model_and_the_prompts_as_they_were():
    model, before = make(), PROMPTS.clone()
    model.train()
    model.stack.layers[0].eval()
    found = model.generate(PROMPTS, 3, lengths=LENGTHS, temperature=0)
    assert (model.training, model.stack.layers[0].training) == (True, False)
    assert torch.equal(PROMPTS, before)
    assert not found.scores.requires_grad
    assert torch.equal(found.tokens, make().generate(before, 3, lengths=LENGTHS, temperature=0)[0])


def test_the_loss_is_the_surprise_at_each_next_token_without_padding():
    model = make(pad=0)
    tokens = torch.tensor([[3, 4, 5], [6, 7, 0]])
    log_probs = model(tokens).log_softmax(-1)
    expected = [log_probs[0, 0, 4], log_probs[0, 1, 5], log_probs[1, 0, 7]]
    assert_close(training.next_token_loss(model, tokens), -torch.stack(expected))
    assert training.next_token_loss(make(), tokens).shape == (4,)


@pytest.mark.build
def test_it_learns_to_repeat_and_generates_what_it_learned():
    torch.manual_seed(0)
    starts = torch.randint(3, V, (200, 4))
    texts = starts.repeat(1, 3)  # (200, 12): four symbols, three times
    model = LanguageModel(V, embed_dim=32, num_heads=4, dropout=0.0)
    batches = list(texts[:160].split(32))
    training.fit(model, batches, steps=200, lr=5e-3, loss=training.next_token_loss, progress=False)
    found = model.generate(texts[160:, :8], 4, temperature=0)
    assert (found.tokens == texts[160:, 8:]).float().mean() > 0.95
