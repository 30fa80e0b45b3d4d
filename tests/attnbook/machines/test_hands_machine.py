"""The hands: their score is what rotary positions give, and new angles are those never shown."""

import math

import pytest
import torch

from attnbook.machines import HandsMachine
from attnbook.machines.hands_machine import CLOCKS, FARTHEST, TRAINED
from attnkit.positions import rotary


def make(**settings) -> HandsMachine:
    return HandsMachine(**{"title": "The hands"} | settings)


SETTINGS = [
    {"query": 40, "key": 3},
    {"query": 2, "key": 100, "shift": 777, "base": 500_000},
    {"query": 63, "squeeze": 4, "base": 100},
    {"query": 9, "key": 7, "shift": 20},
]
HAND = torch.tensor([1.0, 0.0] * CLOCKS, dtype=torch.float64)[None]


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_score_is_that_of_turned_queries_and_keys(settings):
    machine = make(**settings)
    places = [machine.query + machine.shift, machine.key + machine.shift]
    # A position is divided by the squeeze; so is an angle at any offset.
    query, key = (rotary(HAND, place, base=machine.base) for place in places)
    if machine.squeeze > 1:
        speeds = machine.base ** -(torch.arange(CLOCKS).double() / CLOCKS)
        angles = [place * speeds / machine.squeeze for place in places]
        query, key = (torch.stack((a.cos(), a.sin()), -1).flatten()[None] for a in angles)
    assert machine.compute()["score"] == pytest.approx((query @ key.T).item(), abs=1e-9)


def test_moving_both_changes_nothing():
    scores = [make(query=9, key=4, shift=by).compute()["score"] for by in (0, 1, 1000)]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-9)
    curve = make(query=9, key=4).compute()["curve"]
    assert curve[5] == pytest.approx(make(query=5).compute()["score"])


def test_an_angle_is_new_where_no_distance_of_training_comes_near():
    for far in range(FARTHEST + 1):
        now = make(query=far).compute()
        if far < TRAINED:
            assert not any(now["new"])
        for clock in range(CLOCKS):
            speed = 10_000 ** (-clock / CLOCKS)
            steps = [n * speed / 50 for n in range(50 * (TRAINED - 1) + 1)]  # all angles between
            apart = min(abs((far * speed - one + math.pi) % math.tau - math.pi) for one in steps)
            if abs(apart - 0.2) > 0.02:
                assert now["new"][clock] is bool(apart > 0.2)


def test_squeezed_by_four_a_text_of_four_times_the_length_shows_nothing_new():
    assert any(make(query=60).compute()["new"])
    assert not any(any(make(query=far, squeeze=4).compute()["new"]) for far in range(61))
