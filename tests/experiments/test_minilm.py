"""The experiments on a published model: their parts on small cases, and the book's files."""

import collections
import math

import pytest
import torch

from attnbook import recorded
from attnlab.pretrained import Bert
from experiments import _minilm, collapse, explaining, real_sentence, reference, similar


@pytest.fixture(scope="module")
def small():
    """A random model, first states (2, 5, 8) and the mask of lengths 5 and 3."""
    torch.manual_seed(0)
    model = Bert(20, embed_dim=8, num_heads=2, hidden_dim=16, num_layers=3).eval()
    tokens = torch.randint(20, (2, 5))
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None]
    return model, model.embed(tokens).detach(), real


@torch.no_grad()
def test_the_layers_written_out_are_the_models(small):
    model, x, real = small
    ours, theirs = _minilm.run(model, x, real), model.run(x, real)
    assert (ours.weights - theirs.weights).abs().max() < 1e-6
    assert (ours.states[0] - theirs.states[0]).abs().max() < 1e-5
    assert (ours.states[1, :, :3] - theirs.states[1, :, :3]).abs().max() < 1e-5


@torch.no_grad()
def test_a_head_that_is_off_is_a_head_whose_columns_are_zero(small):
    model, x, real = small
    off = _minilm.run(model, x, real, edit=_minilm.without([(1, 0)])).states
    columns = model.encoder.layers[1].attention.out_proj.weight
    kept = columns.clone()
    columns[:, :4] = 0.0
    zeroed = model.run(x, real).states
    columns.copy_(kept)
    assert (off[0] - zeroed[0]).abs().max() < 1e-5
    assert (off[0] - model.run(x, real).states[0]).abs().max() > 1e-3


def test_rollout_multiplies_the_first_layer_first():
    one, two = torch.eye(3)[[1, 2, 0]], torch.eye(3)[[0, 0, 0]]
    found = _minilm.rollout(torch.stack([one, two])[:, None])
    assert torch.allclose(found, (two + torch.eye(3)) @ (one + torch.eye(3)) / 4)
    assert torch.allclose(found.sum(-1), torch.ones(3))
    assert not torch.allclose(found, _minilm.rollout(torch.stack([two, one])[:, None]))


def test_items_use_every_noun_equally_often_with_ever_other_partners():
    made = reference.items(reference.ITEMS)
    for noun, names in (("a", reference.ANIMATE), ("p", reference.PLACES)):
        counts = collections.Counter(item[noun] for item in made)
        assert set(counts) == set(names)
        assert set(counts.values()) == {reference.ITEMS // len(names)}
    assert len({(item["a"], item["p"]) for item in made}) == len(made)
    assert (made[0]["a"], made[0]["p"]) == ("animal", "street")


def test_each_explanation_is_as_often_true_of_either_noun_and_hides_in_no_other():
    rows = [
        reference.signs(meant, frame) for frame in reference.FRAMES for meant in ("tired", "wide")
    ]
    table = torch.tensor([[row[name] for name in reference.READINGS] for row in rows]).float()
    assert torch.equal(table.T @ table, 8 * torch.eye(4))


def test_effects_find_what_was_put_in():
    planted = {"meant": 0.1, "animate": -0.2, "subject": 0.3, "farther": 0.05}
    more = torch.zeros(3, 4, 2)
    for place, frame in enumerate(reference.FRAMES):
        for column, meant in enumerate(("tired", "wide")):
            signs = reference.signs(meant, frame)
            more[:, place, column] = sum(planted[name] * signs[name] for name in planted)
    for name, value in reference.effects(more).items():
        assert torch.allclose(value, torch.full((3,), planted[name]), atol=1e-6)


def test_rates_count_sentences_and_pairs():
    more = torch.tensor([[0.2, 0.1], [0.2, -0.1], [-0.3, -0.1]])  # pairs
    found = {name: value.item() for name, value in reference.rates(more).items()}
    assert found == pytest.approx({"right": 4 / 6, "both right": 1 / 3, "moves": 2 / 3})


def test_kendalls_tau():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert explaining.tau(x, x.exp()) == 1
    assert explaining.tau(x, -x) == -1
    assert explaining.tau(x, x[[1, 0, 2, 3]]) == pytest.approx(4 / 6)


def test_weight_that_is_taken_away_is_dropped_or_handed_on():
    weights = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]).expand(1, 1, 2, 3)
    hidden = torch.tensor([[True, False, False]])
    dropped, shared = (similar.taken_away(hidden, how)(0, weights)[0, 0] for how in (False, True))
    assert torch.allclose(dropped, torch.tensor([[0.0, 0.3, 0.2], [0.0, 0.0, 0.0]]))
    assert torch.allclose(shared, torch.tensor([[0.0, 0.6, 0.4], [0.0, 0.0, 0.0]]))


@pytest.mark.build
def test_pairs_are_of_different_words_and_of_no_two_sentences_twice():
    found = similar.pairs(similar.PAIRS, similar.SEED)
    assert len(found) == similar.PAIRS
    assert len({text for pair in found for text in pair}) >= 2 * similar.PAIRS - 2
    assert found == similar.pairs(similar.PAIRS, similar.SEED)


