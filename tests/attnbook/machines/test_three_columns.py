"""Three translators side by side: what each writes is what it writes alone."""

from functools import cache

import pytest
import torch

from attnbook.machines import ThreeColumns
from attnbook.machines.live_translator import shown
from attnlab import Translator, tasks

SENTENCES = ["the black cat slept", "my friend often eats a red apple"]


@cache
def models() -> dict[str, Translator]:
    vocabs = tasks.vocabs(tasks.toy_french(200))
    torch.manual_seed(0)
    small = {"embed_dim": 8, "hidden_dim": 8}
    made = {
        "One vector": Translator(*vocabs, "none", **small),
        "Bahdanau": Translator(*vocabs, "additive", **small),
        "Transformer": Translator(*vocabs, "transformer", **small, num_heads=2, num_layers=2),
    }
    for one in made.values():
        one.model.eval()
    return made


def make(**settings) -> ThreeColumns:
    abouts = ("no look back", "one look", "many looks")
    return ThreeColumns(
        models(), **{"abouts": abouts, "sentences": SENTENCES, "title": "Three"} | settings
    )


SETTINGS = [{"even": True}, {"text": "of my own", "even": True}, {"text": SENTENCES[1]}]


@pytest.mark.parametrize("text", SENTENCES)
def test_each_column_is_what_its_model_writes_alone(text):
    machine, translators = make(text=text), models()
    now = machine.compute()
    assert now["source"] == text.split()
    for one, translator in zip(now["columns"], translators.values(), strict=True):
        (want,) = translator.translate([text], max_len=40)
        assert one["target"] == want.target
    for one, translator in zip(now["columns"][1:], [*translators.values()][1:], strict=True):
        weights = shown.translate(translator, text.split()).by_word()[2]
        torch.testing.assert_close(torch.tensor(one["weights"]), weights, atol=6e-4, rtol=0)


def test_the_numbers_of_the_vector_are_those_of_the_decoders_first_state():
    translator = models()["One vector"]
    ids = torch.tensor([translator.source_vocab.encode(SENTENCES[0].split())])
    start = translator.model.decoder.start(translator.model.encoder(ids))
    assert make().numbers == start.hidden[0, 0].numel()


def test_without_a_choice_all_words_weigh_alike_and_the_others_stay():
    machine = make()
    before = machine.compute()["columns"]
    machine.even = True
    after = machine.compute()["columns"]
    assert (before[0], before[2]) == (after[0], after[2])
    count = len(SENTENCES[0].split())
    for row in after[1]["weights"]:
        assert row == pytest.approx([1 / count] * count, abs=1e-3)
    assert any(max(row) > 1 / count + 1e-3 for row in before[1]["weights"])
    assert models()["Bahdanau"].model.decoder.attention.v.any()  # the copy alone was changed


def test_a_sentence_of_ones_own_waits_for_the_page():
    machine = make(text="something else")
    assert machine.compute() == {"source": [], "columns": []}
    assert "not yet translated" in machine.description()
