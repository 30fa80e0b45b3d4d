"""What several experiments train and count with."""

from unittest.mock import patch

import pytest
import torch
from torch import nn

from attnlab import tasks, training
from experiments import _scoring, _training


@pytest.mark.parametrize("options, warm_up", [({}, 50), ({"warm_up": 1}, 1), ({"warm_up": 80}, 80)])
def test_the_rate_comes_up_in_a_line_and_goes_down_to_zero_along_a_cosine(options, warm_up):
    factor = _training.cosine(400, **options)
    quarter = 0.5 + 0.5 * 2**-0.5
    assert factor(0) == 1 / warm_up
    assert factor(100) == pytest.approx(quarter)
    assert factor(200) == pytest.approx(0.5)
    assert factor(300) == pytest.approx(1 - quarter)
    assert factor(400) == 0
    slow = _training.cosine(10**6, **options)  # it has hardly gone down when it is up
    middle = warm_up // 2
    assert slow(middle) == pytest.approx((middle + 1) / warm_up, rel=1e-6)
    assert [slow(warm_up - 1), slow(warm_up)] == pytest.approx([1, 1], rel=1e-6)


def test_the_numbers_that_a_model_learns_are_counted():
    assert _training.parameters(nn.Linear(3, 2)) == 8


@pytest.mark.parametrize("options", [{}, {"warm_up": 2}])
def test_fit_trains_with_the_schedule_and_says_how_long_it_took(options):
    pairs = tasks.reverse(8, seed=0)
    batches = tasks.Batches(pairs, *tasks.vocabs(pairs), batch_size=8)
    with (
        patch.object(training, "fit") as fitted,
        patch.object(_training.time, "process_time", side_effect=[10.0, 12.34]),
    ):
        cpu = torch.device("cpu")
        seconds = _training.fit(
            nn.Linear(1, 1), batches, steps=4, lr=0.1, seed=7, device=cpu, **options
        )
    given = fitted.call_args.kwargs
    assert seconds == 2.3
    assert (given["steps"], given["lr"], given["seed"], given["device"]) == (4, 0.1, 7, cpu)
    assert given["progress"] is False
    expected = _training.cosine(4, **options)
    assert list(map(given["schedule"], range(5))) == list(map(expected, range(5)))


PAIRS = [
    tasks.Pair(("a", "b"), ("x", "y"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)})),
    tasks.Pair(("b",), ("y",), frozenset({(0, 0)}), frozenset({(0, 0)})),
]


def test_an_answer_is_exact_when_all_of_it_is_right():
    assert _scoring.exact([["x", "y"], ["y"]], PAIRS) == [True, True]
    assert _scoring.exact([["x"], ["y", "y"]], PAIRS) == [False, False]


def test_the_error_rate_is_that_of_all_links_to_five_places():
    # A link that is sure counts twice, one that is only possible once: 1 - (1 + 2) / (3 + 2).
    assert _scoring.error_rate([{(0, 1), (1, 1)}, {(0, 0)}], PAIRS) == 0.4
    assert _scoring.error_rate([{(0, 0), (0, 1)}, {(0, 0), (0, 1), (0, 2)}], PAIRS) == 0.42857


def test_a_run_reaches_to_the_first_length_that_fails():
    run = {"by_length": {"1": [10, 10, 0], "10": [10, 10, 0], "2": [10, 9, 0], "3": [10, 8, 0]}}
    assert _scoring.reaches(run) == 2
    assert _scoring.reaches(run, share=0.8) == 10
    assert _scoring.reaches(run, share=0.95) == 1
    assert _scoring.reaches({"by_length": {"1": [10, 0]}}) == 0
