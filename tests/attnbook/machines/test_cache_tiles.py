"""The tiles: bytes are those of caches that hold such a token, and no price is made up."""

import math

import pytest
import torch

from attnbook.machines import CacheTiles
from attnbook.machines.cache_tiles import BITS
from attnkit import KVCache, MultiHeadAttention
from attnkit.mechanisms import LatentAttention

HEADS, DIM, LAYERS = 8, 4, 3
MODEL = {"name": "small", "layers": LAYERS, "heads": HEADS, "groups": 2, "dim": DIM}
MEASURED = [
    {"form": form, "bits": bits, "keys": 0.25, "values": 0.5, "loss": 2.5 + at + (16 - bits) / 8,
     "said": f" wrote {form} in {bits} bits."}
    for at, form in enumerate(("groups", "one", "latent-12", "latent-100"))
    for bits in BITS
]  # fmt: skip


def make(*, text: str = "small", **settings) -> CacheTiles:
    return CacheTiles(
        MODEL | {"name": text, "beginning": text}, MEASURED, **{"title": "A title"} | settings
    )


SETTINGS = [
    {"form": "latent-12"},
    {"form": "groups", "bits": 2},
    {"form": "latent-100", "bits": 4},
    {"form": "one", "bits": 8},
]


def heads_of(groups: int) -> MultiHeadAttention:
    return MultiHeadAttention(HEADS * DIM, HEADS, num_kv_heads=groups)


@pytest.mark.parametrize(("form", "layer", "numbers"), [
    ("groups", heads_of(2), 2 * 2 * DIM), ("one", heads_of(1), 2 * DIM),
    ("latent-12", LatentAttention(HEADS * DIM, HEADS, latent_dim=12, rope_dim=0), 12),
])  # fmt: skip
def test_bytes_are_those_that_caches_hold(form, layer, numbers):
    cache = KVCache()
    layer.half()(torch.randn(1, 5, HEADS * DIM).half(), cache=cache)
    now = make(form=form).compute()
    assert (now["bytes"], now["numbers"]) == (LAYERS * cache.nbytes / 5, numbers)


def test_fewer_bits_keep_two_numbers_of_each_block():
    for bits in BITS[1:]:
        counted = LAYERS * (100 * bits + 2 * 32) / 8
        assert make(form="latent-100", bits=bits).compute()["bytes"] == counted


def test_a_price_is_that_of_the_very_form_and_bits_above_the_models_own():
    own = make().compute()
    assert (own["rise"], own["share"]) == (0, 1)
    now = make(form="latent-12", bits=4).compute()
    assert now["rise"] == pytest.approx(math.exp(2 + 12 / 8) - 1)
    assert now["share"] == now["bytes"] / own["bytes"]
