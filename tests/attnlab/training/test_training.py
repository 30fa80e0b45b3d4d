"""`fit` learns, goes on where it was, and takes what it is given."""

import os
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import files, tasks, training
from attnlab.tasks import Batches
from attnlab.transformer import LanguageModel

torch.set_num_threads(1)


class Tagger(nn.Module):
    """A small model with dropout: each target token from the source token at its place."""

    def __init__(self, vocab=30, size=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, size, padding_idx=0)
        self.previous = nn.Embedding(vocab, size)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(size, vocab)

    def forward(self, source, source_lengths, target_in):
        width = target_in.shape[1]
        seen = F.pad(self.embed(source), (0, 0, 0, max(0, width - source.shape[1])))[:, :width]
        return self.out(self.drop(seen + self.previous(target_in)))


PAIRS = tasks.copy(120, max_length=6, symbols=8)
VOCABS = tasks.vocabs(PAIRS)


def data(seed=0):
    train = Batches(PAIRS[:80], *VOCABS, batch_size=16, seed=seed)
    return train, Batches(PAIRS[96:], *VOCABS, batch_size=16, shuffle=False)


def model(seed=0):
    torch.manual_seed(seed)
    return Tagger()


def run(tagger, steps, **options):
    train, valid = data()
    options = {"valid": valid, "lr": 0.01, "progress": False, **options}
    return training.fit(tagger, train, steps=steps, **options)


def assert_same_weights(one, other):
    for (name, a), (_, b) in zip(one.state_dict().items(), other.state_dict().items(), strict=True):
        assert torch.equal(a, b), name


def test_fit_learns_and_says_how():
    tagger = model()
    fitted = run(tagger, 60)
    assert fitted.step == 60
    assert [row["step"] for row in fitted.history] == list(range(5, 61, 5))
    assert fitted.history[-1]["valid_loss"] < fitted.history[0]["valid_loss"] / 2
    assert fitted.best_loss == min(row["valid_loss"] for row in fitted.history)
    assert not tagger.training
    assert fitted.best_loss == pytest.approx(training.evaluate(tagger, data()[1]))


def test_the_same_call_gives_the_same_run_and_leaves_the_callers_randomness_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    one, other = model(), model()
    torch.manual_seed(5)
    assert run(one, 20) == run(other, 20)
    assert torch.equal(torch.rand(3), expected)
    assert_same_weights(one, other)
    third = model()
    assert run(third, 20, seed=1) != run(model(), 20)


def test_steps_in_two_calls_are_those_of_one():
    """Without dropout, whose draws begin anew; on the same batches, at the same rates."""
    whole, parts = model(), model()
    whole.drop.p = parts.drop.p = 0.0
    schedule = {"schedule": lambda step: 0.97**step, "lr": None}

    def adam(tagger):
        return torch.optim.AdamW(tagger.parameters(), 0.01, weight_decay=0.1)

    expected = run(whole, 23, optimizer=adam(whole), **schedule)
    for stop in (3, 7, 15):
        torch.manual_seed(0)
        parts.load_state_dict(model().state_dict())
        options = {"optimizer": adam(parts), **schedule}
        first = run(parts, stop, **options)
        second = run(parts, 23, start=stop, **options)
        assert_same_weights(whole, parts)
        assert second.history[-1]["valid_loss"] == expected.history[-1]["valid_loss"]
        steps = [row["step"] for row in first.history + second.history]
        assert steps == sorted({*range(5, 23, 5), stop, 23})
        assert second.step == 23


def test_draws_go_on_and_do_not_begin_again():
    drawn = []

    def loss(line, x):
        drawn.append(torch.rand(1).item())
        return line(x) ** 2

    line, batches = nn.Linear(1, 1), [torch.ones(1, 1)]
    optimizer = torch.optim.SGD(line.parameters(), 0.1)
    options = {"loss": loss, "optimizer": optimizer, "progress": False}
    for start in (0, 2, 2):
        training.fit(line, batches, steps=start + 2, start=start, **options)
    assert len(set(drawn)) == 4
    assert drawn[2:4] == drawn[4:]


def test_the_optimizer_of_the_caller_is_the_one_that_steps():
    line = nn.Linear(1, 1, bias=False)
    before = line.weight.item()
    optimizer = torch.optim.SGD(line.parameters(), lr=0.5)
    options = {"loss": lambda m, x: 0.2 * m(x), "optimizer": optimizer, "progress": False}
    training.fit(line, [torch.ones(1, 1)], steps=1, **options)
    assert line.weight.item() == pytest.approx(before - 0.5 * 0.2)


def test_fit_works_in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(run(model(), 3)))
    thread.start()
    thread.join()
    assert found[0].step == 3


def test_the_best_step_is_that_of_the_least_loss():
    fitted = run(model(), 40, schedule=lambda step: 1 if step < 20 else -1)
    assert fitted.best_step == 20
    assert fitted.history[-1]["valid_loss"] > fitted.best_loss
    alone = training.fit(model(), data()[0], steps=3, progress=False)
    assert (alone.best_step, alone.best_loss) == (None, None)


