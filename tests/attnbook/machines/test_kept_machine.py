"""The machine of page 14b: its numbers are `releases.cost`, and what is unknown stays so."""

import pytest

from attnbook.machines import KeptMachine
from attnbook.releases import CHIPS, LONGEST, cost


def make(**settings) -> KeptMachine:
    return KeptMachine(**{"title": "What it keeps"} | settings)


SETTINGS = [
    {"model": "gemma-3-27b", "context": 1024, "readers": 1024},
    {"model": "gpt-3"},
    {"model": "gpt-4", "chip": "4090"},
    {"model": "minimax-01", "context": 1048576, "weight_bits": 4, "readers": 2},
    {"model": "deepseek-v4-pro", "chip": "b200", "context": 2048, "readers": 64},
    {"model": "deepseek-v3.2", "context": 4096, "readers": 512, "weight_bits": 8},
    {
        "model": "own",
        "own": "layers: 48, full: 12, kv_heads: 4, head_dim: 256, window: 4096, billions: 12",
    },
    {
        "model": "own",
        "own": "layers=27 full=7 latent=576 state=524288 billions=48.5",
        "chip": "h200",
    },
    {"model": "own", "own": "layers=10 kv_heads=2 full=0 head_dim=64 window=0"},
    {"model": "own", "own": "no model"},
    {"model": "kimi-k3", "chip": "v5e", "context": 1048576, "readers": 1024},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_it_shows_the_cost_and_the_cache_of_all(settings):
    machine = make(**settings)
    asked = {name: value for name, value in machine.settings().items() if name not in PLACES}
    shown = machine.compute()
    assert shown.pop("caches") == [
        cost(model, CHIPS["h100"], context=machine.context)["cache"] for model in machine.rows()
    ]
    (model,) = (one for one in machine.rows() if one["id"] == machine.model)
    assert shown == cost(model, CHIPS[machine.chip], **asked)


PLACES = ("model", "own", "chip")


def test_a_model_of_the_readers_own_keeps_what_its_words_say():
    numbers = 2 * 4 * 256
    machine = make(**SETTINGS[6] | {"context": 32768})
    assert machine.compute()["cache"] == 2 * numbers * (12 * 32768 + 36 * 4096)
    places = machine.rows()[-1]["layers"][0]["places"]
    assert places == list(range(3, 48, 4))


def test_one_card_holds_the_longest_text_and_no_token_more():
    for settings in (SETTINGS[6], {"model": "llama-3.1-8b"}, {"model": "gemma-3-27b"}):
        machine = make(**settings)
        found = machine.compute()
        (model,) = (one for one in machine.rows() if one["id"] == machine.model)
        room = 80e9 - found["weights"]
        low, high = (
            cost(model, CHIPS["h100"], context=found["longest"] + more)["cache"] for more in (0, 1)
        )
        assert low <= room < high
        assert found["most"] * found["cache"] <= room < (found["most"] + 1) * found["cache"]
    assert make(model="mistral-7b").compute()["longest"] == LONGEST
    assert make(model="kimi-k3").compute()["longest"] == 0


def test_an_unknown_number_never_reaches_the_page():
    models = {model["id"]: model for model in make().models}
    assert "parameters" not in models["gpt-4"]
    assert "window" not in models["gpt-3"]["layers"][1]
    assert None not in [value for model in models.values() for value in model.values()]
