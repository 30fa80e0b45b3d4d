"""The experiments on SmolLM2: their parts on small cases, what the model does, the book's files."""

import copy

import pytest
import torch

from attnbook import recorded
from attnbook.drawings import one_token as drawn
from attnkit import masks
from experiments import _smollm, dropped, induction, one_token, sinks, too_tired, turned, who_it_is
from tests.experiments.test_experiments import WRITES

# Small cases, without the model.


def test_a_window_with_kept_tokens_is_the_window_and_those_columns():
    plain, kept = _smollm.window(8, 3), _smollm.window(8, 3, (0, 1))
    assert torch.equal(plain, masks.sliding_window(8, window=3))
    assert torch.equal(kept, plain | (masks.causal(8) & (torch.arange(8) < 2)))
    assert kept[0].tolist() == [True] + [False] * 7  # nothing ahead


def test_positions_moved_and_spread_are_those_of_a_longer_text():
    x = torch.randn(1, 2, 6, _smollm.HEAD_DIM, generator=torch.Generator().manual_seed(0))
    own = _smollm.shifted(0)
    assert torch.equal(_smollm.spread(1)(x, 0), own(x, 0))
    padded = torch.cat([torch.zeros_like(x), x], -2)  # each token six places on
    assert (_smollm.shifted(6)(x, 0) - own(padded, 0)[..., 6:, :]).abs().max() < 1e-6
    sparse = torch.zeros(1, 2, 18, _smollm.HEAD_DIM)
    sparse[..., ::3, :] = x
    assert (_smollm.spread(3)(x, 0) - own(sparse, 0)[..., ::3, :]).abs().max() < 1e-6


def test_a_blindfolded_token_sees_itself_alone_and_all_others_as_before():
    mask, causal = sinks.blindfolded(6, 3), masks.causal(6)
    assert mask[3].tolist() == [False, False, False, True, False, False]
    others = torch.arange(6) != 3
    assert torch.equal(mask[others], causal[others])


def test_scores_of_a_head_that_looks_behind_the_first_occurrence():
    size = 2 * induction.LENGTH
    places = torch.arange(induction.LENGTH, size)
    weights = torch.zeros(1, 3, size, size)
    weights[0, 0, places, places - induction.LENGTH + 1] = 1.0
    weights[0, 1, places, places - 1] = 1.0
    found = induction.scores(weights)
    assert found["induction"] == [[1.0, 0.0, 0.0]]
    assert found["before"] == [[0.0, 1.0, 0.0]]


def test_the_control_is_as_many_other_heads_of_the_same_layers():
    chosen = [(17, 3), (17, 4), (18, 6)]
    for seed in range(5):
        found = induction.others(chosen, seed)
        assert sorted(layer for layer, _ in found) == [17, 17, 18]
        assert not set(found) & set(chosen)


def test_the_end_of_a_noun_is_its_last_piece():
    words = ["The", " el", "ephant", " didn", "'t", " enter", " the", " path", " because"]
    assert too_tired.end_of(words, "elephant") == 2
    assert too_tired.end_of(words, "path") == 7
    with pytest.raises(ValueError, match="no 'street'"):
        too_tired.end_of(words, "street")


# What the model does.


def test_the_layers_read_as_the_model_reads(smollm):
    tokens = _smollm.text(1, 12)[1]
    with torch.no_grad():
        expected = smollm.model.states(tokens)
    found = _smollm.read(tokens, need_weights=True)
    assert torch.equal(found.states, expected.states)
    assert torch.equal(found.weights, expected.weights)
    with torch.no_grad():
        logits = smollm.model(tokens)[0, :-1].log_softmax(-1)
    nats = _smollm.losses(found.states[:, -1], tokens)[0]
    assert (nats + logits.gather(1, tokens[0, 1:, None])[:, 0]).abs().max() < 1e-3


def test_a_window_over_a_cache_is_the_window_over_the_whole_text(smollm):
    tokens = _smollm.text(1, 24)[1]
    mask = _smollm.window(24, 16, (0,))
    whole = _smollm.read(tokens, mask=mask).states[:, -1, 16:]
    caches = _smollm.after(tokens, 16)
    rest = _smollm.read(tokens[:, 16:], mask=mask[16:], caches=copy.deepcopy(caches))
    assert (rest.states[:, -1] - whole).abs().max() < 2e-2  # of states that reach 1,000


