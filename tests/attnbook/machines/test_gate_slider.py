"""The gate: its state is torch's, to the last bit, and a wrong call is named."""

import math

import pytest
import torch

from attnbook.machines import GateSlider
from attnlab.rnn import Encoder

WORDS = ["one", "two", "three", "four"]
BITS = [1, 0, 1, 1]
SENTENCE = "cats that chased the rat that ate the malt in the house by the sea"
LONG = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1]


def make(text: str = "cats", **changed) -> GateSlider:
    words = [text, *SENTENCE.split()[1:]]
    given = {"words": words, "inputs": LONG, "step": 4, "title": "A gate"} | changed
    return GateSlider(given.pop("words"), given.pop("inputs"), **given)


SETTINGS = [
    {"bias": 0.0, "step": 15},
    {"bias": -2.0, "step": 6, "flipped": True},
    {"bias": 2.3, "step": 1},
    {"bias": 6.9, "step": 12, "flipped": True},
]


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


@pytest.mark.parametrize("flipped", [False, True])
def test_the_gates_state_is_torchs_to_the_last_bit(flipped):
    slider = GateSlider(WORDS * 8, BITS * 8, bias=0.9)
    z = torch.tensor(slider.gate)
    state, found = torch.zeros(()), []
    for place, bit in enumerate(BITS * 8):
        state = z * state + (1 - z) * (1 - bit if flipped and place == 0 else bit)
        found.append(state.item())
    assert slider.states(flipped).tolist() == found


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


def test_its_picture_and_words_hold_no_measured_number():
    data, metadata = GateSlider(WORDS, BITS, title="A")._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"]
    assert data["text/plain"].startswith("A. The weight of each of 4 words")
    assert data["image/png"]


def test_a_wrong_setting_later_leaves_the_old_one():
    slider = make(step=2)
    with pytest.raises(ValueError, match="step: expected 1 to 15"):
        slider.step = 99
    assert slider.step == 2


WRONG = [
    ({"words": "one"}, TypeError, "words: expected a list of strings"),
    ({"words": ["one"], "inputs": [1]}, ValueError, "words: expected at least 2 strings"),
    ({"inputs": [1, 0]}, ValueError, "inputs: expected 15 bits, one a word, got 2"),
    ({"words": WORDS, "inputs": [1, 0, 2, 1]}, ValueError, r"inputs\[2\]: expected"),
    ({"bias": "wide"}, TypeError, "bias: expected"),
    ({"bias": 8.0}, ValueError, "bias: expected -2.0 to 7.0"),
    ({"step": 16}, ValueError, "step: expected 1 to 15, got 16"),
]


@pytest.mark.parametrize("changed, kind, words", WRONG)
def test_a_wrong_call_names_the_argument(changed, kind, words):
    with pytest.raises(kind, match=words) as caught:
        make(**changed)
    assert isinstance(caught.value, kind)
