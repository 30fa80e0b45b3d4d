"""One look of a small translator: what the page shows is what torch gives, padding and all."""

import numpy as np
import pytest
import torch

from attnbook import recorded
from attnbook.machines import AdditiveMachine
from attnbook.machines.additive_machine import MOST, PLACES
from attnbook.recorded import Recorded
from attnlab.rnn import seq2seq
from attnlab.tasks import Vocab
from attnlab.tasks.vocab import BOS, EOS

WORDS = ["the", "black", "cat", "did", "not", "sleep"]


def a_model(words=(), seed=0) -> Recorded:
    torch.manual_seed(seed)
    vocabs = [Vocab(sorted({*WORDS, *words})), Vocab(["le", "chat", "noir", "dort", "pas"])]
    sizes = {"embed_dim": 5, "hidden_dim": 6, "attention_dim": 4}
    model = seq2seq(*map(len, vocabs), **sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return Recorded(model.half().float().eval(), *vocabs, {})


def make(text: str = "the", **settings) -> AdditiveMachine:
    sentences = [f"{text} cat not sleep", "the cat"]
    return AdditiveMachine(a_model(text.split()), sentences, **{"title": "A title"} | settings)


SETTINGS = [
    {"step": 1, "at": 3},
    {"sentence": 1, "step": 4, "padding": "masked", "at": 4},
    {"padding": "unmasked", "step": 2},
    {"squash": "none", "step": 3, "at": 2},
    {"sentence": 1, "step": 11, "at": 17},
]


@pytest.mark.parametrize("settings", SETTINGS)
@torch.no_grad()
def test_all_that_it_shows_is_torchs(settings):
    machine, kept = make(**settings), a_model()
    now, decoder = machine.compute(), kept.model.double().decoder
    words = machine.sentences[machine.sentence]
    padded = [*kept.source_vocab.encode(words), *[0] * PLACES * (machine.padding != "none")]
    encoded = kept.model.encoder(torch.tensor([padded]), [len(words)])
    if machine.padding == "unmasked":
        encoded = encoded._replace(mask=torch.ones_like(encoded.mask))
    assert encoded.outputs[0].tolist() == [pytest.approx(one, abs=1e-12) for one in now["states"]]
    if machine.squash == "none":
        weights = np.array(now["map"])
        assert weights == pytest.approx(np.tile(weights[0], (len(weights), 1)), abs=1e-12)
        return
    memory, token = decoder.prepare(encoded), BOS
    state = decoder.start(memory)
    for place, written in enumerate(now["written"]):
        before, tokens = state, torch.tensor([[token]])
        state, token = (step := decoder.run(tokens, state, memory, need_weights=True)).state, None
        token = int(step.logits.argmax())
        assert kept.target_vocab.tokens[token] == written
        assert step.weights[0, 0].tolist() == pytest.approx(now["map"][place], abs=1e-12)
        if place == now["now"]:
            chances = step.logits[0, 0].softmax(-1)
            assert before.hidden[0, 0].tolist() == pytest.approx(now["state"], abs=1e-12)
            assert state.hidden[0, 0].tolist() == pytest.approx(now["after"], abs=1e-12)
            for word, chance in now["best"]:
                place_of = kept.target_vocab.tokens.index(word)
                assert chances[place_of].item() == pytest.approx(chance, abs=1e-12)
            layer = decoder.attention
            scores = layer.scores(
                layer.project_query(before.hidden), layer.project_key(encoded.outputs)
            )
            assert scores[0, 0].tolist() == pytest.approx(now["scores"], abs=1e-12)
            assert sum(now["parts"]) == pytest.approx(now["scores"][now["under"]], abs=1e-12)
            context = layer(before.hidden, encoded.outputs, mask=encoded.mask).output
            assert context[0, 0].tolist() == pytest.approx(now["context"], abs=1e-12)
    assert (
        len(now["written"]) == MOST
        or decoder.run(torch.tensor([[token]]), state, memory).logits.argmax() == EOS
    )


def test_the_models_of_the_page_say_what_the_page_says():
    sentences = ["the black cat did not sleep", "our girl 's cat was old"]
    shown = AdditiveMachine(recorded.model("machine_french"), sentences)

    def looks():
        now = shown.compute()
        return [now["source"][int(np.argmax(row))] for row in now["map"]]

    assert shown.compute()["written"] == ["le", "chat", "noir", "n'", "a", "pas", "dormi"]
    assert looks()[:3] == ["cat", "cat", "black"]
    shown.squash = "none"
    assert len(set(looks())) == 1
    shown.squash, shown.sentence = "tanh", 1
    assert shown.compute()["written"][-1] == "vieux"
    shown.padding = "unmasked"
    assert shown.compute()["written"][-1] == "vieille"
