"""The experiment on translation: stopped or not, it comes out the same."""

import json
import math

import pytest
import torch
from torch.testing import assert_close

from attnlab import Translator, files, tasks, training
from attnlab.applications import shipped
from experiments import _record as record
from experiments import translate
from experiments._training import parameters

FILES = sorted(record.RESULTS.glob("translate_*.json"))
LINES = tasks.tatoeba("valid")[:120]
PAIRS = tasks.text_pairs(LINES)


@pytest.fixture(scope="module")
def vocab():
    return tasks.Subwords.build((side for pair in PAIRS for side in pair[:2]), max_size=150)


def small(epochs=3, averaged=2):
    setting = translate.settings(
        "tatoeba", "en-fr", "transformer", seeds=[0], epochs=None, quick=True
    )[0]
    made = translate.Recipe(**{name: setting[name] for name in translate.Recipe._fields})
    return made._replace(epochs=epochs, averaged=averaged)


def trained(vocab, folder, made):
    torch.manual_seed(0)
    translator = Translator(vocab, vocab, made.kind, **made.options | {"dropout": 0.1})
    batches = translator.batches(PAIRS, batch_size=made.batch_size)
    options = {"seed": 0, "folder": folder, "device": torch.device("cpu")}
    history = translate.train(translator.model, batches, batches, made, **options)
    return translator.model.state_dict(), history


@pytest.mark.build
def test_a_run_that_crashed_goes_on_to_the_same_end(vocab, tmp_path, monkeypatch):
    made = small()
    whole, history = trained(vocab, tmp_path / "whole", made)
    plain, calls = translate.loss_of, []

    def breaks(bfloat16):
        loss = plain(bfloat16)

        def counted(model, batch):
            calls.append(model.training)
            if sum(calls) == 5:  # in the second of three epochs
                raise MemoryError
            return loss(model, batch)

        return counted

    monkeypatch.setattr(translate, "loss_of", breaks)
    with pytest.raises(MemoryError):
        trained(vocab, tmp_path / "broken", made)
    monkeypatch.setattr(translate, "loss_of", plain)
    weights, again = trained(vocab, tmp_path / "broken", made)
    assert all(torch.equal(weights[name], whole[name]) for name in whole)
    assert [row["valid_loss"] for row in again] == [row["valid_loss"] for row in history]
    assert again[-1]["minutes"] >= again[0]["minutes"] > 0


def test_the_model_is_the_mean_of_the_last_epochs(vocab, tmp_path):
    weights, history = trained(vocab, tmp_path, small())
    assert [row["step"] for row in history] == [3, 6, 9]
    saved = [files.load_tensors(tmp_path / f"epoch-{n}.safetensors")[0] for n in (2, 3)]
    assert_close(
        weights["output.weight"], (saved[0]["output.weight"] + saved[1]["output.weight"]) / 2
    )
    assert not torch.equal(saved[0]["output.weight"], saved[1]["output.weight"])


def test_a_longer_run_begins_as_a_shorter_one_and_both_end_at_zero():
    short, long = translate.schedule(1000, 50), translate.schedule(2000, 50)
    assert [short(step) for step in range(740)] == [long(step) for step in range(740)]
    assert short(0) == pytest.approx(1 / 50)
    assert max(map(short, range(1000))) == short(49) == 1
    assert short(199) == pytest.approx(math.sqrt(50 / 200))
    assert 0 < short(999) < 0.001
    assert short(875) == pytest.approx(0.5 * math.sqrt(50 / 876))


