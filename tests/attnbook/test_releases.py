"""The list of releases: its form, its arithmetic, and the figures that others have published."""

import itertools
import json
import math
import re
from pathlib import Path

import pytest

from attnbook import releases
from attnbook.releases import CHIPS, DATA, KINDS, MODELS, UNKNOWN, cost, terms, weights_read

ENTRIES = {entry["id"]: entry for entry in DATA["models"]}
each_entry = pytest.mark.parametrize("name", ENTRIES)
KEYS = {
    "full": {"kv_heads", "head", "heads"},
    "window": {"window", "kv_heads", "head", "heads"},
    "latent": {"latent", "rotary", "heads"},
    "chosen": {"latent", "rotary", "heads", "index", "index_heads", "top"},
    "state": {"heads", "key", "value"},
}
COMPRESSED = {"shared", "stride", "window"}
KNOWN = [name for name, one in MODELS.items() if cost(one, CHIPS["h100"], context=1024)["cache"]]


@each_entry
def test_a_model_has_every_field_and_a_source(name):
    entry = ENTRIES[name]
    fields = {"id", "name", "date", "parameters", "context", "order", "sources"}
    experts = {"active", "experts", "chosen"}
    stored = entry.keys() & {"bits", "size"}
    assert len(stored) == ("stored" in entry["sources"]) <= 1
    assert entry.keys() - {"layers"} - stored in (fields, fields | experts)
    assert re.fullmatch(r"20\d\d(-(0[1-9]|1[0-2]))?", entry["date"])
    assert "shape" in entry["sources"]
    assert entry["sources"].keys() & {"date", "shape"}
    assert all(link.startswith("https://") for link in entry["sources"].values())
    for field in ("parameters", "context", *(experts & entry.keys())):
        assert entry[field] == UNKNOWN or entry[field] > 0


@each_entry
def test_every_layer_is_of_a_known_kind_and_all_its_numbers_are_there(name):
    entry = ENTRIES[name]
    if entry["order"] == UNKNOWN:
        assert "layers" not in entry
        return
    assert {letter for _, run in entry["order"] for letter in run} == entry["layers"].keys()
    for layer in entry["layers"].values():
        kind = layer["kind"]
        keys = KEYS[kind]
        if "shared" in layer:
            keys = (keys - {"latent", "rotary"}) | COMPRESSED
        assert layer.keys() == keys | {"kind"}
        assert all(value == UNKNOWN or value > 0 for key, value in layer.items() if key != "kind")


def test_the_list_is_in_the_order_of_time_with_names_of_its_own():
    for key in ("id", "name"):
        assert len({entry[key] for entry in ENTRIES.values()}) == len(ENTRIES)
    years = [entry["date"][:4] for entry in ENTRIES.values()]
    assert years == sorted(years)
    dates = [entry["date"] for entry in ENTRIES.values() if len(entry["date"]) > 4]
    assert dates == sorted(dates)
    assert DATA["stamp"] >= dates[-1]


def test_chips_and_figures_have_sources():
    for chip in DATA["chips"]:
        assert chip.keys() == {"id", "name", "memory", "bandwidth", "compute", "source"}
    for row in DATA["checked"]:
        assert row["model"] in MODELS
        assert row["unit"] in releases.UNITS
    assert all(one["source"].startswith("https://") for one in DATA["chips"] + DATA["checked"])


def test_the_published_figures_are_met():
    rows = releases.checked()
    assert len(rows) >= 10
    for row in rows:
        error = abs(row["ours"] / row["value"] - 1)
        # A checkpoint of 4 bits keeps some of its weights, and the scales of the rest, in more.
        mixed = row["what"] == "weights" and row.get("weight_bits") == 4
        assert error < (0.11 if mixed else 0.03), row


def test_by_hand():
    """Gemma 3 27B: 10 full layers and 52 of 1,024 tokens, 16 heads of 128, keys and values."""
    numbers = 2 * 16 * 128
    for tokens in (1024, 131072):
        found = cost(MODELS["gemma-3-27b"], CHIPS["h100"], context=tokens)
        assert found["cache"] == 2 * numbers * (10 * tokens + 52 * 1024)
    assert found["token"] == 2 * numbers * 10
    state = terms({"kind": "state", "heads": 3, "key": 4, "value": 5})
    assert releases.entries(state, 1) == releases.entries(state, 10**6) == (0, 1)
    assert state["numbers"] == 60