def test_a_lookup_names_the_value_beside_the_key():
    symbols, answers = collapse.batch(50, torch.Generator().manual_seed(0))
    for row, answer in zip(symbols.tolist(), answers.tolist(), strict=True):
        *pairs, (asked, none) = row
        assert none == 2 * collapse.SYMBOLS
        assert dict(pairs)[asked] == collapse.SYMBOLS + answer
        assert len(dict(pairs)) == collapse.PAIRS


def test_qk_norm_bounds_the_scores():
    torch.manual_seed(0)
    x = 50 * torch.randn(2, 6, collapse.WIDTH)
    keys = {
        norm: collapse.collapse.entropy(collapse.Attention(qk_norm=norm)(x)[1]).exp().mean()
        for norm in (False, True)
    }
    assert keys[False] < 1.2
    assert keys[True] > 3


# What the model does.


def test_left_out_is_a_sentence_that_no_one_sees_the_word_of(minilm):
    text = "The animal didn't cross the street because it was too tired."
    tokens = minilm.batch([text])[0]
    it, hidden = minilm.read(text).tokens.index("it"), 2
    mask = torch.ones(1, 16, 16, dtype=torch.bool)
    mask[..., hidden] = False
    moved = explaining.left_out(minilm, tokens, it)
    with torch.no_grad():
        plain = minilm.model(tokens).states[0, -1, it]
        by_mask = minilm.model(tokens, mask=mask).states[0, -1, it]
    assert moved[hidden].item() == pytest.approx(
        explaining.distance(plain, by_mask).item(), abs=1e-5
    )


def test_hidden_is_a_softmax_over_the_other_words(minilm):
    reading = minilm.read("The animal didn't cross the street because it was too tired.")
    tokens = minilm.batch(["The animal didn't cross the street because it was too tired."])[0]
    it, word, layer = reading.tokens.index("it"), reading.tokens.index("tired"), _minilm.FAMOUS[0]
    assert explaining.hidden(minilm, tokens, it, word, []) == pytest.approx(0, abs=1e-6)

    def edit(number, weights):
        if number != layer:
            return weights
        logs = weights.log()
        logs[:, :, it, word] = -math.inf
        return logs.softmax(-1)

    x, real = minilm.model.embed(tokens), torch.ones(1, 1, tokens.shape[1], dtype=torch.bool)
    with torch.no_grad():
        moved = _minilm.run(minilm.model, x, real, edit=edit).states[0, -1, it]
        expected = explaining.distance(minilm.model(tokens).states[0, -1, it], moved).item()
    found = explaining.hidden(minilm, tokens, it, word, list(range(_minilm.HEADS)))
    assert found == pytest.approx(expected, abs=1e-5)
    assert 1e-4 < found < explaining.left_out(minilm, tokens, it)[word]


def test_the_book_s_files_are_of_these_experiments(minilm):
    for name in ("explaining", "real_sentence", "reference", "similar"):
        assert recorded.results(name)["command"] == f"python -m experiments.{name}"
    run = recorded.results("reference")
    assert run["items"] == reference.ITEMS
    assert list(run["frames"]) == list(reference.FRAMES)
    made = reference.items(4)
    texts = [reference.sentence(item, "passive", "wide") for item in made]
    weights = reference.looks(minilm, texts, [(item["a"], item["p"]) for item in made])
    layer, head = minilm_famous = run["famous"]["layer"], run["famous"]["head"]
    assert minilm_famous == (3, 1)
    assert (weights[:, 1, layer, head] > weights[:, 0, layer, head]).all()  # on the place
    assert recorded.results("similar")["texts"][0] == list(similar.pairs(150, 0)[0])


def test_the_recorded_sentence_is_read_so_by_the_model(minilm):
    """The explorers of chapters 05, 08 and 09 show it where the weights are not installed."""
    run = recorded.results("real_sentence")
    tokens, _, weights, _ = minilm.read(run["sentence"])
    assert (run["sentence"], run["layer"]) == (real_sentence.SENTENCE, real_sentence.LAYER)
    assert run["tokens"] == tokens
    rows = torch.tensor([row["weights"] for row in run["rows"]])  # (H, L, L)
    assert rows.shape == weights[run["layer"]].shape
    assert (rows - weights[run["layer"]]).abs().max() < 1e-4
    it = tokens.index(run["word"])
    for row, of_layer in zip(run["layers"], weights, strict=True):
        assert (torch.tensor(row["weights"]) - of_layer[row["head"]]).abs().max() < 1e-4
        most = of_layer[:, it, 1:-1].max()  # without [CLS] and [SEP]
        assert abs(most - row["weight"]) < 1e-4
        assert abs(of_layer[row["head"], it, tokens.index(row["most"])] - most) < 1e-6
    head = run["projected"]
    assert (head["layer"], head["head"]) == _minilm.FAMOUS
    query, key = (torch.tensor(head[name]) for name in ("query", "key"))  # (L, D) each
    made = (query @ key.T / query.shape[-1] ** 0.5).softmax(-1)
    assert (made - weights[_minilm.FAMOUS]).abs().max() < 1e-4
    found = real_sentence.typical(minilm, _minilm.HEADS, real_sentence.LIKE_IT)
    assert found == run["like_it"]
