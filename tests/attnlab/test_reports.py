"""What public reports of other libraries told of: each kind of fault, asked of attnlab."""

import copy
import threading

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab import LanguageModel, Summarizer, Transformer, Translator, fit, rnn, tasks
from attnlab.decoding import Stepped, beam_search, evaluating, greedy_search, sample
from attnlab.tasks import Batch
from attnlab.training import next_token_loss, quantization, sequence_loss

SIZES = {"embed_dim": 8, "num_heads": 2, "num_layers": 1}
SEQ2SEQ = {
    "transformer": lambda **options: Transformer(20, 20, **SIZES, **options),
    "additive": lambda **options: rnn.seq2seq(20, 20, embed_dim=8, hidden_dim=8, **options),
}


class NoFloat64(TorchDispatchMode):
    """A device that refuses float64, as Apple's does."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else [out]:
            if isinstance(one, torch.Tensor) and one.dtype == torch.float64:
                raise TypeError(f"no float64 here: {function}")
        return out


def test_training_and_quantization_need_no_float64():
    model = LanguageModel(9, positions="learned", max_len=5, **SIZES)
    batches = [torch.randint(9, (2, 5))]
    with NoFloat64():
        fitted = fit(model, batches, steps=2, valid=batches, device="cpu", progress=False)
        packed = quantization.quantize(torch.randn(3, 4))
    assert fitted.step == 2
    assert packed.values.dtype == torch.int8


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_the_loss_leaves_out_the_padding_of_the_model(kind):
    """With fairseq's ids 0 begins, 1 is padding, 2 ends."""
    model = SEQ2SEQ[kind](pad=1, bos=0, eos=2).eval()
    source, lengths = torch.tensor([[5, 6], [8, 1]]), torch.tensor([2, 1])
    target_in = torch.tensor([[0, 4, 5], [0, 6, 1]])
    target_out = torch.tensor([[4, 5, 2], [6, 2, 1]])
    batch = Batch(source, lengths, target_in, target_out, torch.tensor([3, 2]), torch.arange(2))
    losses = sequence_loss(model, batch)
    logits = model(source, lengths, target_in).log_softmax(-1)
    places = [(0, 0, 4), (0, 1, 5), (0, 2, 2), (1, 0, 6), (1, 1, 2)]
    torch.testing.assert_close(losses, torch.stack([-logits[place] for place in places]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ids_of_either_size_have_a_loss(dtype):
    pairs = tasks.toy_french(4)
    vocabs = tasks.vocabs(pairs)
    (batch,) = tasks.Batches(pairs, *vocabs, batch_size=4)
    model = Transformer(len(vocabs[0]), len(vocabs[1]), dropout=0.0, **SIZES)
    narrow = batch._replace(**{name: getattr(batch, name).to(dtype)
                               for name in ("source", "target_in", "target_out")})  # fmt: skip
    assert torch.equal(sequence_loss(model, narrow), sequence_loss(model, batch))
    text = batch.source.to(dtype)
    language = LanguageModel(len(vocabs[0]), dropout=0.0, pad=0, **SIZES)
    assert torch.equal(next_token_loss(language, text), next_token_loss(language, batch.source))


LEFT, RIGHT = torch.tensor([[0, 0, 5, 6]]), torch.tensor([[5, 6, 0, 0]])


def test_padding_among_the_tokens_of_a_text_is_told():
    model = LanguageModel(20, pad=0, **SIZES)
    for prompt in (LEFT, RIGHT):
        with pytest.raises(ValueError, match=r"tokens: .*padding \(id 0\).* got some in row 0"):
            model.generate(prompt, 2)
    with pytest.raises(ValueError, match=r"tokens: .*on the right"):
        model(LEFT)
    model(RIGHT)
    alone = model.generate(torch.tensor([[5, 6]]), 4, temperature=0).tokens
    assert torch.equal(model.generate(RIGHT, 4, lengths=[2], temperature=0).tokens, alone)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_padding_among_the_tokens_of_a_source_is_told(kind):
    model = SEQ2SEQ[kind]()
    for source, lengths in ((LEFT, [4]), (RIGHT, None), (RIGHT, [3])):
        with pytest.raises(ValueError, match=r"source: .*padding \(id 0\)"):
            model(source, lengths, torch.tensor([[1, 4]]))


def test_an_untrained_language_model_writes_no_padding():
    model = LanguageModel(5, pad=0, **SIZES)
    written = model.generate(torch.full((64, 1), 3), 20, generator=torch.Generator().manual_seed(0))
    assert not (written.tokens == 0).any()


def test_two_threads_may_evaluate_one_model():
    """The first to end must bring no dropout into the other's call, nor leave it in eval."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout()).train()
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def first():
        with evaluating(model):
            inside.set()
            assert go_on.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with evaluating(model):
        go_on.set()
        thread.join()
        seen.append(model[1].training)
    assert seen == [False]
    assert model.training
    assert model[1].training


class Called(nn.Module):
    """A sequence model without the lengths of its sources, which an exporter can call."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source, target):
        return self.model(source, None, target)


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_a_batch_of_any_size_can_be_exported(kind):
    model = Called(SEQ2SEQ[kind]().eval())
    ids, batch = torch.randint(4, 20, (3, 5)), Dim("batch", min=2)
    program = export(model, (ids, ids), dynamic_shapes=({0: batch}, {0: batch})).module()
    more = torch.randint(4, 20, (7, 5))
    torch.testing.assert_close(program(more, more), model(more, more))


COMBINED = {
    "cafe\u0301": ["café"],
    "İ": ["i\u0307"],
    "दिल्ली बड़ी": ["दिल्ली", "बड\u093cी"],
    "שָׁלוֹם": ["שָׁלוֹם"],
    "ที่นี่": ["ที่นี่"],
    "می\u200cروم": ["می\u200cروم"],
    "\ufeffThank you.\u200b": ["thank", "you", "."],
    "soft\u00adhyphen": ["softhyphen"],
    "e\u0301t\u00e9's": ["été", "'s"],
}


@pytest.mark.parametrize("text", COMBINED)
def test_a_mark_stays_with_its_letter_and_what_has_no_width_goes(text):
    tokens = tasks.tokenize(text)
    assert tokens == COMBINED[text]
    assert tasks.tokenize(tasks.detokenize(tokens)) == tokens


def test_a_byte_order_mark_changes_no_translation():
    translator = Translator.load("tatoeba-en-fr")
    assert len({*map(translator, ("Thank you.", "\ufeffThank you.", "Thank you.\u200b"))}) == 1


def toy(kind="dot", **options):
    return Translator(
        *tasks.vocabs(tasks.toy_french(30)), kind, embed_dim=8, hidden_dim=8, **options
    )


def test_a_folder_comes_before_a_shipped_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Translator.load("tatoeba-en-fr").kind == "transformer"
    toy().save("tatoeba-en-fr")
    assert Translator.load("tatoeba-en-fr").kind == "dot"


BROKEN = {
    "cut off": ('{"model": "do', "a whole JSON file"),
    "a list": ("[1]", "a JSON file with model"),
    "without vocabularies": ('{"model": "dot", "options": {}}', "a JSON file with model"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_description_is_told(broken, tmp_path):
    text, expected = BROKEN[broken]
    toy().save(tmp_path)
    (tmp_path / "translator.json").write_text(text)
    with pytest.raises(ValueError, match=f"path: expected {expected}.*translator.json"):
        Translator.load(tmp_path)


def test_numpy_sizes_are_saved_and_what_cannot_be_leaves_nothing_behind(tmp_path):
    toy(num_layers=np.int64(1)).save(tmp_path / "numpy")
    assert Translator.load(tmp_path / "numpy").options["num_layers"] == 1
    halved = tasks.Vocab(["half", "\ud800"])
    with pytest.raises(ValueError, match="options: expected text that a file can hold"):
        Translator(halved, halved, "dot", embed_dim=8, hidden_dim=8).save(tmp_path / "half")
    assert not (tmp_path / "half").exists()
    with pytest.raises(ValueError, match="options: expected text that a file can hold"):
        Summarizer(halved, embed_dim=8, num_heads=2).save(tmp_path / "half")
    assert not (tmp_path / "half").exists()


def test_a_model_that_gives_nan_is_told_by_every_search():
    def step(tokens, state):
        return Stepped(torch.full((len(tokens), 6), float("nan")), state, None)

    for search in (
        lambda: greedy_search(step, None, 1, 3),
        lambda: beam_search(step, None, 1, 3, beam_size=2),
        lambda: sample(step([0], None).logits),
        lambda: sample(torch.full((2, 3), -torch.inf)),
    ):
        with pytest.raises(ValueError, match="logits: expected a finite one in each row"):
            search()


def test_a_tiny_temperature_takes_the_best():
    logits = torch.randn(50, 9)
    assert torch.equal(sample(logits, temperature=1e-38), logits.argmax(-1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_scores_do_not_depend_on_the_default_dtype(dtype):
    model, prompts = LanguageModel(20, **SIZES), torch.full((1, 1), 5)
    wanted = model.generate(prompts, 40, temperature=0).scores
    pairs = tasks.toy_french(8)
    translator = Translator(*tasks.vocabs(pairs), "transformer", **SIZES)
    best = translator.translate(["the cat"], beam_size=3, max_len=20)[0].score
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        assert torch.equal(model.generate(prompts, 40, temperature=0).scores, wanted)
        assert translator.translate(["the cat"], beam_size=3, max_len=20)[0].score == best
    finally:
        torch.set_default_dtype(before)


def test_a_special_tokens_name_in_a_text_is_no_special_token():
    vocab = tasks.Vocab(["a", "b"])
    assert vocab.encode(["a", "<eos>", "<pad>", "b"]) == [4, 3, 3, 5]


def test_a_copy_of_a_model_evaluates_on_its_own():
    model = nn.Dropout()
    with evaluating(model):
        other = copy.deepcopy(model).train()
        with evaluating(other):
            assert not other.training
        assert other.training
        assert not model.training
