"""Guess what is lost without a part: the medians are those of the seeds."""

import statistics

import pytest

from attnbook.machines import PartGuess

PARTS = {
    "norms": {50: [0.2, 0.22, 0.25], 250: [1.0, 0.9, 0.95], 1000: [1.0, 1.0, 1.0]},
    "attention": {50: [0.2, 0.21], 250: [0.2, 0.23]},
}


def make(text="norms", **settings) -> PartGuess:
    parts = {text: PARTS["norms"], "attention": PARTS["attention"]}
    return PartGuess(parts, asked=250, luck=0.21, **{"title": "A title"} | settings)


SETTINGS = [{"part": 1}, {"guess": 95, "shown": True}, {"part": 1, "guess": 0, "shown": True}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_medians_and_what_was_missed(settings):
    machine = make(**settings)
    now, curve = machine.compute(), list(PARTS.values())[machine.part]
    assert now["medians"] == [[n, 100 * statistics.median(curve[n])] for n in curve]
    assert now["right"] == 100 * statistics.median(curve[250])
    assert now["missed"] == abs(machine.guess - now["right"])


def test_what_is_asked_must_be_there():
    with pytest.raises(ValueError, match="asked: expected a number of updates of attention"):
        PartGuess(PARTS, asked=1000)
    with pytest.raises(ValueError, match="parts: expected shares from 0 to 1"):
        PartGuess({"norms": {50: [2.0]}}, asked=50)
