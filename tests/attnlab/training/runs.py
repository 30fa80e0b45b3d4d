"""Training runs that one process or several make; `test_processes.py` compares them."""

import os
import signal
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import init_device_mesh

from attnlab import LanguageModel, files, training
from attnlab.training import processes

PAD = 0
# The last batch has fewer examples than four processes need.
SIZES = (5, 8, 4, 3)


def batches() -> list[Tensor]:
    """Ids (B, L) with padding, the same on all processes."""
    generator = torch.Generator().manual_seed(1)
    found = [torch.randint(1, 9, (size, 7), generator=generator) for size in SIZES]
    for each in found:
        each[::2, 5:] = PAD
    return found


def model() -> nn.Module:
    torch.manual_seed(0)
    return LanguageModel(9, embed_dim=8, num_heads=2, num_layers=1, dropout=0.0, pad=PAD).double()


def loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """In float64, and with the model's own `pad`, as `training.next_token_loss` has it."""
    logits, target = model(tokens[:, :-1]), tokens[:, 1:]
    losses = F.cross_entropy(logits.transpose(1, 2), target, reduction="none")
    return losses[target != model.pad]


def fitted(steps: int, *, folder: Path | None = None, divide: bool = False, loss=loss):
    """Train for so many steps; return the weights, in one piece, and the history."""
    made = model()
    if divide:
        from torch.distributed.fsdp import fully_shard  # with it comes a second of imports

        mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
        for layer in made.stack.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(made, mesh=mesh)
    options = {"valid": batches()[1:], "lr": 0.01, "folder": folder, "progress": False}
    done = training.fit(made, batches(), steps=steps, loss=loss, device="cpu", **options)
    weights = {name: processes.whole(each) for name, each in made.state_dict().items()}
    return weights, done.history


def train(steps: int, folder: str, out: str, divide: bool = False) -> None:
    """Train, and let the first process keep what came out."""
    weights, history = fitted(steps, folder=Path(folder), divide=divide)
    if processes.place()[0] == 0:
        files.save_tensors(out, weights, history)


def interrupt_one(folder: str) -> None:
    """Ctrl-C reaches the last process alone, in its third step; all of them stop there."""
    rank, world = processes.place()
    calls = []

    def pressed(model, tokens):
        calls.append(model.training)
        if rank == world - 1 and sum(calls) == 3 and model.training:
            os.kill(os.getpid(), signal.SIGINT)
        return loss(model, tokens)

    with pytest.raises(KeyboardInterrupt):
        fitted(10, folder=Path(folder), loss=pressed)
    assert sum(calls) == 3


def kill_one(folder: str) -> None:
    """The last process is killed in its seventh step."""
    rank, world = processes.place()
    calls = []

    def killed(model, tokens):
        calls.append(model.training)
        if rank == world - 1 and sum(calls) == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return loss(model, tokens)

    fitted(10, folder=Path(folder), loss=killed)


def folders_of_their_own(folder: str) -> None:
    """Each process names another folder, so that only the first finds what it kept there."""
    own = Path(folder) / str(processes.place()[0])
    fitted(2, folder=own)
    with pytest.raises(ValueError, match=r"folder: expected one folder .* on 1 of 2"):
        fitted(4, folder=own)


def nan_on_one() -> None:
    """One process has a NaN, and all of them raise."""
    rank = processes.place()[0]

    def broken(model, tokens):
        return loss(model, tokens) * (float("nan") if rank and model.training else 1.0)

    with pytest.raises(ValueError, match="loss: expected a finite number, got nan at step 1"):
        fitted(2, loss=broken)


def dropout_differs(out: str) -> None:
    """Each process draws its own dropout, in a run that goes on too."""
    drawn = []

    def noisy(model, tokens):
        drawn.append(torch.rand(()).item())
        return loss(model, tokens)

    for steps in (2, 4):
        fitted(steps, folder=Path(out), loss=noisy)
    for mine, *others in zip(*processes.gathered(drawn), strict=True):
        assert mine not in others


def deal_settings(folder: str) -> None:
    """A sweep over settings gives all processes all rows, and each setting is measured once."""
    from experiments import _record as record

    rank, world = processes.place()
    out = Path(folder) / "sweep.json"
    rows = record.sweep([{"seed": seed} for seed in range(5)], _by, out=out)
    assert [row["seed"] for row in rows] == list(range(5))
    assert [row["by"] for row in rows] == [seed % world for seed in range(5)]
    processes.wait()
    assert list(Path(folder).glob("*.jsonl")) == []
    processes.wait()
    if rank == 0:  # a run of more processes was stopped when two settings were done
        stamp = record._stamp(_by)
        for place, lines in (("", []), (1, [0]), (7, [3])):
            kept = [
                {"stamp": stamp},
                *({"setting": {"seed": s}, "numbers": {"by": 9}} for s in lines),
            ]
            text = "".join(record.json.dumps(line) + "\n" for line in kept)
            (Path(folder) / f"sweep.partial{place}.jsonl").write_text(text)
    processes.wait()
    rows = record.sweep([{"seed": seed} for seed in range(5)], _by, out=out)
    assert [row["by"] for row in rows] == [9, 0, 1 % world, 9, 2 % world]


def _by(setting: dict) -> dict:
    return {"by": processes.place()[0]}
