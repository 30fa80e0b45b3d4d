"""Results and models that long runs left come back as they were."""

import pytest
import torch

from attnbook import recorded
from attnlab import files
from attnlab.tasks import Vocab
from experiments import _record as record

ARGUMENTS = {
    "seq2seq": {"attention": "dot", "embed_dim": 4, "hidden_dim": 8, "input_feeding": False},
    "transformer": {"embed_dim": 8, "num_heads": 2, "num_layers": 1, "hidden_dim": 8},
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_a_model_comes_back_with_its_weights_its_words_and_its_story(kind, tmp_path):
    vocabs = Vocab(["le", "chat"]), Vocab(["the", "cat", "sat"])
    arguments = {"source_vocab": 6, "target_vocab": 7, **ARGUMENTS[kind]}
    torch.manual_seed(0)
    model = recorded.build(kind, arguments)
    path = tmp_path / "m.safetensors"
    recorded.save_model(path, model, kind, arguments, vocabs, {"seed": 0})
    loaded = recorded.load_model(path)
    assert not loaded.model.training
    assert (loaded.source_vocab, loaded.target_vocab) == vocabs
    assert loaded.about == {"seed": 0}
    source, target_in = torch.tensor([[4, 5, 4]]), torch.tensor([[1, 4, 6]])
    expected = model.eval()(source, None, target_in)
    assert torch.equal(loaded.model(source, None, target_in), expected)


def test_the_origin_of_numbers_names_command_seeds_machine_and_day():
    run = {"command": "make it", "device": "a CPU", "date": "2026-01-31"}
    assert recorded.origin(run) == "make it (a CPU, 2026-01-31)"
    assert recorded.origin(run | {"seeds": [7]}) == "make it (1 seed, a CPU, 2026-01-31)"
    assert recorded.origin(run | {"seeds": [0, 4]}) == "make it (2 seeds, a CPU, 2026-01-31)"


@pytest.mark.parametrize("find", [recorded.results, recorded.model])
def test_a_name_that_is_not_there_says_where_it_was_looked_for(find):
    with pytest.raises(
        FileNotFoundError, match=r"expected a file .*/nothing\.\w+ in .*, found none"
    ):
        find("nothing")


def test_weights_of_another_model_are_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    arguments = {"source_vocab": 6, "target_vocab": 7, **ARGUMENTS["seq2seq"]}
    words = Vocab(["a", "b"])
    recorded.save_model(path, torch.nn.Linear(2, 2), "seq2seq", arguments, (words, words), {})
    with pytest.raises(ValueError, match="weight"):
        recorded.load_model(path)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind: expected"):
        recorded.build("lstm", {})


def test_kept_models_say_how_they_were_made_and_answer_as_recorded():
    kept = sorted((record.RESULTS.parent / "models").glob("*.safetensors"))
    for path in kept:
        state = files.load_tensors(path)[1]
        assert state["about"]["command"].startswith("python -m experiments.")
        if "kind" in state:
            assert recorded.load_model(path).model is not None
        else:  # tensors of an experiment's own
            names = recorded.tensors(path.stem)[0]
            assert sum(name.endswith(".weight") for name in names) > 1
