"""One `fit` for any model and any loss."""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnkit import device as devices
from attnkit.guard import checks
from attnlab.decoding import evaluating
from attnlab.training.evaluation import Loss, batch_losses, evaluate, moved, summed, usual_loss

Measure = Callable[[nn.Module], dict[str, float]]
Schedule = Callable[[int], float]
MAX_GRAD_NORM = 1.0


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


def fit(
    model: nn.Module,
    train: Any,
    *,
    steps: int,
    valid: Any = None,
    loss: Loss = usual_loss,
    lr: float | None = None,
    schedule: Schedule | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    start: int = 0,
    measure: Measure | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> Fit:
    """Train `model` in place until it has taken `steps` steps.

    The optimizer is AdamW without weight decay, the norm of the gradient is held below 1 (Pascanu
    et al. 2013), and a GPU that has bfloat16 runs the loss in it by autocast. The model is
    evaluated after every pass over `train`, and at the end. The global random state of torch is
    left as it was; the model goes to the device and stays there, in eval mode.

    Args:
        model: any module that `loss` can call.
        train: `tasks.Batches`, or a sequence of batches, taken in order again and again. A batch
            with a method `to(device)` is moved.
        steps: number of optimizer steps in all; for n epochs, `n * len(train)`.
        valid: batches to evaluate on.
        loss: function of model and batch that gives the losses of all that counts, in any shape.
            Their mean is minimized; evaluation averages over those of all batches. Default
            `usual_loss`: cross entropy of the target's tokens, or of a text's.
        lr: learning rate; default 0.001.
        schedule: function of the step, from 0, that gives a factor of the learning rate.
        optimizer: one of the model's parameters, with a learning rate of its own; default AdamW.
        start: steps that earlier calls have taken, with this `optimizer`: batches, schedule and
            history go on from there.
        measure: function of the model, in eval mode, whose numbers join each evaluation.
        seed: of dropout and the like; the model has its first weights before.
        device: where to train; default `device.choose()`.
        progress: show a bar. The environment variable TQDM_DISABLE=1 hides all bars.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a number is out of range, there are no batches, the loss is empty or not
            finite, or `optimizer` is missing beside `start`, or comes with `lr`.

    >>> batches = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
    >>> squared = lambda model, x: (model(x) - x) ** 2
    >>> fit(nn.Linear(1, 1), batches, steps=4, loss=squared, progress=False).step
    4
    """
    _check(model, train, valid, steps, start)
    _check_functions(loss, schedule, measure)
    checks.integer("seed", seed)
    device = devices.choose(device)
    optimizer = _optimizer(model.to(device), optimizer, lr, start)
    history, total, count = [], 0.0, 0
    hidden = {} if checks.flag("progress", progress) else {"disable": True}
    bar = tqdm(desc="Training", total=steps, initial=start, **hidden)
    with torch.random.fork_rng(), bar:
        torch.manual_seed(hash((seed, start)) if start else seed)
        for step, batch in zip(range(start, steps), _batches(train, start), strict=False):
            model.train()
            _set_rate(optimizer, schedule, step)
            losses = batch_losses(model, moved(batch, device), loss=loss, device=device)
            total, count = total + _sum(losses, step), count + losses.numel()
            optimizer.zero_grad(set_to_none=True)
            losses.mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM)
            optimizer.step()
            bar.update()
            if (step + 1) % len(train) == 0 or step + 1 == steps:
                row = {"step": step + 1, "train_loss": total / count}
                row["lr"] = optimizer.param_groups[0]["lr"]
                row |= _evaluated(model, valid, loss, measure, device)
                history.append(row)
                total, count = 0.0, 0
                bar.set_postfix({k: f"{v:.4g}" for k, v in row.items() if k not in ("step", "lr")})
    model.eval()
    best = min(history, key=lambda row: row["valid_loss"], default={}) if valid is not None else {}
    return Fit(history, steps, best.get("step"), best.get("valid_loss"))


def _batches(train: Any, start: int) -> Iterator[Any]:
    """Yield the batch of that step and all that follow, epoch after epoch."""
    epoch, skip = divmod(start, len(train))
    while True:
        batches: Iterable = train.epoch(epoch) if hasattr(train, "epoch") else train
        yield from islice(batches, skip, None)
        epoch, skip = epoch + 1, 0


def _sum(losses: Tensor, step: int) -> float:
    """The sum of a batch's losses, which must be finite."""
    total = summed(losses)
    if not math.isfinite(total):
        got = f"{total / losses.numel()} at step {step + 1}"
        checks.fail("loss", "a finite number", got)
    return total


def _evaluated(
    model: nn.Module, valid: Any, loss: Loss, measure: Measure | None, device: torch.device
) -> dict[str, float]:
    row = {}
    if valid is not None:
        as_trained = partial(batch_losses, loss=loss, device=device)
        row["valid_loss"] = evaluate(model, valid, loss=as_trained, device=device)
    if measure is not None:
        with evaluating(model):
            row |= {name: float(value) for name, value in measure(model).items()}
    return row


def _set_rate(optimizer: torch.optim.Optimizer, schedule: Schedule | None, step: int) -> None:
    if schedule is not None:
        factor = checks.number("schedule", schedule(step))
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor


def make_optimizer(model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """`fit`'s own: AdamW without weight decay."""
    # Fused, since the other forms take square roots whose last bit depends on the processor.
    return torch.optim.AdamW(
        model.parameters(), lr=checks.positive("lr", lr), weight_decay=0.0, fused=True
    )


def _optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer | None, lr: float | None, start: int
) -> torch.optim.Optimizer:
    if next(model.parameters(), None) is None:
        checks.fail("model", "a module with parameters", "none")
    if optimizer is None:
        if start:
            checks.fail("optimizer", f"the one that took the first {start} steps", "None")
        return make_optimizer(model, 1e-3 if lr is None else lr)
    kind = torch.optim.Optimizer
    checks.instance("optimizer", optimizer, kind, "a torch.optim.Optimizer")
    if lr is not None:
        checks.fail("lr", "None with an optimizer, which has its own", str(lr))
    return optimizer


def _check(model: Any, train: Any, valid: Any, steps: int, start: int) -> None:
    inner = isinstance(getattr(model, "model", None), nn.Module)  # of a Translator
    checks.instance("model", model, nn.Module, "an nn.Module" + " (its .model is one)" * inner)
    checks.integer("steps", steps, minimum=0)
    checks.integer("start", start, minimum=0, maximum=steps)
    given = {"train": train} if valid is None else {"train": train, "valid": valid}
    for name, batches in given.items():
        if isinstance(batches, Tensor):  # its rows would be taken for batches
            expected = "a sequence of batches, such as tensor.split(32)"
            checks.fail(name, expected, f"one tensor of shape {checks.shape(batches)}", TypeError)
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
