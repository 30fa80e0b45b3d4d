"""What one vector carries: counts and places are what they say they are."""

import pytest
import torch

from attnlab import tasks
from experiments import bottleneck
from experiments._scoring import aligned, reaches

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


@pytest.mark.slow
@pytest.mark.build
def test_a_model_learns_and_the_shares_say_so():
    found = bottleneck.measure(
        setting(width=32, steps=400, longest=4, most=6, tested=50), device=CPU
    )
    assert reaches(found) >= 2
    tested, exact, letters, right = found["by_length"]["2"]
    assert (tested, letters) == (50, 100)
    assert exact <= right <= letters
    place, kept = found["by_place"]["place"], found["by_place"]["aligned"]
    assert sum(place) == pytest.approx(found["by_length"]["4"][3] / 50)
    assert sum(place) <= sum(kept)
    assert sum(found["by_place"]["chance"]) < sum(kept)
