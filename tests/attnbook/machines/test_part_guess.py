"""Guess what is lost without a part: the medians are those of the seeds."""

import statistics

import pytest

from attnbook.machines import PartGuess

PARTS = {
    "norms": {
        0.003: {50: [0.2, 0.22, 0.25], 250: [1.0, 0.9, 0.95], 1000: [1.0, 1.0, 1.0]},
        0.01: {50: [0.3], 250: [0.1, 0.6, 0.3], 1000: [0.5]},
    },
    "attention": {0.003: {50: [0.2, 0.21], 250: [0.2, 0.23]}, 0.01: {250: [0.22]}},
}


def make(text="norms", **settings) -> PartGuess:
    parts = {text: PARTS["norms"], "attention": PARTS["attention"]}
    more = {"most": {"attention": 0.3}, "reasons": {"attention": "It cannot look."}}
    return PartGuess(parts, asked=250, luck=0.21, **{"title": "A title"} | more | settings)


SETTINGS = [
    {"part": 1},
    {"guess": 95, "shown": True},
    {"rate": 1, "guess": 30},
    {"part": 1, "rate": 1, "guess": 0, "shown": True},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_medians_and_what_was_missed(settings):
    machine = make(**settings)
    now = machine.compute()
    curve = list(list(PARTS.values())[machine.part].values())[machine.rate]
    assert now["medians"] == [[n, 100 * statistics.median(curve[n])] for n in curve]
    first = next(iter(PARTS.values()))
    whole = list(first.values())[machine.rate]
    assert now["first"] == [[n, 100 * statistics.median(whole[n])] for n in whole]
    assert now["right"] == 100 * statistics.median(curve[250])
    assert now["missed"] == abs(machine.guess - now["right"])
