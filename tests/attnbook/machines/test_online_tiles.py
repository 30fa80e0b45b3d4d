"""One row in tiles: in any order, of any size, it is what torch makes of the whole row."""

import itertools

import pytest
import torch

from attnbook.machines import OnlineTiles

VALUES = [7.0, 14.0, 21.0, 3.0, 10.0, 5.0, 18.0, 1.0]
SCORES = [0.5, 1.5, -1.0, 0.0, 2.0, -0.5, 1.0, 4.0]
MIXED = [7, 2, 0, 5, 1, 6, 4, 3]


def make(**settings) -> OnlineTiles:
    given = {"scores": SCORES, "size": 2, "seen": 6, "title": "A title"}
    return OnlineTiles(VALUES, **given | settings)


SETTINGS = [
    {"seen": 8, "order": MIXED, "shift": 100},
    {"seen": 8, "rescale": False},
    {"seen": 8, "largest": False, "shift": 1000},
    {"seen": 0},
    {"size": 4, "seen": 4, "scores": [6.0, -4.0, 0.0, 0.5, 1.0, 2.0, 3.0, -1.0]},
]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("shift", [0, 1000])
def test_no_order_and_no_size_moves_the_output(size, shift):
    weights = torch.tensor(SCORES, dtype=torch.float64).softmax(0)
    expected = float(weights @ torch.tensor(VALUES, dtype=torch.float64))
    for order in (list(range(8)), MIXED, MIXED[::-1], sorted(range(8), key=SCORES.__getitem__)):
        now = make(size=size, seen=8, order=order, shift=shift).compute()
        assert now["output"] == pytest.approx(expected, abs=1e-12)
        assert now["whole"] == pytest.approx(expected, abs=1e-12)
        assert now["weights"] == pytest.approx(weights.tolist(), abs=1e-12)
        assert now["maximum"] == 4 + shift


def test_what_is_carried_is_that_of_the_keys_read():
    now = make(order=MIXED, seen=4).compute()
    read = torch.tensor([SCORES[j] for j in MIXED[:4]], dtype=torch.float64)
    values = torch.tensor([VALUES[j] for j in MIXED[:4]], dtype=torch.float64)
    assert now["maximum"] == read.max()
    assert now["sum"] == pytest.approx(float((read - read.max()).exp().sum()))
    assert now["output"] == pytest.approx(float(read.softmax(0) @ values))
    shares = [now["weights"][j] for j in MIXED]
    assert shares == pytest.approx([*read.softmax(0).tolist(), 0, 0, 0, 0])


def test_without_rescaling_the_order_matters():
    found = {
        round(make(seen=8, order=order, rescale=False).compute()["output"], 6)
        for order in (list(range(8)), MIXED, MIXED[::-1])
    }
    assert len(found) > 1
    largest_first = sorted(range(8), key=SCORES.__getitem__, reverse=True)
    lucky = make(seen=8, order=largest_first, rescale=False).compute()
    assert lucky["output"] == pytest.approx(lucky["whole"])


def test_without_the_maximum_large_scores_are_no_number():
    assert make(seen=8, largest=False).compute()["output"] is not None
    now = make(seen=8, largest=False, shift=1000).compute()
    assert (now["sum"], now["weighted"], now["output"]) == (None, None, None)


def test_the_last_correction_is_the_ratio_of_the_two_maxima():
    for (a, before), (b, after) in itertools.pairwise(
        (n, make(seen=n).compute()) for n in (2, 4, 6, 8)
    ):
        ratio = torch.tensor(before["maximum"] - after["maximum"], dtype=torch.float64).exp()
        assert after["factor"] == pytest.approx(float(ratio)), (a, b)
