"""The machine of page 14b: its numbers are `releases.cost`, and what is unknown stays so."""

import json

from attnbook.machines import KeptMachine
from tests.attnbook.test_releases import BASE, CONFIGS, UNSETTLED


def make(**settings) -> KeptMachine:
    return KeptMachine(**{"title": "What it keeps"} | settings)


OWN = [
    {"sliding_window": 1024},
    {"num_hidden_layers": 2, "layer_types": ["full_attention"] * 2 + ["sliding_attention"]},
    {"num_kv_shared_layers": 0, "attention_bias": True},
]
OWN_WORDS = "layers: 48, full: 12, kv_heads: 4, head_dim: 256, window: 4096, billions: 12"
SETTINGS = [
    {"model": "gemma-3-27b", "context": 1024, "readers": 1024},
    {"model": "gpt-3"},
    {"model": "gpt-4", "chip": "4090"},
    {"model": "minimax-01", "context": 1048576, "weight_bits": 4, "readers": 2},
    {"model": "deepseek-v4-pro", "chip": "b200", "context": 2048, "readers": 64},
    {"model": "deepseek-v3.2", "context": 4096, "readers": 512, "weight_bits": 8},
    {"model": "own", "chip": "h200",
     "own": "layers=27 full=7 latent=576 state=524288 billions=48.5"},
    *({"model": "own", "own": text} for text in (
        OWN_WORDS, "layers=10 kv_heads=2 full=0 head_dim=64 window=0", "no model",
        "layers=10 full=20 kv_heads=2 head_dim=64", '{"num_hidden_layers": 32, ',
        "layers=4 kv_heads=2 head_dim=64 billions=8,5",
        "billions=8 layers=32 kv_heads=8 head_dim=128 windw=1024 hello",
        "billions=8 layers=32 window=1024 kv_heads=8 head_dim=128",
        "billions=8, layers=64, state=524288, window=",
        "layers=600 kv_heads=8 head_dim=128", "layers=4 kv_heads=20000000000 head_dim=64",
        "layers=4 full=2 window=1024 state=4096 kv_heads=1 head_dim=64",
        '{"model_type": "mamba2", "num_hidden_layers": 64, "hidden_size": 2560, "expand": 2, '
        '"num_heads": 80, "head_dim": 64, "state_size": 128}',
    )),
    *({"model": "own", "own": text}
      for text in map(json.dumps, (*CONFIGS.values(), *(BASE | one for one in OWN + UNSETTLED)))
      if len(text) < 800),
    {"model": "kimi-k3", "chip": "v5e", "context": 1048576, "readers": 1024},
]  # fmt: skip


def test_a_model_of_the_readers_own_keeps_what_its_words_say():
    numbers = 2 * 4 * 256
    machine = make(model="own", own=OWN_WORDS, context=32768)
    assert machine.compute()["cache"] == 2 * numbers * (12 * 32768 + 36 * 4096)
    places = machine.rows()[-1]["layers"][0]["places"]
    assert places == list(range(3, 48, 4))


def test_a_card_has_room_for_so_many_readers_and_not_for_one_more():
    for model in ("own", "llama-3.1-8b", "gemma-3-27b"):
        found = make(model=model, own=OWN_WORDS).compute()
        room = 80e9 - found["weights"]
        assert found["most"] * found["cache"] <= room < (found["most"] + 1) * found["cache"]
    assert make(model="kimi-k3").compute()["most"] == 0


def test_an_unknown_number_never_reaches_the_page():
    models = {model["id"]: model for model in make().models}
    assert "parameters" not in models["gpt-4"]
    assert "window" not in models["gpt-3"]["layers"][1]
    assert None not in [value for model in models.values() for value in model.values()]
