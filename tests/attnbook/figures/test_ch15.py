"""The figures of pages 15 and 15b show what the results files hold."""

import numpy as np
import pytest
import torch

from attnbook import recorded
from attnbook.figures import ch15, ch15b
from tests.book.chapter import page_cells


def test_the_effects_are_those_of_our_head(draw):
    run = recorded.results("reference")
    ours = next(row for row in run["rows"] if (row["layer"], row["head"]) == ch15.OURS)
    left, right = draw(ch15.effects)
    drawn = left.lines[0].get_xdata()
    assert list(drawn) == [ours["effects"][name]["median"] for name in ch15.PROPERTIES]
    bars = [bar.get_width() for bar in right.patches]
    assert bars == [frame["right"] for frame in run["famous"]["frames"]]


def test_every_head_of_every_translator_is_a_point(draw):
    row = max(recorded.results("il_or_elle")["rows"], key=lambda one: one["steps"])
    for line, run in zip(draw(ch15.il_or_elle)[0].lines, row["runs"], strict=False):
        heads = [head for head in run["heads"] if "effects" in head]
        assert list(line.get_ydata()) == [head["right_without"] for head in heads]
        assert list(line.get_xdata()) == [head["effects"]["meant"] for head in heads]


def test_the_best_of_heads_that_know_nothing_is_lucky_only_where_it_was_chosen():
    (low, found, high), fresh = ch15.coins(torch.full((72,), 0.1), 18)
    assert low <= found <= high
    assert found > 0.55 > fresh
    assert fresh == pytest.approx(0.5, abs=0.01)
    assert ch15.coins(torch.zeros(72), 18) == ([0.5, 0.5, 0.5], 0.5)  # none ever changes sides


def test_every_seed_of_collapse_is_a_dot_in_its_row(draw):
    found = ch15b.trained()
    for ax, what in zip(draw(ch15b.collapse_seeds), ("keys", "accuracy"), strict=True):
        drawn = iter(ax.lines)
        for case, _ in ch15b.CASES.values():
            early = [p[what] for curve in found[case] for p in curve if p["update"] == 160]
            assert list(next(drawn).get_xdata()) == early
            assert list(next(drawn).get_xdata()) == [curve[-1][what] for curve in found[case]]
        assert next(drawn, None) is None


def test_a_head_at_rest_is_drawn_by_weight_and_by_what_arrives(draw, minilm):
    weights, arrived = (
        np.reshape([square.get_width() ** 2 for square in ax.patches], (16, 16))
        for ax in draw(ch15b.sink)
    )
    assert np.allclose(weights.sum(1), 1)
    assert weights[:, 0].mean() > 0.7 > 0.05 > arrived[:, 0].mean()


def test_maps_of_words_that_are_the_same_are_flat(minilm):
    keys, tokens = ch15b.flat()
    assert keys == pytest.approx(tokens, abs=0.001)


def test_the_signs_to_copy_say_of_a_batch_what_they_say_of_each_sentence(capsys, minilm):
    names = {}
    exec(page_cells("15b")["signs"], names)
    torch.manual_seed(0)
    weights, values = torch.randn(3, 4, 5, 5).mul(2).softmax(-1), torch.randn(3, 4, 5, 2)
    states = torch.randn(3, 5, 8) + torch.arange(3.0)[:, None, None]
    batch = names["signs"](weights, values, states)
    assert [tuple(part.shape) for part in batch] == [(3, 4)] * 3 + [(3,)]
    for i, one in enumerate(zip(weights, values, states, strict=True)):
        for found, expected in zip(batch, names["signs"](*one), strict=True):
            torch.testing.assert_close(found[i], expected)
    for b, h in np.ndindex(3, 4):
        place = weights[b, h].mean(0).argmax()
        lengths = values[b, h].norm(dim=-1)
        torch.testing.assert_close(batch[2][b, h], lengths[place] / lengths.mean())
