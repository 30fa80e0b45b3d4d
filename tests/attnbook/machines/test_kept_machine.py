"""The machine of page 14b: its numbers are `releases.cost`, and what is unknown stays so."""

import pytest

from attnbook.machines import KeptMachine
from attnbook.releases import CHIPS, MODELS, cost


def make(**settings) -> KeptMachine:
    return KeptMachine(**{"title": "What it keeps"} | settings)


SETTINGS = [
    {"model": "gemma-3-27b", "context": 1024, "readers": 1024, "cache_bits": 8},
    {"model": "gpt-3"},
    {"model": "gpt-4", "chip": "4090"},
    {"model": "minimax-01", "context": 1048576, "weight_bits": 4, "readers": 2},
    {"model": "deepseek-v4-pro", "chip": "b200", "context": 2048, "readers": 64},
    {"model": "deepseek-v3.2", "context": 4096, "readers": 512, "weight_bits": 8},
    {"model": "kimi-k3", "chip": "v5e", "context": 1048576, "readers": 1024, "cache_bits": 4},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_it_shows_the_cost_and_the_cache_of_all(settings):
    machine = make(**settings)
    asked = {name: value for name, value in machine.settings().items() if name not in PLACES}
    shown = machine.compute()
    assert shown.pop("caches") == [
        cost(model, CHIPS["h100"], context=machine.context, cache_bits=machine.cache_bits)["cache"]
        for model in MODELS.values()
    ]
    assert shown == cost(MODELS[machine.model], CHIPS[machine.chip], **asked)


PLACES = ("model", "chip")


def test_an_unknown_number_never_reaches_the_page():
    models = {model["id"]: model for model in make().models}
    assert "parameters" not in models["gpt-4"]
    assert "window" not in models["gpt-3"]["layers"][1]
    assert None not in [value for model in models.values() for value in model.values()]