@pytest.mark.parametrize("name", KNOWN)
def test_more_tokens_readers_and_bits_never_cost_less(name):
    def ask(context=2048, readers=2, bits=8):
        return cost(MODELS[name], CHIPS["h100"], context=context, readers=readers,
                    weight_bits=bits, cache_bits=bits)  # fmt: skip

    for few, many in itertools.pairwise((128, 1024, 4096, 2**20)):
        found = ask(context=few), ask(context=many)
        gained = found[1]["cache"] - found[0]["cache"]
        assert gained >= 0
        if few >= 4096:  # beyond every window, what grows is the price of a token
            assert gained == pytest.approx((many - few) * found[0]["token"])
    for found in (ask(), ask(readers=64), ask(bits=16)):
        assert found["step"] == max(found["load"] + found["fetch"], found["compute"] or 0)
    assert ask(bits=16)["cache"] == 2 * ask()["cache"]


@pytest.mark.parametrize("name", [name for name in KNOWN if MODELS[name]["experts"]])
def test_one_reader_reads_the_active_weights_and_many_read_all(name):
    model = MODELS[name]
    assert weights_read(model, 1) == pytest.approx(model["active"])
    assert weights_read(model, 10**6) == pytest.approx(model["parameters"])
    # Readers who choose at random: the share of experts that someone has called.
    share = model["chosen"] / model["experts"]
    routed = (model["parameters"] - model["active"]) / (1 - share)
    expected = model["parameters"] - routed * (1 - share) ** 3
    assert weights_read(model, 3) == pytest.approx(expected)


def test_what_depends_on_an_unknown_number_is_unknown():
    chip = CHIPS["h100"]
    for name, known in (("gpt-4", set()), ("gpt-3", {"weights"})):
        found = cost(MODELS[name], chip, context=2048)
        assert {key for key, value in found.items() if value is not None} == known
    found = cost(MODELS["deepseek-v4-pro"], chip, context=2048)
    assert {key for key, value in found.items() if value is None} == {"compute", "bound"}
    assert set(KINDS) == KEYS.keys()
    assert math.isfinite(found["step"])


def test_chosen_keys_are_kept_whole_and_read_in_part():
    dense, sparse = (
        cost(MODELS[name], CHIPS["h100"], context=131072, readers=32)
        for name in ("deepseek-v3", "deepseek-v3.2")
    )
    assert sparse["cache"] > dense["cache"]
    assert sparse["fetch"] < dense["fetch"] / 3


CONFIGS = json.loads(Path(__file__).with_name("configs.json").read_text("utf-8"))
"""What the published config.json of a listed model says of its cache, as public copies have it."""


@pytest.mark.parametrize("name", CONFIGS)
def test_a_published_configuration_gives_the_number_of_the_list(name):
    words = releases.config_words(json.dumps(CONFIGS[name]))
    assert ";" not in words
    for tokens in (1024, 131072):
        ours, listed = (cost(one, CHIPS["h100"], context=tokens)["cache"]
                        for one in (releases.own(words), MODELS[name]))  # fmt: skip
        assert ours == pytest.approx(listed)


BASE = {"num_hidden_layers": 32, "num_attention_heads": 8, "head_dim": 64}
UNSETTLED = [
    {"compress_ratios": [4, 128]},
    {"global_head_dim": 512},
    {"layer_types": ["full_attention"] * 31 + ["something_new"]},
    {"layer_types": ["full_attention"] * 2},
    {"layer_types": ["full_attention", "chunked_attention"] * 16},
    {"mamba_n_heads": 8, "mamba_d_head": 64, "mamba_d_state": 16},
    {"indexer_types": ["full", "shared"]},
]


def test_what_a_configuration_does_not_settle_is_not_guessed():
    every = releases.config_words(json.dumps(BASE))
    assert every == "billions= layers=32 kv_heads=8 head_dim=64"

    def read(**more):
        words = releases.config_words(json.dumps(BASE | more))
        return words, cost(releases.own(words), CHIPS["h100"], context=8192)["cache"]

    words, cache = read(sliding_window=1024)
    assert words.startswith(f"{every}; at most")
    assert cache == read()[1]
    for more in UNSETTLED:
        words, cache = read(**more)
        assert cache is None
        assert next(iter(more)) in words
        released = releases.own(words.partition(";")[0])
        assert cost(released, CHIPS["h100"], context=8192)["cache"]
    assert "whole" in releases.config_words('{"num_hidden_layers": 32,')
    assert read(attention_bias=True, num_kv_shared_layers=0)[0] == every