def test_the_usual_loss_is_that_of_the_batch():
    language = LanguageModel(30, embed_dim=8, num_heads=2, num_layers=1)
    tokens = torch.randint(30, (2, 5))
    assert torch.equal(
        training.usual_loss(language.eval(), tokens), training.next_token_loss(language, tokens)
    )
    assert training.fit(language, [tokens], steps=1, progress=False).step == 1
    batch = next(iter(data()[0]))
    tagger = model().eval()
    assert torch.equal(training.usual_loss(tagger, batch), training.sequence_loss(tagger, batch))
    assert training.evaluate(tagger, [batch]) == pytest.approx(
        training.sequence_loss(tagger, batch).mean().item()
    )


def test_labels_are_smoothed_in_training_alone():
    tagger = model()
    tagger.drop.p = 0.0
    batch = next(iter(data()[0]))
    hard = training.sequence_loss(tagger, batch)
    smooth = training.sequence_loss(tagger, batch, label_smoothing=0.3)
    log_probs = tagger(batch.source, batch.source_lengths, batch.target_in).log_softmax(-1)
    uniform = -log_probs.mean(-1)[batch.target_out != 0]
    assert torch.allclose(smooth, 0.7 * hard + 0.3 * uniform, atol=1e-6)
    tagger.eval()
    assert torch.equal(training.sequence_loss(tagger, batch, label_smoothing=0.3), hard)


def test_evaluate_averages_over_tokens_not_batches():
    tagger = model()
    tagger.train()
    batches = list(data()[1].epoch(0))
    assert len({batch.target_out.shape for batch in batches}) > 1
    total = training.evaluate(tagger, batches)
    assert tagger.training, "the mode is put back"
    tagger.eval()
    every = torch.cat([training.sequence_loss(tagger, batch) for batch in batches])
    assert total == pytest.approx(every.mean().item(), rel=1e-6)


def test_a_gradient_longer_than_1_is_cut_and_a_shorter_one_is_not():
    def gradient(slope):
        line = nn.Linear(1, 1, bias=False)
        loss = {"loss": lambda m, x: slope * m(x)}
        training.fit(line, [torch.tensor([[1.0]])], steps=1, progress=False, **loss)
        return line.weight.grad.item()

    assert gradient(100.0) == pytest.approx(1.0)
    assert gradient(0.5) == pytest.approx(0.5)


def test_schedule_multiplies_the_learning_rate():
    batches, options = list(data()[0])[:1], {"lr": 0.01, "progress": False}
    schedule = {"schedule": lambda step: 1 / (step + 1)}
    fitted = training.fit(model(), batches, steps=4, **options, **schedule)
    assert [row["lr"] for row in fitted.history] == pytest.approx([0.01, 0.005, 0.01 / 3, 0.0025])


def test_measure_sees_the_model_in_eval_mode_without_gradients():
    seen = []

    def measure(tagger):
        seen.append((tagger.training, torch.is_grad_enabled()))
        return {"norm": tagger.out.weight.norm()}

    fitted = run(model(), 6, measure=measure)
    assert seen == [(False, False)] * 2, "at step 5, and at the end"
    assert all(isinstance(row["norm"], float) for row in fitted.history)


def test_lists_of_batches_come_in_order_again_and_again():
    seen = []

    def loss(line, x):
        seen.append(x.item())
        return line(x) ** 2

    batches = [torch.tensor([[1.0]]), torch.tensor([[2.0]]), torch.tensor([[3.0]])]
    training.fit(nn.Linear(1, 1), batches, steps=7, loss=loss, progress=False)
    assert seen == [1, 2, 3, 1, 2, 3, 1]


def test_the_bar_shows_unless_it_is_told_not_to(capsys, monkeypatch):
    run(model(), 3, progress=True)
    assert "Training" in capsys.readouterr().err
    run(model(), 3, progress=False)
    assert capsys.readouterr().err == ""


def test_files_are_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file.safetensors"
    files.save_tensors(path, {"a": torch.ones(2)}, {"n": 1})
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        files.save_tensors(path, {"a": torch.zeros(2)}, {"n": 2})
    tensors, state = files.load_tensors(path)
    assert (tensors["a"].tolist(), state) == ([1, 1], {"n": 1})
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_tied_weights_are_saved_and_stay_tied(tmp_path):
    def tied():
        pair = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5))
        pair[1].weight = pair[0].weight
        return pair

    one, other = tied(), tied()
    files.save_tensors(tmp_path / "tied.safetensors", one.state_dict())
    files.load_weights(other, tmp_path / "tied.safetensors")
    assert_same_weights(one, other)
    assert other[1].weight is other[0].weight


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_fit_on_a_gpu_runs_in_bfloat16():
    seen = set()

    def loss(tagger, batch):
        logits = tagger(batch.source, batch.source_lengths, batch.target_in)
        seen.add((logits.device.type, logits.dtype))
        return training.sequence_loss(tagger, batch)

    fitted = run(model(), 20, loss=loss)
    assert seen == {("cuda", torch.bfloat16)}
    assert fitted.history[-1]["valid_loss"] < fitted.history[0]["valid_loss"]
