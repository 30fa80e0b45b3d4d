"""One `fit`: any model, any loss, a progress bar, and the same result when it is stopped."""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from tqdm.auto import tqdm

from attnkit import device as devices
from attnkit.guard import checks
from attnlab.decoding import evaluating
from attnlab.training import processes
from attnlab.training.evaluation import Loss, batch_losses, loss_sums, moved, sequence_loss
from attnlab.training.resume import Run, deferred_interrupt, random_state

Measure = Callable[[nn.Module], dict[str, float]]
Schedule = Callable[[int], float]
# A longer gradient is cut to this length.
GREATEST_NORM = 1.0


class Fit(NamedTuple):
    """The result of `fit`.

    `history` has one dict for each evaluation, with `step`, `train_loss` (mean since the last
    one), `lr`, `valid_loss` when there is validation data, and whatever `measure` adds.
    `best_step` and `best_loss` are those of the least validation loss, or None without any.
    """

    history: list[dict[str, float]]
    step: int
    best_step: int | None
    best_loss: float | None


@checks.hints
def fit(
    model: nn.Module,
    train: Any,
    *,
    steps: int,
    valid: Any = None,
    loss: Loss = sequence_loss,
    lr: float = 1e-3,
    schedule: Schedule | None = None,
    measure: Measure | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool = True,
    **guessed: Any,
) -> Fit:
    """Train `model` in place until it has taken `steps` steps.

    The optimizer is AdamW without weight decay, the norm of the gradient is held below 1 (Pascanu
    et al. 2013), and a GPU that has bfloat16 runs the loss in it by autocast. The model is
    evaluated after every pass over `train`, and at the end.

    With a `folder`, `last.safetensors` there holds all that is needed to continue: call again with
    the same arguments, and the result is the same to the bit as without the stop (on a GPU, as
    far as its kernels are deterministic). With more `steps` it trains on. Ctrl-C lets the step
    finish, saves, and raises `KeyboardInterrupt`; a second one does not wait. `best.safetensors`
    holds the weights with the least validation loss. The global random state of torch is left as
    it was; the model goes to the device and stays there, in eval mode, with its last weights.

    Inside `processes.joined()`, under `torchrun`, all processes train one model: each computes its
    share of every batch, and without dropout the result is that of one process within rounding.
    Only the first writes and shows a bar, and a run goes on with any number of processes. A model
    that FSDP2's `fully_shard` has divided is trained as such.

    Args:
        model: any module that `loss` can call.
        train: `tasks.Batches`, or a sequence of batches, taken in order again and again. A batch
            with a method `to(device)` is moved.
        steps: number of optimizer steps in all; for n epochs, `n * len(train)`.
        valid: batches to evaluate on.
        loss: function of model and batch that gives the losses of all that counts, in any shape.
            Their mean is minimized; evaluation averages over those of all batches. With several
            processes it must call the model itself, none of its methods.
        lr: learning rate.
        schedule: function of the step, from 0, that gives a factor of the learning rate.
        measure: function of the model, in eval mode, whose numbers join each evaluation.
        folder: of the checkpoints; None keeps none.
        seed: of dropout and the like; the model has its first weights before.
        device: where to train; default `device.choose()`.
        progress: show a bar. The environment variable TQDM_DISABLE=1 hides all bars.

    Raises:
        TypeError: an argument has the wrong type, or a name that `fit` does not have.
        ValueError: a number is out of range, there are no batches, the loss is empty or not
            finite, the checkpoint in `folder` is of another model, seed or data, or only some of
            several processes find it.
        KeyboardInterrupt: after Ctrl-C.

    >>> batches = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
    >>> squared = lambda model, x: (model(x) - x) ** 2
    >>> fit(nn.Linear(1, 1), batches, steps=4, loss=squared, progress=False).step
    4
    """
    if guessed:
        checks.unknown("fit", guessed, _GUESSES, where="fit")
    _check(model, train, valid, steps)
    _check_functions(loss, schedule, measure)
    device = devices.choose(device)
    optimizer = make_optimizer(model.to(device), lr)
    fixed = {"seed": checks.integer("seed", seed), "batches": len(train)}
    run = Run(model, optimizer, fixed, None if folder is None else Path(folder))
    rank, world = processes.place()
    shown = {} if checks.flag("progress", progress) and rank == 0 else {"disable": True}

    def losses_of(model: nn.Module, batch: Any) -> torch.Tensor:
        return batch_losses(model, loss, batch, device)

    with torch.random.fork_rng(), deferred_interrupt() as interrupted:
        torch.manual_seed(seed if world == 1 else hash((seed, rank)))
        run.load()
        spread = processes.spread(model)
        if run.step > steps:
            checks.fail("steps", f"at least the {run.step} made already in {folder}", str(steps))
        batches, run.random = _endless(train, run.step), random_state()
        with (
            run.saved_on_interrupt(),
            tqdm(desc="Training", total=steps, initial=run.step, **shown) as bar,
        ):
            while True:
                if run.is_due(len(train), steps):
                    row = _evaluate(run, valid, losses_of, measure, device)
                    bar.set_postfix({name: f"{row[name]:.4g}" for name in row.keys() - _NOT_SHOWN})
                    run.random = random_state()
                    run.save()
                if run.step == steps:
                    break
                if any(processes.summed(len(interrupted))):
                    run.save()
                    raise KeyboardInterrupt
                model.train()
                _set_rate(optimizer, schedule, run.step)
                batch, factor = processes.share(next(batches))
                losses = losses_of(spread, moved(batch, device))
                total, count = _sums(losses, factor)
                if not math.isfinite(total):
                    got = f"{total / count} at step {run.step + 1}"
                    checks.fail("loss", "a finite number", got)
                # What averages the gradients over processes divides by their number.
                mean = losses.mean() if world == 1 else losses.sum() * (world * factor / count)
                optimizer.zero_grad(set_to_none=True)
                mean.backward()
                nn.utils.clip_grad_norm_(model.parameters(), GREATEST_NORM)
                with run.step_of(total, count):
                    optimizer.step()
                bar.update()
    model.eval()
    return Fit(run.history, run.step, run.best_step, run.best_loss)


