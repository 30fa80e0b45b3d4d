"""A training of hours, which can be stopped: `training.fit` pass by pass, each kept on disk."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnkit.guard import checks
from attnlab import files, training
from attnlab.tasks import Batches
from attnlab.training.loop import make_optimizer

Rows = list[dict[str, float]]


def fit(
    model: nn.Module,
    batches: Batches,
    *,
    steps: int,
    folder: Path,
    lr: float,
    seed: int,
    device: torch.device,
    **options: Any,
) -> Rows:
    """Train `model` in place, or go on with what `folder` holds; return the history.

    After each pass over the batches `last.safetensors` there has all that is needed to go on: call
    again with the same arguments, and the result is the same to the bit as without the stop.
    With more `steps` it trains on, and with another `lr` at that rate. What a stop loses is the
    pass that was under way.

    Raises:
        ValueError: the folder is of another seed, other batches, another model, or of more steps.
    """
    path, fixed = folder / "last.safetensors", {"seed": seed, "batches": len(batches)}
    optimizer = make_optimizer(model.to(device), lr)
    if not path.is_file():
        _save(path, model, optimizer, {"history": [], "fixed": fixed})
    history = _load(path, model, optimizer, fixed)
    done = history[-1]["step"] if history else 0
    if done > steps:
        checks.fail("steps", f"at least the {done} made already in {folder}", str(steps))
    while done < steps:
        end = min(done + len(batches) - done % len(batches), steps)
        options |= {"steps": end, "start": done, "optimizer": optimizer}
        history += training.fit(model, batches, seed=seed, device=device, **options).history
        _save(path, model, optimizer, {"history": history, "fixed": fixed})
        done = end
    return history


def history_of(folder: Path) -> Rows:
    """The history in a folder of `fit`; empty when nothing was trained there."""
    path = folder / "last.safetensors"
    return files.load_tensors(path)[1]["history"] if path.is_file() else []


def _save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, state: dict) -> None:
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    files.save_tensors(path, tensors, state)


def _load(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, fixed: dict) -> Rows:
    tensors, state = files.load_tensors(path)
    for name, value in fixed.items():
        if state["fixed"][name] != value:
            checks.fail(name, f"{state['fixed'][name]}, as in {path}", str(value))
    weights, moments = {}, {}
    for name, value in tensors.items():
        kind, rest = name.split(".", 1)
        if kind == "model":
            weights[rest] = value
        else:
            number, part = rest.split(".")
            moments.setdefault(int(number), {})[part] = value
    files.put_weights(model, weights)
    # The groups, with the learning rate, stay as they were made.
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    return state["history"]
