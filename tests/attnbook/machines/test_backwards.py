"""The machine that writes backwards: what it computes of a typed word is what torch computes."""

import copy
from functools import cache

import numpy as np
import pytest
import torch

from attnbook.machines import Backwards
from attnbook.machines.backwards import FIRST, LETTERS, WRITTEN
from attnlab.rnn import Seq2Seq, seq2seq
from attnlab.training.quantization import round_to_eight_bits


@cache
def models() -> tuple[Seq2Seq, ...]:
    """One without attention and one with it, of weights large enough to write something."""
    torch.manual_seed(1)
    found = []
    for attention in ("none", "additive"):
        model = seq2seq(30, 30, attention=attention, embed_dim=6, hidden_dim=8, bidirectional=False)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.7)
        found.append(round_to_eight_bits(model).eval())
    return tuple(found)


def make(text: str = "one vector", **settings) -> Backwards:
    return Backwards(models(), names=[text, "it may look back"],
                     **{"word": "sentence", "title": "Type"} | settings)  # fmt: skip


SETTINGS = [{"word": "abz", "at": 2}, {"word": "", "at": 3}, {"word": "zzzzzzzzzzzz", "at": 11}]


@pytest.mark.parametrize("settings", [{}, *SETTINGS])
def test_states_letters_and_looks_are_torchs(settings):
    machine = make(**settings)
    answers, word = machine.compute()["answers"], machine.changed()
    source = torch.tensor([[FIRST + LETTERS.index(letter) for letter in word]]).reshape(1, -1)
    if not word:
        assert all((shown["written"], shown["kept"]) == ("", []) for shown in answers)
        return
    for place, (kept, shown) in enumerate(zip(models(), answers, strict=True)):
        model, looks = copy.deepcopy(kept).double(), place == 1
        states = model.encoder(source).outputs[0] if looks else model.encoder(source).state[0, -1:]
        assert np.array(shown["kept"]) == pytest.approx(states.detach().numpy(), abs=1e-9)
        decoded = model.greedy(source, None, WRITTEN, need_weights=looks)
        said = [int(token) for token in decoded.tokens[0] if token >= FIRST]
        assert shown["written"] == "".join(LETTERS[token - FIRST] for token in said)
        told = torch.tensor([[1, *said]])
        chances = model(source, None, told)[0].softmax(-1)  # (T + 1, V)
        for step, token in enumerate(said):
            assert shown["sure"][step] == pytest.approx(chances[step, token].item(), abs=1e-9)
        if looks:
            weights = decoded.weights[0, : len(said)].numpy()
            assert np.array(shown["looks"]) == pytest.approx(weights, abs=1e-9)


def test_an_exchanged_letter_is_the_next_and_what_moves_is_said():
    machine = make(word="az", at=1)
    assert machine.changed() == "aa"
    for place in range(2):
        before, after = (
            make(word=word).compute()["answers"][place]["written"] for word in ("az", "aa")
        )
        moved = machine.compute()["answers"][place]["moved"]
        assert moved == [a != b for a, b in zip(before.ljust(len(moved)), after.ljust(len(moved)),
                                                strict=True)]  # fmt: skip
    assert make(word="az", at=5).changed() == "az"
    assert not any(any(shown["moved"]) for shown in make(word="az").compute()["answers"])


def test_right_letters_are_counted_at_their_place(monkeypatch):
    said = (np.zeros((3, 8)), "cbx", [1.0] * 3, [])
    monkeypatch.setattr("attnbook.machines.backwards._answer", lambda *_: said)
    for shown in make(word="abc").compute()["answers"]:
        assert (shown["right"], shown["exact"]) == (2, False)
