"""Where additive attention points: interventions on one step, on models whose answer is known."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnkit.functional import Attended
from attnlab import tasks
from attnlab.decoding import Stepped
from attnlab.tasks import Batches
from experiments import pointing

CPU, SYMBOLS = torch.device("cpu"), 30


def test_hidden_and_only_weights_still_sum_to_one():
    weights = torch.tensor([[[0.5, 0.3, 0.2]], [[0.0, 1.0, 0.0]]])  # (B, 1, S)
    place = torch.tensor([0, 2])
    assert torch.allclose(
        pointing.hide(weights, place), torch.tensor([[[0, 0.6, 0.4]], [[0, 1, 0]]]), atol=1e-6
    )
    assert torch.equal(pointing.only(weights, place), torch.tensor([[[1.0, 0, 0]], [[0, 0, 1]]]))
    assert torch.equal(
        pointing.zero(weights, place), torch.tensor([[[0, 0.3, 0.2]], [[0, 1.0, 0]]])
    )


class _Pointer(nn.Module):
    """Attention with 45% of its weight on the place asked for, and 55% `shift` places on."""

    def __init__(self, shift: int):
        super().__init__()
        self.shift = shift

    def forward(self, place: int, memory: Tensor) -> Attended:
        weights = torch.zeros(len(memory), 1, memory.shape[1])
        weights[..., place] = 0.45
        weights[..., (place + self.shift) % memory.shape[1]] += 0.55
        return Attended(weights @ memory, weights)


class _Decoder:
    """Says the symbol with the most weight, apart from the one written last."""

    def __init__(self, shift: int):
        self.attention = _Pointer(shift)
        self.prepare = lambda encoded: encoded
        self.start = lambda memory: memory.shape[1] - 1  # the place to read first

    def run(self, tokens: Tensor, state: int, memory: Tensor, need_weights: bool) -> Stepped:
        attended = self.attention(state, memory)
        seen = attended.output - functional.one_hot(tokens, SYMBOLS)  # (B, 1, SYMBOLS)
        return Stepped(seen, state - 1, attended.weights)


@pytest.mark.parametrize("shift", [0, 1])
def test_interventions_say_which_place_is_read(shift):
    pairs = [pair for pair in tasks.reverse(200, min_length=5, max_length=5, seed=3)
             if len(set(pair.source)) == 5]  # fmt: skip
    (batch,) = Batches(pairs, *tasks.vocabs(pairs), batch_size=999, shuffle=False)
    right = torch.arange(5).expand(len(pairs), -1).flip(1)
    model = SimpleNamespace(
        encoder=lambda source, _: functional.one_hot(source, SYMBOLS).float(),  # (B, S, SYMBOLS)
        decoder=_Decoder(shift),
    )
    found = pointing.look(model, batch, right)
    answers = found["answers"]
    assert found["steps_looked_at"] == 5 * len(pairs)
    assert answers["only right"]["all"] == 1
    assert answers["hide right"]["all"] < 0.1
    if shift:  # all but the first step, whose place on the right is the first of the source
        assert found["shifts"] == {"-4": len(pairs), "1": 4 * len(pairs)}
        assert answers["none"]["all"] == 0.8
        assert answers["only largest"]["missed"] == 0
        assert answers["hide largest"]["missed"] == 1
        # It takes the symbol written last out of the mixture. Told a lie, it takes out a wrong one
        # and writes again what it had written, unless that is hidden.
        # Told that it has written the answer, it takes that out.
        told = pointing.lie(model, batch, right, 4, SYMBOLS)
        assert told["met"] == {"steps": 0}
        told = told["missed"]
        assert told["steps"] == 4 * len(pairs)
        assert told["truth"]["as it is"] == {"right": 1, "beside": 0, "last": 0}
        assert told["lie"]["as it is"] == {"right": 0, "beside": 1, "last": 1}
        assert told["lie"]["hidden"] == {"right": 1, "beside": 0, "last": 0}
        assert told["answer"]["as it is"] == {"right": 0, "beside": 1, "last": 1}
    else:
        told = pointing.lie(model, batch, right, 4, SYMBOLS)
        assert told["missed"] == {"steps": 0}
        assert told["met"]["lie"]["as it is"] == {"right": 1, "beside": 1, "last": 0}
        assert found["missed"] == 0
        assert answers["none"]["all"] == answers["only largest"]["all"] == 1
        assert answers["hide largest"]["all"] < 0.1


def test_a_miss_on_the_same_symbol_is_counted_as_one():
    """In "aab" backwards, the place after the first a holds the other a."""
    pairs = tasks.reverse(400, min_length=3, max_length=3, symbols=2, seed=3)
    batch = next(iter(Batches(pairs, *tasks.vocabs(pairs), batch_size=400, shuffle=False)))
    model = SimpleNamespace(
        encoder=lambda source, _: functional.one_hot(source, SYMBOLS).float(),
        decoder=_Decoder(1),
    )
    right = torch.arange(3).expand(400, -1).flip(1)
    assert 0.4 < pointing.look(model, batch, right)["same_symbol"] < 0.6


def test_the_words_that_are_tested_have_no_symbol_twice(monkeypatch):
    seen = {}
    monkeypatch.setattr(pointing, "fit", lambda *_, **__: 0.0)
    plain = pointing.look
    monkeypatch.setattr(
        pointing, "look", lambda model, batch, right: seen.setdefault(len(seen), batch)
        and plain(model, batch, right)
    )  # fmt: skip
    pointing.measure(pointing.settings(quick=True)[0], device=CPU)
    assert len(seen[0].source) == 20
    assert all(len(set(word)) == 4 for word in seen[0].source.tolist())


def test_the_probe_reads_a_state_that_holds_the_symbol_and_no_other():
    train, test = (
        tasks.reverse(300, min_length=5, max_length=5, symbols=6, seed=seed) for seed in (1, 2)
    )
    vocabs = tasks.vocabs([*train, *test])
    two = [next(iter(Batches(part, *vocabs, batch_size=300))) for part in (train, test)]

    class Encoder(nn.Module):
        def forward(self, source: Tensor, lengths: Tensor) -> SimpleNamespace:
            read = functional.one_hot(source, SYMBOLS).float()  # (B, S, SYMBOLS)
            return SimpleNamespace(outputs=read.roll(1, dims=1))  # that of the place before

    model = nn.Module()
    model.encoder, model.one = Encoder(), nn.Parameter(torch.zeros(()))
    assert pointing.probe(model, two, 1) == 1
    assert pointing.probe(model, two, 0) < 0.4
    assert pointing.probe(model, two, -1) < 0.4
