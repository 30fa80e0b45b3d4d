"""Text in, text out; and the same after saving and loading."""

import json
import re
from pathlib import Path

import pytest
import torch

from attnlab import Translator, files, tasks, training
from attnlab.rnn import seq2seq
from attnlab.tasks import Pair, Subwords, Vocab
from attnlab.training import quantization
from tests.refusals.wrong_calls import refused

torch.set_num_threads(1)
PAIRS = tasks.toy_french(40, max_words=5)
VOCABS = tasks.vocabs(PAIRS)
TEXTS = [tasks.detokenize(pair.source) for pair in PAIRS]
SIZES = {"embed_dim": 16, "hidden_dim": 32}


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    translator = Translator(*VOCABS, "dot", embed_dim=32, hidden_dim=64)
    batches = translator.batches(PAIRS, batch_size=20)
    training.fit(translator.model, batches, steps=200, lr=0.01, progress=False)
    return translator


@pytest.mark.build
def test_translations_are_right_in_order_and_shown_with_their_weights(trained):
    found = trained.translate(TEXTS, batch_size=7)
    assert [item.text for item in found] == [tasks.detokenize(pair.target) for pair in PAIRS]
    for pair, item in zip(PAIRS, found, strict=True):
        assert (item.source, item.target) == (list(pair.source), list(pair.target))
        assert item.weights.shape == (len(pair.target), len(pair.source))
        assert torch.allclose(item.weights.sum(-1), torch.ones(len(pair.target)))
        assert -5 < item.score < 0
    assert trained("The black cat") == "le chat noir", "capitals make no difference"
    assert trained("the black cat", beam_size=3) == "le chat noir"


def test_unknown_words_are_copied_from_where_the_model_looks():
    known = Vocab(["le", "chat"])
    translator = Translator(*VOCABS[:1], known, "additive", **SIZES)
    with torch.no_grad():  # a model that always says <unk>
        translator.model.decoder.readout.bias.fill_(0).index_fill_(0, torch.tensor(3), 50.0)
    item = translator.translate(["the black cat"], max_len=4)[0]
    assert item.target == [item.source[place] for place in item.weights.argmax(-1).tolist()]
    kept = translator.translate(["the black cat"], max_len=4, copy_unknown=False)[0]
    assert kept.target == ["<unk>"] * 4


@pytest.mark.parametrize("kind", ["transformer", "additive", "general", "concat", "none"])
def test_saved_and_loaded_translates_the_same(kind, tmp_path):
    torch.manual_seed(1)
    options = SIZES | ({"num_heads": 2, "num_layers": 1} if kind == "transformer" else {})
    translator = Translator(*VOCABS, kind, **options)
    translator.save(tmp_path)
    loaded = Translator.load(tmp_path)
    assert not loaded.model.training
    before, after = (t.translate(TEXTS[:6], max_len=8) for t in (translator, loaded))
    for one, other in zip(before, after, strict=True):
        assert one[:4] == other[:4]
        assert (one.weights is None) == (kind == "none")
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        "translator.json",
        "weights.safetensors",
    ]
    saved = json.loads((tmp_path / "translator.json").read_text())["target"]
    assert saved["kind"] == "Vocab"
    assert "noir" in saved["tokens"]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.build((side for pair in PAIRS for side in pair[:2]), max_size=80)


@pytest.mark.build
def test_pieces_of_words_go_in_and_words_come_out(subwords, tmp_path):
    torch.manual_seed(0)
    translator = Translator(subwords, subwords, "dot", share_embeddings=True, **SIZES)
    batches = translator.batches(PAIRS, batch_size=20)
    # It has learned to end a sentence, and what it says is made of words.
    training.fit(translator.model, batches, steps=15, lr=0.01, progress=False)
    found = translator.translate(TEXTS)
    for pair, item in zip(PAIRS, found, strict=True):
        assert item.source == subwords.pieces(pair.source)
        whole = item.by_word()
        assert whole.source == list(pair.source)
        assert tasks.detokenize(whole.target) == item.text
        assert whole.weights.shape == (len(whole.target), len(whole.source))
        assert torch.allclose(whole.weights.sum(-1), torch.ones(len(whole.target)))
    assert any(item.text for item in found)
    assert any(len(item.source) > len(item.source_words) for item in found)
    assert translator.translate(["the zzz cat"])[0].by_word().source == ["the", "zzz", "cat"]
    translator.save(tmp_path)
    loaded = Translator.load(tmp_path)
    assert loaded.source_vocab == subwords
    assert [item.text for item in loaded.translate(TEXTS)] == [item.text for item in found]


