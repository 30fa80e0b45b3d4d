"""The experiment behind chapter 08: its task, its bound, and its switched heads."""

import itertools

import pytest
import torch

from attnbook import recorded
from experiments import heads, one_head


def test_every_sentence_has_its_commands_around_not():
    words, commands, at_not, held_out, vocabulary = heads.corpus()
    assert words.max() == vocabulary
    story = heads.sentence(*heads.STORY)
    assert story == ["hang", "them", "not", "let", "them", "go"]
    pairs = list(map(tuple, commands.tolist()))
    seen = {pair for pair, held in zip(pairs, held_out.tolist(), strict=True) if not held}
    new = set(pairs) - seen
    assert tuple(map(heads.VERBS.index, heads.STORY)) in new
    assert len(new) == len(set(pairs)) // 4
    assert len({tuple(row) for row in words.tolist()}) == len(words)
    for command in range(len(heads.VERBS)):  # each is seen on both sides
        assert all(any(pair[side] == command for pair in seen) for side in range(2))
    rows = torch.arange(len(words))
    assert (words[rows, at_not] == words[0, at_not[0]]).all()


def test_the_bound_counts_the_pairs_that_a_graph_without_triangles_leaves():
    n = len(heads.VERBS) - 1
    edges = max(  # a complete bipartite graph has most
        part * (n - part) for part in range(n + 1)
    )
    most, pairs = heads.bound()
    assert pairs == len(list(itertools.permutations(heads.VERBS, 2)))
    assert pairs - most == n * (n - 1) // 2 - edges


@pytest.mark.parametrize("share", [0.2, 0.45, 0.5, 0.55, 0.8])
def test_no_read_outs_of_one_mix_name_three_commands_in_all_orders(share):
    """The step that the bound rests on, with the most accurate read-outs that a search finds."""
    orders = torch.tensor(list(itertools.permutations(range(3), 2)))
    one_hot = torch.eye(3, dtype=torch.float64)
    mix = share * one_hot[orders[:, 0]] + (1 - share) * one_hot[orders[:, 1]]  # (6, 3)
    generator = torch.Generator().manual_seed(0)
    reads = torch.randn(100_000, 3, 4, generator=generator, dtype=torch.float64)  # W and bias
    logits = mix @ reads[..., :3].mT + reads[:, None, :, 3]  # (N, 6, 3)
    found = [(logits.argmax(-1) == orders[:, side]).all(-1).any() for side in range(2)]
    assert found == [share > 0.5, share < 0.5]


def test_scores_of_a_reader_are_a_part_of_the_word_and_a_part_of_the_place():
    torch.manual_seed(0)
    model = heads.Reader(9, 6, heads=1)
    layer = model.attention[0]
    query, key = layer.in_proj.weight[:64].double().split(32)
    bias = layer.in_proj.bias[:64].double().split(32)
    word, place = (x.weight.double() for x in (model.word, model.place))
    asking = (word[3] + place[2]) @ query.T + bias[0]
    table = (word[:, None] + place) @ key.T @ asking + bias[1] @ asking  # words by places
    centred = table - table.mean(0) - table.mean(1, keepdim=True) + table.mean()
    assert centred.abs().max() < 1e-9


@pytest.mark.parametrize("places", ["queries and keys", "everywhere", "rotary"])
def test_a_switch_of_ones_changes_nothing_and_of_zeros_leaves_the_bias(places):
    torch.manual_seed(0)
    model = heads.Reader(9, 6, heads=2, places=places)
    words, at_not = torch.tensor([[1, 2, 3, 4, 0, 0], [5, 6, 3, 7, 8, 9]]), torch.tensor([2, 2])
    plain = model(words, at_not)
    assert plain.shape == (2, 2, len(heads.VERBS))
    assert torch.allclose(model(words, at_not, torch.ones(2)), plain, atol=1e-6)
    dark = model(words, at_not, torch.zeros(2))
    assert torch.allclose(dark[0], dark[1], atol=1e-6)
    each = [model(words, at_not, torch.eye(2)[head]) for head in range(2)]
    assert torch.allclose(each[0] + each[1] - dark, plain, atol=1e-5)


def test_the_results_in_the_book_name_the_bound_that_the_code_computes():
    most, pairs = heads.bound()
    bound = {"pairs": most, "share": round(most / pairs, 4)}
    assert recorded.results("heads")["bound"] == bound


@pytest.mark.parametrize("off", one_head.OFF)
def test_a_look_that_is_cut_brings_nothing_where_it_was_and_all_elsewhere(off):
    words, _, at_not, held_out, vocabulary = heads.corpus()
    torch.manual_seed(0)
    model = heads.Reader(vocabulary, words.shape[1], heads=1, layers=2)
    entering = []
    model.attention[1].register_forward_pre_hook(lambda _, given: entering.append(given[2]))

    def read(rows):
        return model(words[rows], at_not[rows])

    with torch.no_grad():
        read(held_out)
        one_head.right_without(model, read, at_not, held_out, off)
        read(held_out)  # nothing stays cut
    plain, cut, after = entering
    not_ = (torch.arange(words.shape[1]) == at_not[held_out][:, None])[..., None]  # (B, L, 1)
    gone = {"nothing": not_ & False, "the first layer": not_ | True}
    gone |= {"the first look of not": not_, "all other first looks": ~not_}
    assert torch.equal(cut, model.word(words[held_out]).where(gone[off], plain))
    assert torch.equal(after, plain)
