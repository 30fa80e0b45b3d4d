"""A model trained on several processes is the one that a single process trains."""

import subprocess
import sys

import pytest
import torch
from torch.multiprocessing import ProcessExitedException
from torch.testing import assert_close

from attnlab import files, tasks
from attnlab.training import processes
from booktools.address import ROOT
from tests.attnlab.parallel.processes import run, run_script
from tests.attnlab.training import runs

STEPS = 10
several = pytest.mark.build  # starts processes


@pytest.fixture(scope="module")
def alone():
    return runs.fitted(STEPS)


def assert_same(path, expected):
    weights, history = files.load_tensors(path)
    want, curve = expected
    assert weights.keys() == want.keys()
    for name, value in want.items():
        assert_close(weights[name], value, rtol=0, atol=1e-9, msg=name)
    assert [row["step"] for row in history] == [4, 8, 10]
    for name in ("train_loss", "valid_loss"):
        assert [row[name] for row in history] == pytest.approx(
            [row[name] for row in curve], abs=1e-9
        )


@several
@pytest.mark.parametrize("world, divide", [(2, False), (4, False), (2, True)])
def test_trains_as_one_process(world, divide, alone, tmp_path):
    out = tmp_path / "out.safetensors"
    run(world, runs.train, STEPS, str(tmp_path), str(out), divide)
    assert_same(out, alone)
    best, row = files.load_tensors(tmp_path / "best.safetensors")
    assert best.keys() == alone[0].keys()
    assert row["valid_loss"] == pytest.approx(min(each["valid_loss"] for each in alone[1]))


@several
@pytest.mark.parametrize("first, divide, then, divide_then",
                         [(2, False, 1, False), (1, False, 3, False),
                          (2, True, 1, False), (1, False, 2, True)])  # fmt: skip
def test_goes_on_with_another_number_of_processes(
    first, divide, then, divide_then, alone, tmp_path
):
    out = tmp_path / "out.safetensors"
    for world, steps, divided in ((first, 8, divide), (then, STEPS, divide_then)):
        run(world, runs.train, steps, str(tmp_path), str(out), divided)
    assert_same(out, alone)


@several
def test_ctrl_c_on_one_process_stops_all_at_the_same_step(alone, tmp_path):
    run(3, runs.interrupt_one, str(tmp_path))
    _, state = files.load_tensors(tmp_path / "last.safetensors")
    assert state["numbers"]["step"] == 3
    runs.train(STEPS, str(tmp_path), str(tmp_path / "out.safetensors"))
    assert_same(tmp_path / "out.safetensors", alone)


@several
def test_a_killed_process_ends_the_run_and_leaves_its_last_checkpoint_whole(alone, tmp_path):
    with pytest.raises(ProcessExitedException, match="SIGKILL"):
        run(2, runs.kill_one, str(tmp_path))
    _, state = files.load_tensors(tmp_path / "last.safetensors")
    assert state["numbers"]["step"] == 4, "that of the last evaluation"
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".tmp"] == []
    runs.train(STEPS, str(tmp_path), str(tmp_path / "out.safetensors"))
    assert_same(tmp_path / "out.safetensors", alone)


@several
def test_folders_that_the_processes_do_not_share_are_refused(tmp_path):
    run(2, runs.folders_of_their_own, str(tmp_path))


@several
def test_a_loss_that_is_not_finite_on_one_process_stops_all():
    run(2, runs.nan_on_one)


@several
def test_each_process_draws_dropout_of_its_own(tmp_path):
    run(3, runs.dropout_differs, str(tmp_path))


@several
@pytest.mark.parametrize("world", [1, 2])
def test_settings_are_dealt_to_the_processes(world, tmp_path):
    run(world, runs.deal_settings, str(tmp_path))


class Other:
    pass


@pytest.fixture
def second_of_three(monkeypatch):
    monkeypatch.setattr(processes, "place", lambda: (1, 3))


def test_shares_hold_every_example_once(monkeypatch):
    pairs = tasks.reverse(10, min_length=3, max_length=5)
    batch = next(iter(tasks.Batches(pairs, *tasks.vocabs(pairs), batch_size=10)))
    parts = []
    for rank in range(3):
        monkeypatch.setattr(processes, "place", lambda rank=rank: (rank, 3))
        parts.append(processes.share(batch))
    assert all(factor == 1 and type(part) is type(batch) for part, factor in parts)
    held = torch.cat([part.index for part, _ in parts])
    assert sorted(held.tolist()) == sorted(batch.index.tolist())
    for part, _ in parts:
        for row, place in enumerate(part.index.tolist()):
            at = batch.index.tolist().index(place)
            assert torch.equal(part.source[row], batch.source[at])


def test_too_few_examples_are_everybodys_and_count_once(second_of_three):
    batch = {"x": torch.ones(2, 4), "name": "two", "size": torch.tensor(2)}
    part, factor = processes.share(batch)
    assert part is batch
    assert factor == pytest.approx(1 / 3)


def test_nested_batches_keep_their_form(second_of_three):
    rows = torch.arange(6)
    part, _ = processes.share([(rows, None), {"x": rows * 2, "n": 3, "scalar": torch.tensor(5)}])
    assert part[0][0].tolist() == [1, 4]
    assert part[0][1] is None
    assert part[1]["x"].tolist() == [2, 8]
    assert (part[1]["n"], part[1]["scalar"].item()) == (3, 5)


def test_batches_that_cannot_be_shared_are_refused(second_of_three):
    with pytest.raises(TypeError, match=r"train: expected batches of tensors.*got Other"):
        processes.share((torch.ones(3), Other()))
    with pytest.raises(ValueError, match=r"train: expected batches whose.*got \[3, 4\]"):
        processes.share((torch.ones(3), torch.ones(4)))
    with pytest.raises(ValueError, match=r"train: expected batches whose.*got none"):
        processes.share({"n": 3})


@several
def test_the_example_in_the_reference_trains(tmp_path):
    run_script(2, the_example(tmp_path))
    assert_it_trained(tmp_path)


@pytest.mark.slow  # three processes that import everything, for the few lines that start them
def test_the_example_in_the_reference_trains_under_torchrun(tmp_path):
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    start.append(the_example(tmp_path).name)
    subprocess.run([sys.executable, *start], cwd=tmp_path, check=True, capture_output=True)
    assert_it_trained(tmp_path)


def the_example(folder):
    """The script of the reference, in a file."""
    text = (ROOT / "appendices" / "api" / "training.md").read_text("utf8")
    script = text.partition("## Several processes")[2].partition("```python\n")[2]
    (folder / "train.py").write_text(script.partition("```")[0])
    return folder / "train.py"


def assert_it_trained(folder):
    _, state = files.load_tensors(folder / "runs" / "small" / "last.safetensors")
    assert state["numbers"]["step"] == 60
    losses = [row["train_loss"] for row in state["numbers"]["history"]]
    assert losses[-1] < losses[0]