@pytest.mark.parametrize(("config", "words"), [
    ({"model_type": "gemma2", "num_hidden_layers": 42, "num_attention_heads": 16,
      "num_key_value_heads": 8, "head_dim": 256, "sliding_window": 4096},
     "layers=42 full=21 window=4096 kv_heads=8 head_dim=256"),
    ({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
      "num_key_value_heads": 8, "attn_layer_period": 8, "attn_layer_offset": 4,
      "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4},
     "layers=32 full=4 state=131072 kv_heads=8 head_dim=128"),
    ({"num_hidden_layers": 6, "hybrid_override_pattern": "M-M*E-", "head_dim": 128,
      "num_key_value_heads": 2, "mamba_num_heads": 64, "mamba_head_dim": 64,
      "ssm_state_size": 128},
     "layers=3 full=1 state=524288 kv_heads=2 head_dim=128"),
    ({"model_type": "mamba2", "num_hidden_layers": 64, "hidden_size": 2560, "expand": 2,
      "num_heads": 80, "head_dim": 64, "state_size": 128, "conv_kernel": 4},
     "layers=64 full=0 state=655360"),
    ({"text_config": {"model_type": "llama4_text", "num_hidden_layers": 48, "head_dim": 128,
                      "num_key_value_heads": 8, "attention_chunk_size": 8192,
                      "no_rope_layers": [], "attn_scale": 0.1}},
     "layers=48 full=12 window=8192 kv_heads=8 head_dim=128"),
])  # fmt: skip
def test_other_spellings_of_a_hybrid_are_read(config, words):
    assert releases.config_words(json.dumps(config)) == f"billions= {words}"


PLAIN = "billions=8 layers=32 kv_heads=8 head_dim=128"


def cached(words: str, context: int = 131072) -> float | None:
    return cost(releases.own(words), CHIPS["h100"], context=context)["cache"]


@pytest.mark.parametrize(("words", "named"), [
    (f"{PLAIN} windw=1024 hello", ["windw=1024", "hello"]),
    ("billions=8,5 layers=4 kv_heads=2 head_dim=64", ["billions=8,5"]),
    ("layers=4 full=2 window=1,024 kv_heads=1 head_dim=64", ["window=1,024"]),
    (f"{PLAIN} full=40", ["full=40 (of 32 layers)"]),
    ("layers=600 kv_heads=8 head_dim=128", ["layers=600 (more than 512)"]),
    (f"{PLAIN} kv_heads=20000000000", ["kv_heads=20000000000"]),
    (f"{PLAIN} latent=512", ["kv_heads beside latent", "head_dim beside latent"]),
    (f"{PLAIN} full=8 window=1024 state=4096", ["window beside state"]),
])  # fmt: skip
def test_every_word_that_is_not_understood_is_named_and_the_cache_unknown(words, named):
    assert releases.unread(words) == named
    assert cached(words) is None


@pytest.mark.parametrize("words", [
    PLAIN, PLAIN.replace(" ", ", ").replace("=", ": "), PLAIN.replace(" ", "; ") + "; window=",
    releases.OWN, releases.config_words(json.dumps(BASE)),
    releases.config_words(json.dumps(BASE | {"sliding_window": 1024})),
])  # fmt: skip
def test_what_is_understood_is_not_called_otherwise(words):
    assert releases.unread(words) == []
    assert cached(words)


def test_a_window_or_a_state_without_full_is_every_layer():
    words = "billions=8 layers=32 window=1024 kv_heads=8 head_dim=128"
    assert cached(words) == 2 * 32 * 1024 * 2 * 8 * 128
    assert cached(words.replace("1024", "0")) is None
    assert cached("layers=64 state=524288") == 2 * 64 * 524288
    assert [releases.own(f"billions={n}")["parameters"] for n in ("8.5", "8,5")] == [8.5, None]
