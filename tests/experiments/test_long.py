"""A long training: stopped at any place it goes on to the same bit, and what is kept is whole."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from attnlab import files
from experiments import _long

torch.set_num_threads(1)
BATCHES = list(torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(0)))


class Model(nn.Sequential):
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        super().__init__(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, 3))


def loss(model, x):
    return (model(x) - x.flip(-1)) ** 2


def run(model, steps, folder, **options):
    options = {"lr": 0.01, "seed": 0, "loss": loss, "device": "cpu", "progress": False} | options
    options |= {"valid": BATCHES[:2], "schedule": lambda step: 0.98**step}
    return _long.fit(model, BATCHES, steps=steps, folder=folder, **options)


def assert_same(one, other):
    for (name, a), (_, b) in zip(one.state_dict().items(), other.state_dict().items(), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("stop", [1, 5, 6, 13, 17])
def test_stopped_and_continued_equals_uninterrupted_to_the_bit(tmp_path, stop, error):
    whole = Model()
    expected = run(whole, 18, tmp_path / "whole")
    calls = []

    def stopping(model, x):
        calls.append(model.training)
        if sum(calls) == stop:
            raise error
        return loss(model, x)

    with pytest.raises(error):
        run(Model(), 18, tmp_path / "broken", loss=stopping)
    resumed = Model(seed=99)
    assert run(resumed, 18, tmp_path / "broken") == expected
    assert _long.history_of(tmp_path / "broken") == expected
    assert_same(whole, resumed)
    assert [row["step"] for row in expected] == [5, 10, 15, 18]


def test_training_on_goes_on_and_again_does_nothing(tmp_path):
    whole, parts = Model(), Model()
    run(whole, 20, tmp_path / "whole")
    run(parts, 10, tmp_path / "parts")
    run(parts, 20, tmp_path / "parts")
    assert_same(whole, parts)
    again = Model(seed=4)
    run(again, 20, tmp_path / "parts")
    assert_same(whole, again)
    assert _long.history_of(tmp_path / "nothing") == []


def test_a_new_learning_rate_counts_from_where_it_goes_on(tmp_path):
    same, changed = Model(), Model()
    for model, lr in ((same, 0.01), (changed, 0.5)):
        run(model, 5, tmp_path / str(lr))
        history = run(model, 10, tmp_path / str(lr), lr=lr)
        assert history[-1]["lr"] == pytest.approx(lr * 0.98**9)
    assert not torch.equal(changed[0].weight, same[0].weight)


def test_what_is_of_another_run_is_refused(tmp_path):
    run(Model(), 10, tmp_path)
    with pytest.raises(ValueError, match=r"seed: expected 0, as in .*, got 1"):
        run(Model(), 20, tmp_path, seed=1)
    with pytest.raises(ValueError, match=r"steps: expected at least the 10 made already"):
        run(Model(), 5, tmp_path)
    with pytest.raises(ValueError, match=r"batches: expected 5, as in .*, got 2"):
        _long.fit(Model(), BATCHES[:2], steps=20, folder=tmp_path, lr=0.01, seed=0, device="cpu")
    with pytest.raises(ValueError, match=r"weights: expected those of this model"):
        run(nn.Linear(3, 3), 20, tmp_path)


@pytest.mark.build
def test_a_process_that_is_killed_leaves_a_whole_file_to_go_on_from(tmp_path):
    script = f"""
import sys, time; sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.experiments.test_long import *
def slow(model, x):
    print("step", flush=True); time.sleep(0.02)
    return loss(model, x)
run(Model(), 500, Path({str(tmp_path)!r}), loss=slow)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    for _ in range(17):
        assert process.stdout.readline() == "step\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    step = files.load_tensors(tmp_path / "last.safetensors")[1]["history"][-1]["step"]
    assert 5 <= step < 500
    whole, resumed = Model(), Model(seed=1)
    run(whole, step + 7, tmp_path / "whole")
    run(resumed, step + 7, tmp_path)
    assert_same(whole, resumed)