def test_the_loss_is_smoothed_in_training_alone(vocab):
    batch = next(iter(tasks.Batches(PAIRS, vocab, vocab, batch_size=20)))
    model = Translator(vocab, vocab, **small().options).model.eval()
    loss = translate.loss_of()
    assert_close(loss(model, batch), training.sequence_loss(model, batch))
    logits = model(batch.source, batch.source_lengths, batch.target_in)
    real = batch.target_out != tasks.PAD
    want = 0.9 * training.sequence_loss(model, batch) - 0.1 * logits.log_softmax(-1).mean(-1)[real]
    assert_close(loss(model.train(), batch), want)
    near = translate.loss_of(bfloat16=True)(model, batch)
    assert near.dtype == torch.float32
    assert_close(near, want, rtol=0.05, atol=0.05)
    assert not torch.equal(near, want)


def test_the_scores_know_all_references_and_the_lengths():
    sources, references = ["a b", "a b c d e"], [["un deux"], ["x", "une deux trois quatre"]]
    data = translate.Data([], [], sources, references, (sources, references))
    said = ["un deux", "une deux trois quatre"]
    got = translate.scores(said, data, ((1, 4), (5, 6), (7, 99)))
    assert got["bleu"] == 100
    assert got["chrf"] == 100
    assert {name: part["sentences"] for name, part in got["by_length"].items()} == {
        "1-4": 1,
        "5-6": 1,
    }
    assert "case:lc" in got["bleu_signature"]


def test_the_length_penalty_is_chosen_on_the_validation_split(monkeypatch):
    validation = (["a", "b"], [["un deux trois quatre"], ["cinq six sept huit"]])
    data = translate.Data([], [], ["never"], [["seen"]], validation)

    def said(translator, given, beam_size, length_penalty):
        assert (given.sources, given.references) == validation
        right = [texts[0] for texts in given.references]
        return right if length_penalty == 1.4 else [text[:-7] for text in right]

    monkeypatch.setattr(translate, "translate", said)
    found = translate.by_penalty(None, data)
    assert tuple(found) == translate.PENALTIES
    assert max(found, key=found.get) == 1.4
    assert found[1.4] == 100


@pytest.mark.parametrize("model", translate.MODELS)
@pytest.mark.parametrize("data", translate.PAIRS)
def test_no_recipe_has_more_than_its_parameters(data, model):
    made = translate.recipe(data, model)
    vocab = tasks.Subwords(["▁", *map(str, range(made.pieces - 5))])
    built = Translator(vocab, vocab, made.kind, **made.options).model
    size = sum(parameter.numel() for parameter in built.parameters())
    assert size < (2e6 if data == "tatoeba" else 3e6)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_results_in_the_book_are_of_the_settings_in_the_code(path):
    written = json.loads(path.read_text())
    chosen = translate.options(written["command"].split()[3:])
    names = ("data", "pair", "model", "seeds", "epochs", "rate", "quick")
    data, pair, model, *rest = (getattr(chosen, name) for name in names)
    wanted = translate.settings(data, pair, model, **dict(zip(names[3:], rest, strict=True)))
    assert path == chosen.out
    assert len(written["rows"]) == len(wanted)
    for row, setting in zip(written["rows"], wanted, strict=True):
        assert json.loads(json.dumps(setting)).items() <= row.items()


@pytest.mark.parametrize("name", shipped())
def test_what_is_shipped_is_what_was_measured(name):
    file = next(path for path in FILES if path.stem.removeprefix("translate_") == stem(name))
    row = json.loads(file.read_text())["rows"][0]
    folder = translate.SHIPPED / name
    assert sum(file.stat().st_size for file in folder.iterdir()) == row["eight_bits"]["bytes"] < 2e6
    translator = Translator.load(name)
    assert translator.translate([row["translations"][0]["source"]])[0].text
    assert parameters(translator.model) == row["parameters"] < 2e6


def stem(name):
    data, source, target, *model = name.split("-")
    return f"{data}_{source}-{target}_{model[0] if model else 'transformer'}"


def test_a_pair_that_the_data_has_not_is_refused(capsys):
    with pytest.raises(SystemExit):
        translate.options(["--data", "tatoeba", "--pair", "de-en"])
    assert "--pair: expected one of en-fr, fr-en" in capsys.readouterr().err
