"""The state of a training run: saving it, continuing it, and interrupting it safely."""

import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attnkit.guard import checks
from attnlab import files
from attnlab.training import processes


class Run:
    """The state of a training run: everything that a checkpoint must hold."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        fixed: dict[str, int],
        folder: Path | None,
    ):
        self.model, self.optimizer, self.fixed, self.folder = model, optimizer, fixed, folder
        self.step, self.history = 0, []
        self.best_step: int | None = None
        self.best_loss: float | None = None
        self.losses, self.count = 0.0, 0  # since the last evaluation
        self.whole = True  # False while the optimizer is halfway through the weights
        self.random = None  # state of the generators when the next step begins
        self.saved: int | None = None  # the step of the last save

    def is_due(self, every: int, steps: int) -> bool:
        """Whether this step is to be evaluated and has not been yet."""
        due = self.step > 0 and (self.step % every == 0 or self.step == steps)
        return due and not (self.history and self.history[-1]["step"] == self.step)

    @contextmanager
    def step_of(self, total: float, count: float) -> Iterator[None]:
        """Count a step, which changes the weights inside the `with` block, and its losses.

        `total` is the sum of the losses and `count` their number, over all processes.
        """
        self.whole = False
        yield
        self.step += 1
        self.losses += total
        self.count += count
        self.random = random_state()
        self.whole = True

    @contextmanager
    def saved_on_interrupt(self) -> Iterator[None]:
        """Save when a `KeyboardInterrupt` ends the `with` block.

        Of several processes, each may be somewhere else then, and a save takes all of them.
        """
        try:
            yield
        except KeyboardInterrupt:
            if self.saved != self.step and processes.place()[1] == 1:
                self.save()
            raise

    def save(self) -> None:
        """Write `last.safetensors`, unless there is no folder or the weights are half new.

        All processes call it together; the first one writes.
        """
        if self.folder is None or not self.whole:
            return
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        state = {
            "fixed": self.fixed,
            "numbers": {name: getattr(self, name) for name in _NUMBERS},
            "optimizer": files.flatten(self.optimizer.state_dict(), "optimizer", tensors),
        }
        tensors = {name: processes.whole(value) for name, value in tensors.items()}
        random_states = processes.gathered(self.random or random_state())
        state["random"] = files.flatten(random_states, "random", tensors)
        if processes.place()[0] == 0:
            files.save_tensors(self.folder / "last.safetensors", tensors, state)
        processes.wait()
        self.saved = self.step

    def save_best(self, row: dict[str, float]) -> None:
        """Write `best.safetensors`; all processes call it together, the first one writes."""
        if self.folder is None:
            return
        weights = {name: processes.whole(each) for name, each in self.model.state_dict().items()}
        if processes.place()[0] == 0:
            files.save_tensors(self.folder / "best.safetensors", weights, row)

    def load(self) -> None:
        """Continue from `last.safetensors`, if there is one, with any number of processes."""
        if self.folder is None:
            return
        path = self.folder / "last.safetensors"
        there = processes.gathered(path.is_file())
        if len(set(there)) > 1:  # they would go on from different steps, and wait for ever
            expected = "one folder that all processes share"
            checks.fail("folder", expected, f"{path.name} on {sum(there)} of {len(there)}")
        if not path.is_file():
            return
        tensors, state = files.load_tensors(path)
        for name, value in self.fixed.items():
            if state["fixed"][name] != value:
                checks.fail(name, f"{state['fixed'][name]}, as in {path}", str(value))
        weights = {name[6:]: value for name, value in tensors.items() if name.startswith("model.")}
        files.put_weights(self.model, weights)
        self._load_optimizer(files.unflatten(state["optimizer"], tensors))
        for name in _NUMBERS:
            setattr(self, name, state["numbers"][name])
        self.saved = self.step
        rank, world = processes.place()
        states = files.unflatten(state["random"], tensors)
        if len(states) == world:
            set_random_state(states[rank])
        else:  # each draws on from numbers of its own
            torch.manual_seed(hash((self.fixed["seed"], self.step, rank)))

    def _load_optimizer(self, state: dict[str, Any]) -> None:
        parameters = [each for group in self.optimizer.param_groups for each in group["params"]]
        for place, values in state["state"].items():
            for name, value in values.items():
                if value.shape == parameters[place].shape:
                    values[name] = processes.divided_as(value, parameters[place])
        self.optimizer.load_state_dict(state)


_NUMBERS = ("step", "history", "best_step", "best_loss", "losses", "count")


def random_state() -> dict[str, Any]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda, "python": random.getstate()}


def set_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    random.setstate(state["python"])


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Collect the first Ctrl-C instead of raising in the middle of a step."""
    pressed: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or handler is None:
        yield pressed  # only the main thread receives signals
        return

    def note(number: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, handler)
