"""`fit` learns, stops and goes on to the same bit, keeps its best, and writes no pickle."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import files, tasks, training
from attnlab.tasks import Batches

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


@pytest.mark.parametrize("stop", [5, 7, 13])
def test_stopped_and_continued_equals_uninterrupted_to_the_bit(tmp_path, stop):
    def fitted(tagger, steps, **options):
        return run(tagger, steps, schedule=lambda step: 0.97**step, **options)

    whole = model()
    expected = fitted(whole, 23)

    class Stop(nn.Module):
        calls = 0

    def stopping(tagger, batch):
        losses = training.sequence_loss(tagger, batch)  # uses up randomness, too
        Stop.calls += tagger.training
        if Stop.calls > stop:
            raise KeyboardInterrupt
        return losses

    with pytest.raises(KeyboardInterrupt):
        fitted(model(), 23, folder=tmp_path, loss=stopping)
    resumed = model(seed=99)
    torch.manual_seed(1234)
    assert fitted(resumed, 23, folder=tmp_path) == expected
    assert_same_weights(whole, resumed)


def test_an_interrupt_in_an_evaluation_loses_nothing(tmp_path):
    whole = model()
    expected = run(whole, 12)
    evaluations = []

    def measure(tagger):
        evaluations.append(1)
        if len(evaluations) == 2:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        run(model(), 12, folder=tmp_path, measure=measure)
    resumed = model(seed=3)
    assert run(resumed, 12, folder=tmp_path) == expected
    assert_same_weights(whole, resumed)


def test_training_on_takes_the_same_steps(tmp_path):
    whole, parts = model(), model()
    run(whole, 20)
    run(parts, 10, folder=tmp_path)
    assert run(parts, 20, folder=tmp_path).step == 20
    assert_same_weights(whole, parts)
    before = (tmp_path / "last.safetensors").read_bytes()
    again = model(seed=4)
    assert run(again, 20, folder=tmp_path).step == 20
    assert_same_weights(whole, again)
    assert (tmp_path / "last.safetensors").read_bytes() == before


def test_ctrl_c_lets_the_step_finish_saves_and_raises(tmp_path):
    pressed = []

    def loss(tagger, batch):
        if tagger.training and not pressed and batch.index[0] >= 0:
            pressed.append(1)
            os.kill(os.getpid(), signal.SIGINT)
        return training.sequence_loss(tagger, batch)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(model(), 20, folder=tmp_path, loss=loss)
    assert signal.getsignal(signal.SIGINT) is handler
    _, state = files.load_tensors(tmp_path / "last.safetensors")
    assert dict(state["numbers"])["step"] == 1
    whole, resumed = model(), model(seed=8)
    run(whole, 20)
    run(resumed, 20, folder=tmp_path)
    assert_same_weights(whole, resumed)


def test_a_second_ctrl_c_in_the_middle_of_the_update_leaves_the_last_good_checkpoint(
    tmp_path, monkeypatch
):
    class Pressed(torch.optim.AdamW):
        def step(self, closure=None):
            super().step(closure)
            if len(pressed) == 7:
                raise KeyboardInterrupt
            pressed.append(1)

    pressed = []
    monkeypatch.setattr(torch.optim, "AdamW", Pressed)
    with pytest.raises(KeyboardInterrupt):
        run(model(), 20, folder=tmp_path)
    _, state = files.load_tensors(tmp_path / "last.safetensors")
    assert state["numbers"]["step"] == 5, "that of the last evaluation"


@pytest.mark.build
def test_a_process_interrupted_from_outside_can_go_on(tmp_path):
    """The same in a process of its own, as a reader's Ctrl-C has it."""
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.attnlab.training.test_training import *
def loss(tagger, batch):
    print("step", flush=True); import time; time.sleep(0.02)
    return training.sequence_loss(tagger, batch)
run(model(), 500, folder={str(tmp_path)!r}, loss=loss)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(8):
        assert process.stdout.readline() == "step\n"
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert process.returncode != 0
    step = files.load_tensors(tmp_path / "last.safetensors")[1]["numbers"]["step"]
    assert 4 <= step < 500
    whole, resumed = model(), model(seed=1)
    run(whole, step + 10)
    run(resumed, step + 10, folder=tmp_path)
    assert_same_weights(whole, resumed)


def test_fit_works_in_a_thread_where_no_signal_is_heard():
    found = []
    thread = threading.Thread(target=lambda: found.append(run(model(), 3)))
    thread.start()
    thread.join()
    assert found[0].step == 3


def test_best_checkpoint_holds_the_weights_of_the_least_loss(tmp_path):
    tagger = model()
    fitted = run(tagger, 40, folder=tmp_path, schedule=lambda step: 1 if step < 20 else -1)
    assert fitted.best_step == 20
    last = training.evaluate(tagger, data()[1])
    assert last > fitted.best_loss
    state = files.load_weights(tagger, tmp_path / "best.safetensors")
    assert training.evaluate(tagger, data()[1]) == fitted.best_loss == state["valid_loss"]
    assert state["step"] == fitted.best_step
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        "best.safetensors",
        "last.safetensors",
    ]


def test_checkpoints_are_safetensors_and_nothing_is_pickled(tmp_path, monkeypatch):
    import pickle

    def refuse(*arguments, **options):
        raise AssertionError("a pickle")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    run(model(), 5, folder=tmp_path)
    run(model(), 9, folder=tmp_path)
    for path in tmp_path.iterdir():
        files.load_tensors(path)


def test_padding_does_not_count_in_the_loss():
    tagger = model().eval()
    pairs = [PAIRS[0], max(PAIRS, key=lambda pair: len(pair.source))]
    assert len(pairs[0].source) < len(pairs[1].source)
    together = training.sequence_loss(tagger, tasks.collate(pairs, *VOCABS))
    alone = [training.sequence_loss(tagger, tasks.collate([pair], *VOCABS)) for pair in pairs]
    assert len(together) == sum(len(pair.target) + 1 for pair in pairs)
    assert torch.allclose(torch.cat(alone), together, atol=1e-6)


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


def test_evaluate_puts_every_part_back_as_it_was():
    tagger = model().train()
    tagger.drop.eval()  # a part that is frozen in eval mode while the rest trains
    training.evaluate(tagger, data()[1])
    assert (tagger.training, tagger.drop.training, tagger.out.training) == (True, False, True)
    with pytest.raises(ValueError, match="at least one loss"):
        training.evaluate(tagger, [])
    assert (tagger.training, tagger.drop.training) == (True, False)


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
def test_fit_on_a_gpu_runs_in_bfloat16_and_goes_on(tmp_path):
    seen = set()

    def loss(tagger, batch):
        logits = tagger(batch.source, batch.source_lengths, batch.target_in)
        seen.add((logits.device.type, logits.dtype))
        return training.sequence_loss(tagger, batch)

    whole = model()
    expected = run(whole, 20, loss=loss)
    assert seen == {("cuda", torch.bfloat16)}
    run(model(), 9, folder=tmp_path, loss=loss)
    resumed = model(seed=2)
    got = run(resumed, 20, folder=tmp_path, loss=loss)
    assert got.history[-1]["valid_loss"] == pytest.approx(
        expected.history[-1]["valid_loss"], rel=1e-3
    )