def test_a_head_that_is_off_is_a_head_whose_columns_are_zero(smollm):
    tokens = _smollm.text(1, 8)[1]
    plain = _smollm.read(tokens).states
    with _smollm.without([(3, 1)]):
        off = _smollm.read(tokens).states
    assert torch.equal(plain[:, :4], off[:, :4])
    assert (plain[:, 4] - off[:, 4]).abs().max() > 1e-3
    columns = smollm.model.stack.layers[3].attention.out_proj.weight.data
    kept = columns[:, 64:128].clone()
    columns[:, 64:128] = 0.0
    zeroed = _smollm.read(tokens).states
    columns[:, 64:128] = kept
    assert (off[:, 4] - zeroed[:, 4]).abs().max() < 1e-4
    assert torch.equal(_smollm.read(tokens).states, plain)  # and it is on again


def test_what_comes_later_moves_no_weight(smollm):
    assert too_tired.measure({"frame": "active", "seed": 0}, device=None)["differs"] == 0.0


def test_what_stands_in_for_the_living_noun_is_read_at_its_place(smollm):
    found = who_it_is.measure({"frame": "thing, place", "seed": 0}, device=None)
    reading = smollm.read("The stone didn't cross the street because it", need_weights=True)
    row = reading.weights[who_it_is.LAYER, who_it_is.HEAD, -1]
    for name, noun in (("subject", " stone"), ("object", " street")):
        assert found[name] == pytest.approx(row[reading.tokens.index(noun)].item(), abs=1e-3)
    assert found["most"] == pytest.approx(row[1:].max().item(), abs=1e-3)


def test_the_famous_head_is_the_one_whose_subjects_are_changed():
    famous = recorded.results("too_tired")["famous"]
    assert (famous["layer"], famous["head"]) == (who_it_is.LAYER, who_it_is.HEAD)


def test_the_head_that_is_missed_most_is_the_one_that_fetches():
    off = recorded.results("one_token")["off"]
    chances = [one["chance"] for one in off["heads"]]
    assert len(chances) == 270
    assert chances == sorted(chances)
    row = recorded.results("one_token")["rows"][23]
    assert (off["heads"][0]["layer"], off["heads"][0]["head"]) == (23, row["head"])


# The book's files.


@pytest.mark.parametrize("name", WRITES)
def test_the_books_file_is_of_the_whole_experiment(name):
    run = recorded.results(name)
    assert run["command"] == f"python -m experiments.{name}"
    assert run["model"] == _smollm.NAME
    assert run["rows"]


def test_the_sizes_that_the_page_names_are_those_of_the_experiments():
    assert recorded.results("sinks")["texts"] == sinks.TEXTS == 100
    assert (sinks.LENGTH, sinks.PLACE) == (96, 48)
    assert recorded.results("turned")["texts"] == turned.TEXTS == 50
    assert recorded.results("dropped")["texts"] == dropped.TEXTS
    assert recorded.results("too_tired")["items"] == too_tired.ITEMS == 100
    assert recorded.results("who_it_is")["items"] == who_it_is.ITEMS == 100
    assert one_token.TEXTS * one_token.LENGTH // one_token.EVERY == 640


def test_the_drawing_is_of_the_recorded_token():
    run = recorded.results("one_token")
    assert [token.strip() for token in run["tokens"]] == list(drawn.TOKENS)
    for row, shown in zip(run["rows"], drawn.WAY, strict=True):
        assert (row["head"], row["token"].strip()) == (shown.head, shown.token)
        assert row["rank"] == shown.rank
        for name, value in (("on_first", shown.first), ("weight", shown.weight)):
            assert abs(row[name] - value) < 0.00501
    for layer, words in drawn.PLACES.items():
        assert words == f"{drawn.WAY[layer].rank:,}" + {1: "st", 3: "rd"}.get(
            drawn.WAY[layer].rank, "th"
        )
