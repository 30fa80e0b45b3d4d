"""Every model learns, and attention comes to point where it should.

The whole claim, 99% at length 16, takes minutes a model: `python -m experiments.learning` measures
it and `results/learning.json` holds what it found. Here is the same training at length 8.
"""

import pytest
import torch

from attnbook import recorded
from attnlab import tasks
from experiments import learning

CPU = torch.device("cpu")
torch.set_num_threads(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["additive", "dot", "general", "concat", "transformer"])
def test_every_model_learns_to_reverse(name):
    setting = {"task": "reverse", "model": name, "seed": 5, "longest": 8, "tested": 200}
    found = learning.measure(setting | {"steps": 600}, device=CPU)
    assert found["exact"]["4"] >= 190
    assert found["exact"]["8"] >= 190


@pytest.mark.slow
def test_additive_attention_aligns_toy_french():
    setting = {"task": "toy_french", "model": "additive", "seed": 5, "steps": 500}
    found = learning.measure(setting | {"pairs": 10_000, "tested": 300}, device=CPU)
    assert found["error_rate"] < 0.15
    assert found["least_error_rate"] < 0.01
    assert found["exact"]["all"] > 200


def test_one_sure_link_each_takes_a_sure_link_where_there_is_one():
    pair = tasks.Pair(
        ("of", "the", "x"),
        ("du", "y"),
        frozenset({(0, 0), (0, 1)}),
        frozenset({(0, 0), (0, 1), (0, 2), (1, 2)}),
    )
    assert learning._one_sure_link_each(pair) == {(0, 1), (1, 2)}


def test_mistakes_are_counted_by_distance_from_the_nearest_right_place():
    pair = tasks.Pair(
        ("a", "b", "c", "d"), ("x", "y"), frozenset({(0, 0)}), frozenset({(0, 0), (0, 1), (1, 3)})
    )
    missed, words, all_words = learning._mistakes([{(0, 2), (1, 3)}], [pair])
    assert (missed, words, all_words) == ({1: 1}, {"x": 1}, {"x": 1, "y": 1})


def written():
    rows = recorded.results("learning")["rows"]
    return {(row["task"], row["model"]): row for row in rows}


@pytest.mark.parametrize("name", ["additive", "dot", "general", "concat", "transformer"])
def test_results_show_99_percent_at_length_16_within_two_minutes(name):
    row = written()["reverse", name]
    assert row["exact"]["16"]["estimate"] >= 0.99
    assert row["cpu_seconds"]["high"] <= 240, "two minutes of two cores"


def test_results_show_an_alignment_error_rate_below_15_percent():
    row = written()["toy_french", "additive"]
    assert row["error_rate"]["high"] < 0.15
    assert row["least_error_rate"]["high"] < row["error_rate"]["low"]
