"""The lamps: weights and mixes are attnkit's, and the read-outs are those of a full regression."""

import itertools

import numpy as np
import pytest
import torch

from attnbook.machines import LampMachine
from attnbook.machines.lamp_machine import DECAY
from attnkit import scaled_dot_product_attention

PAIRS = torch.tensor(list(itertools.permutations(range(3), 2)))


def make(text: str = "hang", **settings) -> LampMachine:
    given = {"title": "Light all the lamps", "commands": (text, "let", "feed"), "head0": -2}
    return LampMachine(**given | settings)


SETTINGS = [
    {"second": True, "head0": -3, "head1": 7},
    {"head0": 12},
    {"second": True, "head0": 30, "head1": 29},
    {"second": True, "head0": -30, "head1": 30},
]


def mixes(machine: LampMachine) -> torch.Tensor:
    """What the heads bring from each of the six sentences, side by side (6, 3 H), by attnkit."""
    queries = torch.tensor([machine.head0, machine.head1][: 1 + machine.second]).double() / 10
    key = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    values = torch.eye(3, dtype=torch.float64)[PAIRS]  # (6, S, 3)
    found = [
        scaled_dot_product_attention(q.reshape(1, 1, 1), key, values).output[:, 0] for q in queries
    ]
    return torch.cat(found, -1)


@pytest.mark.parametrize("settings", [{"head0": -2}, *SETTINGS])
def test_chances_are_those_of_a_regression_with_all_weights_free(settings):
    """With a matrix for each read-out, of which nothing is assumed, and torch's own optimizer."""
    machine = make(**settings)
    shown, x = machine.compute(), mixes(machine)
    for side in (0, 1):
        matrix = torch.zeros(3, x.shape[1], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS(
            [matrix], max_iter=5000, tolerance_grad=1e-12, tolerance_change=1e-16,
            line_search_fn="strong_wolfe",
        )  # fmt: skip

        def loss(matrix=matrix, side=side):
            fits = torch.nn.functional.cross_entropy(x @ matrix.T, PAIRS[:, side])
            return fits + DECAY / 2 * matrix.square().sum()

        def step(matrix=matrix, optimizer=optimizer, loss=loss):
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        optimizer.step(step)
        chances = (x @ matrix.T).softmax(-1)  # (6, 3)
        for (left, right), row in zip(PAIRS.tolist(), chances, strict=True):
            by_side = row[[left, right, 3 - left - right]].detach().numpy()
            assert by_side == pytest.approx(np.array(shown["chances"][side]), abs=1e-4)


def test_one_head_lights_half_the_lamps_wherever_it_looks():
    for aim in range(-30, 31):
        shown = make(head0=aim).compute()
        assert shown["lit"] == (6 if aim else 0)
        assert shown["both"] == 0


def test_two_heads_light_all_lamps_once_they_look_apart_and_alike_they_are_one():
    for aim in (-30, -7, -2, 0, 5):
        assert make(second=True, head0=aim, head1=aim).compute()["both"] == 0
        one = make(head0=aim).compute()
        assert make(second=True, head0=aim, head1=aim).compute()["lit"] == one["lit"]
    for first, second in ((-30, 30), (-2, 2), (-10, 0), (20, -1)):
        shown = make(second=True, head0=first, head1=second).compute()
        assert (shown["lit"], shown["both"]) == (12, 6)
