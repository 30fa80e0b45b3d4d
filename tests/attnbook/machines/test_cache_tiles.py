"""The tiles: bytes are those of caches that hold such a token, and no loss is made up."""

import math

import pytest
import torch
from traitlets import TraitError

from attnbook.machines import CacheTiles
from attnbook.machines.cache_tiles import BITS
from attnkit import KVCache, MultiHeadAttention
from attnkit.mechanisms import LatentAttention

HEADS, DIM, LAYERS = 8, 4, 3
MODELS = [
    {"name": "small", "layers": LAYERS, "heads": HEADS, "groups": 2, "dim": DIM, "rotary": 2,
     "latents": [12, 6], "own": "groups"},
    {"name": "large", "layers": 5, "heads": 64, "groups": 8, "dim": 16, "rotary": 0,
     "latents": [32, 16], "own": "latent"},
]  # fmt: skip
MEASURED = [
    {"model": "small", "form": "latent", "latent": 6, "bits": 4, "keys": 0.25, "values": 0.5,
     "loss": 3.5},
    {"model": "small", "form": "groups", "latent": 0, "bits": 16, "keys": 0.0, "values": 0.0,
     "loss": 2.5},
]  # fmt: skip


def make(*, text: str = "small", **settings) -> CacheTiles:
    models = [MODELS[0] | {"name": text}, MODELS[1]]
    given = {"form": "groups", "tokens": 1024, "title": "A title"}
    return CacheTiles(models, [one | {"model": text} for one in MEASURED], **given | settings)


SETTINGS = [
    {"form": "latent"},
    {"form": "heads", "bits": 2, "tokens": 131072},
    {"model": 1, "form": "latent", "latent": 32, "bits": 4},
    {"form": "one", "model": 1, "latent": 32, "bits": 8},
    {"form": "latent", "latent": 6, "bits": 4},
    {"held": [1, "latent", 16, 2], "bits": 8},
]


@pytest.mark.parametrize(("form", "kv_heads"), [("heads", 8), ("groups", 2), ("one", 1)])
def test_bytes_of_heads_are_those_that_caches_hold(form, kv_heads):
    layer = MultiHeadAttention(HEADS * DIM, HEADS, num_kv_heads=kv_heads).half()
    cache = KVCache()
    layer(torch.randn(1, 5, HEADS * DIM).half(), cache=cache)
    assert make(form=form).compute()["bytes"] == LAYERS * cache.nbytes / 5


@pytest.mark.parametrize("latent", [12, 6])
def test_bytes_of_a_latent_are_those_that_caches_hold(latent):
    layer = LatentAttention(HEADS * DIM, HEADS, latent_dim=latent, rope_dim=2).half()
    cache = KVCache()
    layer(torch.randn(1, 5, HEADS * DIM).half(), cache=cache)
    now = make(form="latent", latent=latent).compute()
    assert now["bytes"] == LAYERS * cache.nbytes / 5
    assert now["numbers"] == latent + 2 == sum(n for _, n in now["parts"])


def test_fewer_bits_keep_two_numbers_of_each_block():
    sizes = {bits: make(model=1, latent=32, form="heads", bits=bits).compute() for bits in BITS}
    numbers = sizes[16]["numbers"]
    assert numbers == 2 * 64 * 16
    for bits in BITS[1:]:
        assert sizes[bits]["bytes"] == 5 * numbers * (bits + 32 / 64) / 8
    assert sizes[16]["less"] == 1
    assert sizes[4]["text"] == 1024 * sizes[4]["bytes"]


def test_a_loss_is_that_of_the_very_form_and_bits():
    assert make(form="groups").compute()["found"] == [MEASURED[1]]
    assert make(form="latent", latent=6, bits=4).compute()["found"] == [MEASURED[0]]
    small = {"form": "latent", "latent": 6}
    for other in (small | {"latent": 12, "bits": 4}, small, {"model": 1, "form": "groups"}):
        assert make(**other).compute()["found"] == []


def test_a_rise_is_above_the_own_form_in_16_bits_and_only_where_both_were_measured():
    now = make(form="latent", latent=6, bits=4, held=[0, "groups", 0, 16]).compute()
    assert now["rise"] == [pytest.approx(math.exp(3.5 - 2.5) - 1)]
    assert now["beside"]["rise"] == [0]
    assert now["beside"]["bytes"] == make(form="groups").compute()["bytes"]
    assert make(form="one").compute()["rise"] == []


def test_what_is_held_is_one_of_the_models_forms():
    for wrong in ([2, "one", 0, 16], [0, "latent", 32, 16], [0, "one", 6, 16], []):
        with pytest.raises(TraitError, match="held"):
            make().held = wrong


def test_a_size_below_none_is_refused():
    with pytest.raises(ValueError, match="layers: expected"):
        CacheTiles([MODELS[0] | {"layers": -1}], [])
