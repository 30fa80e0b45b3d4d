"""The cache: it is counted as torch counts it, and a wrong call is named."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnbook.machines import CacheScrubber
from attnkit import MultiHeadAttention, masks
from attnkit.efficient import KVCache

WORDS = ["one", "two", "three", "four"]
SENTENCE = "cats that chased the rat that ate the malt in the house by the sea"


def make(text: str = "cats", **changed) -> CacheScrubber:
    given = {"words": [text, *SENTENCE.split()[1:]], "embed_dim": 32, "num_heads": 4}
    given |= {"num_layers": 2, "step": 3, "title": "A cache"} | changed
    return CacheScrubber(given.pop("words"), **given)


SETTINGS = [
    {"step": step, "kv_heads": kv_heads} for step, kv_heads in ((1, 4), (7, 2), (15, 1), (15, 4))
]


def multiply_adds(call) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call()
    return counter.get_total_flops() // 2  # it counts the addition as well


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_the_cache_is_counted_as_torch_counts_it(kv_heads):
    layer = MultiHeadAttention(16, 4, num_kv_heads=kv_heads).eval()
    scrubber = CacheScrubber(WORDS, embed_dim=16, num_heads=4, kv_heads=kv_heads)
    cache, x = KVCache(), torch.randn(1, len(WORDS), 16)
    with_cache, again = 0, 0
    for step in range(1, len(WORDS) + 1):
        # With weights asked for, the scores are plain products, which it counts.
        kept = multiply_adds(lambda n=step: layer(x[:, n - 1 : n], cache=cache, need_weights=True))
        whole = multiply_adds(
            lambda n=step: layer(x[:, :n], mask=masks.causal(n), need_weights=True)
        )
        scrubber.step = step
        assert scrubber.multiply_adds(step) == kept
        assert scrubber.multiply_adds(step, cached=False) == whole
        with_cache, again = with_cache + kept, again + whole
        assert (scrubber.total(), scrubber.total(cached=False)) == (with_cache, again)
        assert scrubber.nbytes() == cache.nbytes


def test_layers_and_bytes_multiply():
    one = CacheScrubber(WORDS, embed_dim=8, num_heads=2, step=3)
    more = CacheScrubber(WORDS, embed_dim=8, num_heads=2, num_layers=5, number_bytes=2, step=3)
    assert more.numbers() == 5 * one.numbers()
    assert more.nbytes() == 2 * more.numbers()
    assert more.total() == 5 * one.total()
    assert one.choices() == [2, 1]


def test_its_picture_and_words_hold_no_measured_number():
    data, metadata = CacheScrubber(WORDS, embed_dim=4, num_heads=2)._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"]
    assert data["text/plain"].startswith("Multiply-adds of each of 4 steps")
    assert data["image/png"]


def test_a_wrong_setting_later_leaves_the_old_one():
    grown = make(step=2)
    with pytest.raises(ValueError, match="step: expected 1 to 15"):
        grown.step = 99
    assert grown.step == 2


WRONG = [
    ({"words": []}, ValueError, "words: expected at least 1 string"),
    ({"embed_dim": 0}, ValueError, "embed_dim: expected"),
    ({"num_heads": 3}, ValueError, "num_heads: expected a divisor of embed_dim = 32, got 3"),
    ({"kv_heads": 3}, ValueError, r"kv_heads: expected one of \[4, 2, 1\]"),
    ({"step": 0}, ValueError, "step: expected 1 to 15, got 0"),
    ({"number_bytes": 1.5}, TypeError, "number_bytes: expected"),
]


@pytest.mark.parametrize("changed, kind, words", WRONG)
def test_a_wrong_call_names_the_argument(changed, kind, words):
    with pytest.raises(kind, match=words) as caught:
        make(**changed)
    assert isinstance(caught.value, kind)
