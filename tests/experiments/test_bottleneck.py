"""What one vector carries: counts and places are what they say they are."""

import pytest
import torch

from attnlab import tasks
from experiments import bottleneck, by_length
from experiments._scoring import aligned

CPU = torch.device("cpu")
PAIRS = {
    "reverse": [tasks.Pair(("a", "b", "c"), ("c", "b", "a"))] * 2,
    "copy": [tasks.Pair(("a", "b", "c"), ("a", "b", "c"))] * 2,
}


def setting(**changes):
    return {"task": "reverse", "model": "fixed", "width": 8, "steps": 0, "rate": 0.004, "seed": 3,
            "longest": 3, "most": 4, "tested": 4} | changes  # fmt: skip


def test_survivors_are_by_the_place_in_the_source():
    found = bottleneck._survivors(PAIRS["copy"], [["a", "b", "c"], ["b", "c"]])
    assert found["place"] == [0.5, 0.5, 0.5]
    assert found["aligned"] == [0.5, 1, 1]
    found = bottleneck._survivors(PAIRS["reverse"], [["c", "b", "x"], ["b", "a"]])
    assert found["place"] == [0, 0.5, 0.5]
    assert found["aligned"] == [0.5, 1, 0.5]
    assert found["chance"] == found["aligned"]  # all words are the same here


@pytest.mark.parametrize(
    "target, written, kept",
    [("abcd", "abcd", [0, 1, 2, 3]), ("abcd", "acd", [0, 2, 3]), ("abcd", "xbcd", [1, 2, 3]),
     ("abcd", "dcba", [0]), ("abcd", "", []), ("aab", "ab", [0, 2])],
)  # fmt: skip
def test_an_alignment_keeps_as_many_letters_as_it_can_in_their_order(target, written, kept):
    assert aligned(target, written) == kept


def test_counts_are_of_examples_exact_answers_and_letters():
    wrote = [["a", "b", "c", "c"], ["a", "b", "c"]]
    assert bottleneck._counts(PAIRS["copy"], wrote) == [2, 1, 6, 6]


def test_the_controls_of_both_comparisons_lack_what_they_say():
    assert bottleneck.build("every step", 8, 9).decoder.context == "every"
    weights = by_length._added(*torch.randn(2, 4)[:1], *torch.randn(2, 3, 4)).softmax(-1)
    torch.testing.assert_close(weights, weights[:1].expand_as(weights))