def _sums(losses: torch.Tensor, factor: float) -> list[float]:
    """The sum of the losses and their number, over all processes."""
    total = losses.detach().double().sum().item()
    return processes.summed(factor * total, factor * losses.numel())


def _evaluate(
    run: Run, valid: Any, loss: Loss, measure: Measure | None, device: torch.device
) -> dict[str, float]:
    """Add a row to the history, and keep the weights with the least validation loss."""
    row = {"step": run.step, "train_loss": run.losses / max(1, run.count)}
    row["lr"] = run.optimizer.param_groups[0]["lr"]
    if valid is not None:
        total, count = loss_sums(run.model, map(processes.share, valid), loss, device)
        total, count = processes.summed(total, count)
        if not count:
            checks.fail("valid", "batches with at least one loss", "none")
        row["valid_loss"] = total / count
    if measure is not None:
        with evaluating(run.model):
            row |= {name: float(value) for name, value in measure(run.model).items()}
    run.history.append(row)
    run.losses, run.count = 0.0, 0
    if valid is not None and (run.best_loss is None or row["valid_loss"] < run.best_loss):
        run.best_step, run.best_loss = run.step, row["valid_loss"]
        run.save_best(row)
    return row


_NOT_SHOWN = {"step", "lr"}


def _set_rate(optimizer: torch.optim.Optimizer, schedule: Schedule | None, step: int) -> None:
    if schedule is not None:
        factor = checks.number("schedule", schedule(step))
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor


def _endless(train: Any, step: int) -> Iterator[Any]:
    """Yield the batch of that step and all that follow, epoch after epoch."""
    epoch, skip = divmod(step, len(train))
    while True:
        batches: Iterable = train.epoch(epoch) if hasattr(train, "epoch") else train
        yield from islice(batches, skip, None)
        epoch, skip = epoch + 1, 0


def make_optimizer(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    if next(model.parameters(), None) is None:
        checks.fail("model", "a module with parameters", "none")
    # Fused, since the other forms take square roots whose last bit depends on the processor.
    return torch.optim.AdamW(
        model.parameters(), lr=checks.positive("lr", lr), weight_decay=0.0, fused=True
    )


# What `fit` calls the arguments of other libraries' training loops.
_GUESSES = {
    "epochs": "steps=epochs * len(train)",
    "callbacks": "measure= (a function of the model, called at each evaluation)",
    "learning_rate": "lr=",
    "scheduler": "schedule= (a function of the step)",
    "lr_scheduler": "schedule= (a function of the step)",
    "criterion": "loss= (a function of model and batch)",
    "loss_fn": "loss= (a function of model and batch)",
    "validation_data": "valid=",
    "val": "valid=",
    "batch_size": "batches of that size, as from tasks.Batches(..., batch_size=)",
    "checkpoint_dir": "folder=",
    "verbose": "progress=",
}


def _check(model: Any, train: Any, valid: Any, steps: int) -> None:
    inner = isinstance(getattr(model, "model", None), nn.Module)  # of a Translator
    checks.instance("model", model, nn.Module, "an nn.Module" + " (its .model is one)" * inner)
    checks.integer("steps", steps, minimum=0)
    given = {"train": train} if valid is None else {"train": train, "valid": valid}
    for name, batches in given.items():
        if not hasattr(batches, "__len__") or not hasattr(batches, "__iter__"):
            expected = "tasks.Batches or a sequence of batches"
            checks.fail(name, expected, type(batches).__name__, TypeError)
        checks.not_empty(name, batches, "at least one batch")


def _check_functions(loss: Any, schedule: Any, measure: Any) -> None:
    checks.function("loss", loss, "a function of model and batch")
    if schedule is not None:
        checks.function("schedule", schedule, "a function of the step")
    if measure is not None:
        checks.function("measure", measure, "a function of the model")
