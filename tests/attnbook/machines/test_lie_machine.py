"""A model to lie to: each answer of the page is torch's, and a hidden state is not read."""

import pytest
import torch

from attnbook import recorded
from attnbook.drawings import mixture
from attnbook.machines import LieMachine
from attnbook.machines.lie_machine import CASES, LIES
from attnbook.recorded import Recorded
from attnlab.rnn import seq2seq
from attnlab.tasks import Vocab
from attnlab.tasks.vocab import BOS, SPECIAL

LETTERS = "abcdefghij"


def a_model(seed=0) -> Recorded:
    torch.manual_seed(seed)
    vocab = Vocab(list(LETTERS))
    model = seq2seq(len(vocab), len(vocab), embed_dim=4, hidden_dim=6, attention_dim=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return Recorded(model.half().float().eval(), vocab, vocab, {})


def make(**settings) -> LieMachine:
    return LieMachine(a_model(), **{"word": "headache", "title": "A title"} | settings)


SETTINGS = [
    {"step": 3, "lie": "another"},
    {"word": "cab", "step": 9, "hide": "pointed"},
    {"word": "jigjag", "step": 2, "hide": "right", "lie": "another", "hundred": True},
    {"hide": "neighbour", "step": 4, "lie": "answer"},
]


@pytest.mark.parametrize("settings", SETTINGS)
@torch.no_grad()
def test_answers_and_weights_are_torchs(settings):
    machine, kept = make(**settings), a_model()
    now, vocab = machine.compute(), kept.source_vocab
    model = kept.model.double()
    ids, right = vocab.encode(list(machine.word)), vocab.encode(now["right"])
    encoded = model.encoder(torch.tensor([ids]), [len(ids)])
    memory = model.decoder.prepare(encoded)
    state = model.decoder.start(memory)

    def run(token, state, hidden=-1):
        mask = memory.mask & (torch.arange(len(ids)) != hidden)
        given = torch.tensor([[token]]), state, memory._replace(mask=mask)
        return model.decoder.run(*given, need_weights=True)

    for step, token in enumerate([BOS, *right[:-1]]):
        plain = run(token, state)
        assert plain.weights[0, 0].tolist() == pytest.approx(now["map"][step], abs=1e-12)
        if step == now["now"]:
            break
        state = plain.state
    pointed = int(plain.weights.argmax())
    assert (pointed, len(ids) - 1 - step) == (now["pointed"], now["place"])
    places = {"nothing": -1, "pointed": pointed, "right": now["place"]}
    places["neighbour"] = now["place"] + 1
    changed = run(vocab.encode([now["told"]])[0], state, places[machine.hide])
    assert changed.weights[0, 0].tolist() == pytest.approx(now["weighed"], abs=1e-12)

    def letters(step):  # the special tokens are none
        return step.logits[0, 0, len(SPECIAL) :].argmax().item()

    assert LETTERS[letters(changed)] == now["answer"]
    for (lie, hide), said in zip(CASES, now["table"], strict=True):
        letter = {"none": now["last"], "another": now["lied"], "answer": now["right"][now["now"]]}
        told = vocab.encode([letter[lie]])[0]
        assert LETTERS[letters(run(told, state, places[hide]))] == said


def test_a_lie_is_neither_the_last_letter_nor_the_answer():
    machine = make()
    for machine.step in range(1, 8):
        now = machine.compute()
        assert now["lied"] not in (now["last"], now["right"][now["now"]])
        assert now["told"] == now["last"]
        told_by = zip(LIES, (now["last"], now["lied"], now["right"][now["now"]]), strict=True)
        for machine.lie, told in told_by:
            assert machine.compute()["told"] == told
        machine.lie = "none"


def test_the_hundred_words_say_what_the_page_says():
    """No step counts in which a wrong place has the right letter: a doubled one would be right and
    the last again at once."""
    shown = LieMachine(recorded.model("machine_reverse"), word="headache")
    counts = dict(zip(CASES, shown.counts, strict=True))
    assert counts["none", "nothing"] == counts["none", "pointed"] == [85, 0, 0]
    assert counts["answer", "nothing"] == [0, 85, 0]
    control = dict(zip(LIES, shown.control, strict=True))
    assert control["none"][1:] == [0, 0]
    share = {lie: found[0] / sum(found) for lie, found in control.items()}
    assert counts["another", "nothing"][0] / 85 < 0.2 < 0.6 < share["another"]


def test_the_model_of_the_page_says_what_the_page_says():
    shown = LieMachine(recorded.model("machine_reverse"), word="headache")
    assert shown.compute()["table"][:5] == ["h", "h", "e", "e", "h"]
    assert shown.compute()["table"][6] == "e"  # told that it has written the h
    shown.hide = "right"
    assert shown.compute()["answer"] != "h"
    shown.word, shown.step, shown.hide, shown.lie = "baggage", 2, "nothing", "another"
    assert shown.compute()["answer"] == "g"
    shown.word, shown.step, shown.hide, shown.lie = "faced", 3, "right", "none"
    assert shown.compute()["answer"] == "a"  # with no a in the mixture: a neighbour holds it


@pytest.mark.parametrize("case", mixture.CASES, ids=lambda case: case.says)
def test_the_drawing_of_the_mixture_is_the_machines(case):
    """Its shares, to two digits, are the weights of all that have more than 0.03."""
    kept = recorded.model("machine_reverse")
    now = LieMachine(kept, word="headache", step=1, **case.setting).compute()
    weighed = zip("headache", now["weighed"], strict=True)
    assert [(letter, round(share, 2)) for letter, share in weighed if share > 0.03] == [
        (letter, pytest.approx(share)) for letter, share in case.shares.items()
    ]
    assert (now["told"], now["answer"]) == (case.last, case.writes)