@pytest.mark.parametrize("kind", ["transformer", "additive"])
def test_eight_bits_are_a_quarter_and_what_is_loaded_is_the_rounded_model(kind, tmp_path):
    torch.manual_seed(0)
    vocab = tasks.vocabs([*PAIRS, *(pair._replace(source=pair.target) for pair in PAIRS)])[0]
    options = {"embed_dim": 64, "hidden_dim": 128, "share_embeddings": True}
    translator = Translator(vocab, vocab, kind, **options)
    whole, small = tmp_path / "whole", tmp_path / "small"
    translator.save(whole)
    translator.save(small, eight_bits=True)
    written = files.load_tensors(small / "weights.safetensors")[0]
    shared = {"transformer": "source_embedding.weight", "additive": "encoder.embedding.weight"}
    sides = [name for name, value in written.items() if value.shape == (len(vocab), 64)]
    assert sides == [shared[kind]], "the name that the module's text gives"
    assert written[shared[kind]].dtype == torch.int8
    assert written[shared[kind] + ":scale"].dtype == torch.float16
    numbers = sum(parameter.numel() for parameter in translator.model.parameters())
    sizes = [(folder / "weights.safetensors").stat().st_size for folder in (whole, small)]
    assert 4 * numbers < sizes[0] < 4.3 * numbers, "shared weights are written once"
    assert sizes[1] < 0.3 * sizes[0]
    same, rounded = Translator.load(whole), Translator.load(small)
    expected = quantization.round_to_eight_bits(translator.model).state_dict()
    for name, weight in rounded.model.state_dict().items():
        assert torch.equal(weight, expected[name]), name
    assert rounded.source_vocab == rounded.target_vocab == vocab
    before = same.model.state_dict()
    assert any(not torch.equal(before[name], expected[name]) for name in before)


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(FileNotFoundError, match=r"folder: expected .*translator.json.*, got none"):
        Translator.load("tatoeba-en-xx")


def test_a_model_of_your_own_is_saved_and_needs_itself_to_load(tmp_path):
    def own():
        return seq2seq(*map(len, VOCABS), cell="lstm", **SIZES)

    translator = Translator(*VOCABS, own())
    translator.save(tmp_path)
    with pytest.raises(ValueError, match=r"model: expected the model of your own .*, got None"):
        Translator.load(tmp_path)
    loaded = Translator.load(tmp_path, own())
    assert loaded(TEXTS[0]) == translator(TEXTS[0])


def test_real_text_becomes_pairs():
    lines = [("Ein Hund läuft.", "A dog runs."), ("L'été.", "It's summer!")]
    pairs = tasks.text_pairs(lines)
    assert pairs[0] == Pair(("ein", "hund", "läuft", "."), ("a", "dog", "runs", "."))
    assert pairs[1].source == ("l'", "été", ".")


REAL = ["He is a jealous man.", "Thank you.", "I don't like coffee."]


@pytest.mark.parametrize("name", ["tatoeba-en-fr", "tatoeba-en-fr-additive"])
def test_the_best_of_several_is_what_the_beam_gives_alone(name):
    translator = Translator.load(name)
    alone = translator.translate(REAL, beam_size=4)
    several = translator.translate(REAL, beam_size=4, n_best=3, batch_size=2)
    assert [len(found) for found in several] == [3, 3, 3]
    for one, found in zip(alone, several, strict=True):
        assert found[0].text == one.text
        assert found[0].score == pytest.approx(one.score, abs=1e-4)
        assert len({tuple(other.target) for other in found}) == 3
        for other in found:
            assert other.weights.shape == (len(other.target), len(other.source))
            assert other.weights.sum(-1).sub(1).abs().max() < 1e-5


@pytest.mark.build
def test_draws_depend_on_the_seed_and_the_temperature_alone():
    translator = Translator.load("tatoeba-en-fr")

    def said(**options):
        return [found.text for found in translator.translate(REAL, **options)]

    hot = {"temperature": 2.0, "max_len": 20}
    assert said(**hot, seed=1) == said(**hot, seed=1) != said(**hot, seed=2)
    assert said(top_k=1) == said(temperature=0.0) == said()
    assert said(temperature=1.0, seed=3) != said()


def test_a_drawn_translation_is_scored_by_the_models_own_probabilities():
    translator = Translator.load("tatoeba-en-fr")
    greedy, drawn = (translator.translate(REAL[:1], **o)[0] for o in ({}, {"top_k": 1}))
    assert drawn.score == pytest.approx(greedy.score, abs=1e-5)
    cold = translator.translate(REAL[:1], temperature=1e-3)[0]
    assert cold.score == pytest.approx(greedy.score, abs=1e-5)


def test_length_penalty_reaches_the_beam():
    translator = Translator.load("tatoeba-en-fr-additive")
    short, long = (
        translator.translate(REAL, beam_size=5, length_penalty=penalty, max_len=30)
        for penalty in (0.0, 10.0)
    )
    assert sum(len(found.target) for found in short) < sum(len(found.target) for found in long)


def test_the_bar_counts_texts_and_shows_only_when_asked(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    translator = Translator(*VOCABS, "dot", **SIZES)
    translator.translate(["the cat"] * 5, batch_size=2, max_len=2)
    assert not capsys.readouterr().err
    translator.translate(["the cat"] * 5, batch_size=2, max_len=2, progress=True)
    assert "5/5" in capsys.readouterr().err


def translate(texts=("the cat",), **options):
    return Translator(*VOCABS, "dot", **SIZES).translate(texts, **options)


test_wrong_calls = refused("applications", "translator", names=globals())


@pytest.mark.build
def test_the_example_of_the_reference_runs(tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "appendices" / "api" / "applications.md"
    (example,) = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example, names)
    assert names["translator"].translate(["You see me."])[0].text == "tu me vois."
