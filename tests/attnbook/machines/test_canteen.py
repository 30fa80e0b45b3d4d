"""The canteen: its weights and its training are torch's; six days can be served, never seven."""

import math

import numpy as np
import pytest
import torch

from attnbook.machines import Canteen
from attnbook.machines.canteen import ASKING, DIAL, EDGE, RATE, RING, SIX
from attnkit import LuongAttention
from attnkit.functional import dot_scores

TOMORROW = (torch.arange(7) + 1) % 7


def make(**settings) -> Canteen:
    return Canteen(**{"title": "The canteen", "score": "general", "turn": 20} | settings)


SETTINGS = [
    {"score": "dot", "days": SIX, "learned": 7},
    {"score": "dot", "turn": 0, "learned": 60},
    {"turn": -51, "learned": 3, "days": SIX},
    {"score": "two", "asking": RING[1:] + RING[:1]},
    {"score": "two", "days": SIX, "asking": ASKING, "learned": 60},
]


def served(**settings) -> int:
    return sum(Canteen(**settings).compute()["served"])


def week_of(seed: int) -> list[list[float]]:
    drawn = np.random.default_rng(seed)
    angles, lengths = drawn.uniform(0, 2 * math.pi, 7), drawn.uniform(0.05, EDGE, 7)
    return np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], -1).tolist()


def turning(degrees: torch.Tensor) -> torch.Tensor:
    c, s = degrees.deg2rad().cos(), degrees.deg2rad().sin()
    return torch.stack([torch.stack([c, -s]), torch.stack([s, c])])


@pytest.mark.parametrize("settings", [{}, *SETTINGS])
def test_scores_are_those_of_luong_attention(settings):
    machine = make(**settings)
    found = machine.compute()
    keys, own = torch.tensor(found["keys"]), torch.tensor(found["own"])
    if machine.score == "general":
        layer = LuongAttention(2, 2, "general")
        with torch.no_grad():
            layer.weight.copy_(turning(torch.tensor(found["turned"])))
            attended = layer(keys, keys, need_weights=True)
    else:
        layer = LuongAttention(2, 2, "dot")
        attended = layer(own if machine.score == "two" else keys, keys, need_weights=True)
    assert np.array(found["weights"]) == pytest.approx(attended.weights.numpy(), abs=1e-6)
    best = attended.weights.argmax(-1)
    assert found["served"] == (best == TOMORROW).tolist()


@pytest.mark.parametrize("settings", SETTINGS)
def test_training_is_gradient_descent_on_the_mean_cross_entropy(settings):
    start, learned = {**settings, "learned": 0}, settings.get("learned", 5) or 5
    machine = make(**start)
    found = machine.compute()
    double = {"dtype": torch.float64, "requires_grad": True}
    keys, own = (torch.tensor(found[name], **double) for name in ("keys", "own"))
    angle = torch.tensor(math.radians(machine.turn), **double)
    for _ in range(learned):
        asked = {"dot": keys, "two": own, "general": keys @ turning(angle.rad2deg())}[machine.score]
        loss = torch.nn.functional.cross_entropy(dot_scores(asked, keys), TOMORROW)
        grads = torch.autograd.grad(loss, (keys, own, angle), allow_unused=True)
        with torch.no_grad():
            for one, grad, rate in zip((keys, own, angle), grads, (RATE, RATE, DIAL), strict=True):
                if grad is not None:
                    one -= rate * grad
            for one in (keys, own):
                one /= (one.norm(dim=-1, keepdim=True) / EDGE).clamp(min=1)
    machine.learned = learned
    found = machine.compute()
    assert np.array(found["keys"]) == pytest.approx(keys.detach().numpy(), abs=1e-9)
    assert np.array(found["own"]) == pytest.approx(own.detach().numpy(), abs=1e-9)
    assert math.radians(found["turned"]) == pytest.approx(angle.item(), abs=1e-9)


def test_one_table_serves_six_days_never_seven_and_training_takes_them_away():
    assert served(days=SIX) == 6
    assert served(days=SIX, learned=60) == 0
    assert served(days=RING) == 0
    assert max(served(days=week_of(seed)) for seed in range(200)) < 7
    before, after = (Canteen(days=SIX, learned=n).compute()["loss"] for n in (0, 60))
    assert after < before < math.log(7)


@pytest.mark.parametrize("seed", range(5))
def test_from_anywhere_training_leaves_one_table_with_the_regular_heptagon(seed):
    machine = Canteen(days=week_of(seed), learned=60)
    for _ in range(6):
        machine.days = [[*map(float, key)] for key in machine.compute()["keys"]]
    found = machine.compute()
    assert sum(found["served"]) == 0
    assert np.hypot(*np.transpose(found["keys"])) == pytest.approx(1.27, abs=0.02)
    assert found["loss"] == pytest.approx(1.508, abs=0.001)


def test_the_ring_is_perfect_so_that_all_days_change_at_half_a_seventh_of_a_circle():
    assert [served(score="general", turn=turn) for turn in (25, 26, 77, 78)] == [0, 7, 7, 0]
    shown = np.round(Canteen().compute()["weights"], 2)
    assert all((np.roll(row, -day) == shown[0]).all() for day, row in enumerate(shown))


def test_a_matrix_or_a_second_table_serves_all_seven():
    assert served(score="two", asking=RING[1:] + RING[:1]) == 7
    assert served(score="two", learned=0) == 0
    for score in ("general", "two"):
        assert served(score=score, learned=60) == 7
        assert served(score=score, days=SIX, learned=60) == 7
