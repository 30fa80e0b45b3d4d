"""Gate, plane and cache: what they compute is what torch gives, and a wrong call is named."""

import math

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from traitlets import TraitError

from attnbook.machines import CacheScrubber, GateSlider, QueryPlane
from attnkit import LuongAttention, MultiHeadAttention, masks, scaled_dot_product_attention
from attnkit.efficient import KVCache
from attnlab.rnn import Encoder

WORDS = ["one", "two", "three", "four"]
BITS = [1, 0, 1, 1]
KEY = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
NAMES = ["the", "black", "cat"]


@pytest.mark.parametrize("bias", [-2.0, 0.0, 1.7, 6.0])
def test_the_gates_state_is_that_of_a_gru_with_that_gate(bias):
    """All weights zero, the update gate's bias set, a candidate that is the bit itself."""
    slider = GateSlider(WORDS, BITS, bias=bias)
    encoder = Encoder(vocab_size=2, embed_dim=1, hidden_dim=1, bidirectional=False)
    with torch.no_grad():
        for parameter in encoder.rnn.parameters():
            parameter.zero_()
        encoder.rnn.bias_ih_l0[1] = bias  # rows: reset, update, new
        encoder.rnn.weight_ih_l0[2] = 1.0
        # tanh reaches 1/2 at atanh(1/2): bits of one half, and the state is half as large.
        encoder.embedding.weight.copy_(torch.tensor([[0.0], [math.atanh(0.5)]]))
        states = 2 * encoder(torch.tensor([BITS])).outputs[0, :, 0]
    assert slider.states() == pytest.approx(states.numpy(), abs=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_the_gates_state_is_torchs_to_the_last_bit(turned):
    slider = GateSlider(WORDS * 8, BITS * 8, bias=0.9)
    z = torch.tensor(slider.gate)
    state, found = torch.zeros(()), []
    for place, bit in enumerate(BITS * 8):
        state = z * state + (1 - z) * (1 - bit if turned and place == 0 else bit)
        found.append(state.item())
    assert slider.states(turned).tolist() == found


def test_a_bit_falls_out_of_a_float32_when_it_has_no_place_left():
    slider = GateSlider(["w"] * 30, [1] + [0] * 28 + [1])
    slider.step = 25
    assert slider.moved() == 2.0**-25
    bits = [1] * 30  # the state stays near 1, where a float32 has 24 places
    full = GateSlider(["w"] * 30, bits)
    moved = []
    for full.step in range(1, 31):
        moved.append(full.moved())
    assert moved[:24] == [2.0**-n for n in range(1, 25)]
    assert moved[25:] == [0.0] * 5


def test_what_is_kept_and_how_long_half_of_it_lasts():
    slider = GateSlider(WORDS, BITS, bias=2.0, step=3)
    z = 1 / (1 + math.exp(-2))
    assert slider.gate == pytest.approx(z, abs=1e-7)
    assert slider.kept() == pytest.approx(z**2, abs=1e-6)
    assert slider.gate ** slider.half_life() == pytest.approx(0.5)


def test_the_planes_weights_and_output_are_attnkits():
    query, value = [[0.3, -1.2]], [[10.0], [20.0], [50.0]]
    plane = QueryPlane(KEY, value, query=query[0], names=NAMES, scale=0.5)
    expected = scaled_dot_product_attention(
        *(torch.tensor(one, dtype=torch.float64) for one in (query, KEY, value)),
        scale=0.5,
        need_weights=True,
    )
    assert plane.weights() == pytest.approx(expected.weights[0].numpy(), abs=1e-6)
    assert plane.output() == pytest.approx(expected.output[0].numpy(), abs=1e-5)


@pytest.mark.parametrize("score, turned", [("dot", False), ("general", True)])
def test_the_turned_query_is_luongs_general_score(score, turned):
    matrix = torch.tensor([[1.0, -1.0], [1.0, 0.0]])
    layer = LuongAttention(2, 2, score)
    query, key = torch.tensor([[0.7, 1.4]]), torch.tensor(KEY)
    with torch.no_grad():
        if turned:
            layer.weight.copy_(matrix)
        expected = layer(query, key, need_weights=True)
    plane = QueryPlane(key, query=query[0], names=NAMES, matrix=matrix, turned=turned)
    assert plane.weights() == pytest.approx(expected.weights[0].numpy(), abs=1e-6)
    assert plane.output() == pytest.approx(expected.output[0].numpy(), abs=1e-6)


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


def test_their_pictures_and_words_hold_no_measured_number():
    for widget, words in (
        (GateSlider(WORDS, BITS, title="A"), "A. The weight of each of 4 words"),
        (QueryPlane(KEY, query=[1, 0], names=NAMES, title="B"), "B. 3 keys as arrows"),
        (CacheScrubber(WORDS, embed_dim=4, num_heads=2), "Multiply-adds of each of 4 steps"),
    ):
        data, metadata = widget._repr_mimebundle_()
        assert data["text/plain"] == metadata["image/png"]["alt"] == widget.description()
        assert data["text/plain"].startswith(words)
        assert data["image/png"]


def gate(**changed):
    given = {"words": WORDS, "inputs": BITS} | changed
    return GateSlider(given.pop("words"), given.pop("inputs"), **given)


def plane(**changed):
    given = {"key": KEY, "query": [1, 0], "names": NAMES} | changed
    return QueryPlane(given.pop("key"), **given)


def cache(**changed):
    given = {"words": WORDS, "embed_dim": 8, "num_heads": 4} | changed
    return CacheScrubber(given.pop("words"), **given)


WRONG = [
    (gate, {"words": "one"}, TypeError, "words: expected a list of strings"),
    (gate, {"words": ["one"], "inputs": [1]}, ValueError, "words: expected at least 2 strings"),
    (gate, {"inputs": [1, 0]}, ValueError, "inputs: expected 4 bits, one a word, got 2"),
    (gate, {"inputs": [1, 0, 2, 1]}, ValueError, r"inputs\[2\]: expected"),
    (gate, {"bias": "wide"}, TypeError, "bias: expected"),
    (gate, {"bias": 8.0}, ValueError, "bias: expected -2.0 to 7.0"),
    (gate, {"step": 5}, ValueError, "step: expected 1 to 4, got 5"),
    (plane, {"key": [[1, 0, 0]]}, ValueError, r"key: expected shape \(S, 2\)"),
    (plane, {"value": [[1.0]]}, ValueError, r"value: expected shape \(3, 1\) or \(3, 2\)"),
    (plane, {"names": ["a"]}, ValueError, "names: expected 3 strings, got 1"),
    (plane, {"query": [1]}, ValueError, "query: expected 2 finite numbers"),
    (plane, {"query": [1, math.nan]}, ValueError, "query: expected 2 finite numbers"),
    (plane, {"scale": 0}, ValueError, "scale: expected"),
    (plane, {"matrix": [[1, 0]]}, ValueError, r"matrix: expected shape \(2, 2\)"),
    (plane, {"turned": True}, ValueError, "turned: expected False, since there is no matrix"),
    (cache, {"words": []}, ValueError, "words: expected at least 1 string"),
    (cache, {"embed_dim": 0}, ValueError, "embed_dim: expected"),
    (cache, {"num_heads": 3}, ValueError, "num_heads: expected a divisor of embed_dim = 8, got 3"),
    (cache, {"kv_heads": 3}, ValueError, r"kv_heads: expected one of \[4, 2, 1\]"),
    (cache, {"step": 0}, ValueError, "step: expected 1 to 4, got 0"),
    (cache, {"number_bytes": 1.5}, TypeError, "number_bytes: expected"),
]


@pytest.mark.parametrize("make, changed, kind, words", WRONG)
def test_a_wrong_call_names_the_argument(make, changed, kind, words):
    with pytest.raises((kind, TraitError), match=words) as caught:
        make(**changed)
    assert isinstance(caught.value, kind)


def test_a_wrong_setting_later_leaves_the_old_one():
    slider, grown = gate(step=2), cache(step=2)
    for widget in (slider, grown):
        with pytest.raises(ValueError, match="step: expected 1 to 4"):
            widget.step = 9
        assert widget.step == 2
    assert np.isfinite(slider.moved())
