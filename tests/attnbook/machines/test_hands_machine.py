"""The hands: their score is what rotary positions give, and new angles are those never shown."""

import math

import pytest
import torch

from attnbook.machines import HandsMachine, hands_machine
from attnbook.machines.hands_machine import BASES, CLOCKS, FARTHEST, FARTHEST_AIM, TRAINED
from attnkit.positions import rotary


def make(**settings) -> HandsMachine:
    return HandsMachine(**{"title": "The hands"} | settings)


SETTINGS = [
    {"distance": 37, "shift": 3},
    {"distance": 100, "shift": 777, "base": 500_000, "aim": 2},
    {"distance": 63, "squeeze": 4, "base": 100, "aim": 7},
    {"distance": 2, "shift": 27, "aim": 3},
]
HAND = torch.tensor([1.0, 0.0] * CLOCKS, dtype=torch.float64)[None]


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_score_is_that_of_turned_queries_and_keys(settings):
    machine = make(**settings)
    speeds = machine.base ** -(torch.arange(CLOCKS).double() / CLOCKS)
    # The learned weights turn the key's hands ahead; its position comes on top, squeezed or not.
    ahead = torch.stack([(machine.aim * speeds).cos(), (machine.aim * speeds).sin()], -1).flatten()
    places = [(machine.distance + machine.shift), machine.shift]
    if machine.squeeze == 1:
        query = rotary(HAND, places[0], base=machine.base)
        key = rotary(ahead[None], places[1], base=machine.base)
    else:
        angles = [place * speeds / machine.squeeze for place in places]
        angles[1] = angles[1] + machine.aim * speeds
        query, key = (torch.stack((a.cos(), a.sin()), -1).flatten()[None] for a in angles)
    assert machine.compute()["score"] == pytest.approx((query @ key.T).item(), abs=1e-9)


def test_a_point_of_the_curve_is_the_score_at_that_distance():
    curve = make(distance=9).compute()["curve"]
    assert curve[5] == pytest.approx(make(distance=5, shift=1000).compute()["score"])


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("squeeze", hands_machine.SQUEEZES)
def test_a_head_scores_highest_where_it_aims_and_squeezed_so_many_times_farther(base, squeeze):
    for aim in range(FARTHEST_AIM + 1):
        now = make(aim=aim, base=base, squeeze=squeeze).compute()
        assert max(range(FARTHEST + 1), key=now["curve"].__getitem__) == now["best"]
        assert now["best"] == aim * squeeze


def test_the_two_fastest_clocks_come_round_together_every_nineteen_steps():
    curve = make(aim=3, clocks=2).compute()["curve"]
    best = sorted(range(64), key=curve.__getitem__)[:-5:-1]
    assert best == [3, 22, 41, 60]
    assert make(aim=3, clocks=2, distance=22).compute()["score"] == pytest.approx(1.95, abs=0.01)


def test_an_angle_is_new_where_no_distance_of_training_comes_near():
    for far in range(FARTHEST + 1):
        now = make(distance=far).compute()
        if far < TRAINED:
            assert not any(now["new"])
        for clock in range(CLOCKS):
            speed = 10_000 ** (-clock / CLOCKS)
            steps = [n * speed / 50 for n in range(50 * (TRAINED - 1) + 1)]  # all angles between
            apart = min(abs((far * speed - one + math.pi) % math.tau - math.pi) for one in steps)
            if abs(apart - 0.2) > 0.02:
                assert now["new"][clock] is bool(apart > 0.2)


def test_squeezed_by_four_a_text_of_four_times_the_length_shows_nothing_new():
    assert any(make(distance=60).compute()["new"])
    assert not any(any(make(distance=far, squeeze=4).compute()["new"]) for far in range(61))
