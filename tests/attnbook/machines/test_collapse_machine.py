"""Scores that grow: rows, entropies and gradients are torch's, and each remedy does its work."""

import math

import pytest
import torch
from torch.func import jacrev

from attnbook.machines import CollapseMachine
from attnbook.machines.collapse_machine import CAP, KEYS, QUERIES
from attnlab.metrics import collapse


def make(text: str = "cat", **settings) -> CollapseMachine:
    words = ("the", text, "naps", "here", "and", "purrs")
    return CollapseMachine(
        words=words, **{"size": 2.5, "remedy": "cap", "title": "A title"} | settings
    )


SETTINGS = [
    {"size": 8.0, "remedy": "none"},
    {"size": 6.0, "remedy": "norm", "sink": True},
    {"size": 4.0, "remedy": "cap"},
    {"size": 0.5, "remedy": "cap", "sink": True},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_weights_entropies_and_gradients_are_torchs(settings):
    machine = make(**settings)
    now = machine.compute()
    query, key = (machine.size * torch.tensor(x, dtype=torch.float64) for x in (QUERIES, KEYS))
    if machine.remedy == "norm":
        query, key = (torch.nn.functional.rms_norm(x, x.shape[-1:]) for x in (query, key))

    def weights(scores):  # (S,)
        if machine.remedy == "cap":
            scores = CAP * torch.tanh(scores / CAP)
        return (torch.cat([torch.zeros(1), scores]) if machine.sink else scores).softmax(-1)

    raw = query @ key.T / math.sqrt(query.shape[-1])
    for i, row in enumerate(raw):
        expected = weights(row)
        assert now["weights"][i] == pytest.approx(expected.tolist(), abs=1e-12)
        entropy = collapse.entropy(expected).exp()
        assert now["effective"][i] == pytest.approx(entropy.item(), abs=1e-9)
        if not machine.sink:  # a sink's score is no derivative of anything
            found = jacrev(weights)(row).norm().item()
            assert now["gradients"][i] == pytest.approx(found, abs=1e-12)
    assert now["reach"] == pytest.approx(raw.abs().max().item())


def test_rows_become_one_hot_as_queries_and_keys_grow_and_the_gradient_goes():
    found = [make(size=size, remedy="none").compute() for size in (0.5, 1.0, 2.0, 4.0, 8.0)]
    keys, gradients = ([one[name] for one in found] for name in ("keys", "gradient"))
    assert keys == sorted(keys, reverse=True)
    assert gradients[-1] < 0.01 < gradients[1]
    assert found[-1]["onehot"] == 6


def test_a_row_that_finds_nothing_rests_on_the_sink_and_on_the_least_bad_key_without():
    for size in (2.0, 4.0, 8.0):
        row = make(size=size, remedy="none", sink=True).compute()["weights"][4]
        assert row[0] == max(row) > 0.5
        assert max(make(size=size, remedy="none").compute()["weights"][4]) > 0.5
    assert make(size=8.0, remedy="cap").compute()["reach"] > CAP
