"""One `fit`: any model, any loss, a progress bar, and the same result when it is stopped."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from attnkit import checks
from attnkit import device as devices
from attnkit.training import storage
from attnkit.training.evaluation import Loss, batch_losses, evaluate, moved, sequence_loss
from attnkit.training.resume import Run, deferred_interrupt, random_state


class Fit(NamedTuple):
    """What `fit` returns.

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
    loss: Loss = sequence_loss,
    lr: float = 1e-3,
    optimizer: torch.optim.Optimizer | None = None,
    schedule: Callable[[int], float] | None = None,
    clip: float | None = 1.0,
    every: int | None = None,
    measure: Callable[[nn.Module], dict[str, float]] | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    amp: bool = True,
    progress: bool = True,
) -> Fit:
    """Train `model` in place until it has made `steps` steps, and say how it went.

    With a `folder`, `last.safetensors` there holds all that is needed to go on: call again with
    the same arguments, and the result is the same to the bit as without the stop (on a GPU, as
    far as its kernels repeat themselves). With more `steps` it trains on. Ctrl-C lets the step
    finish, saves, and raises `KeyboardInterrupt`; a second one does not wait. `best.safetensors`
    holds the weights with the least validation loss. The global random state of torch is left as
    it was; the model goes to the device and stays there, in eval mode, with its last weights.

    Args:
        model: any module that `loss` can call.
        train: `tasks.Batches`, or a sequence of batches, taken in order again and again. A batch
            with a method `to(device)` is moved.
        steps: number of optimizer steps in all.
        valid: batches to evaluate on.
        loss: function of model and batch that gives the losses of all that counts, in any shape.
            Their mean is minimized; evaluation averages over those of all batches.
        lr: learning rate of AdamW without weight decay. `optimizer` takes its place.
        optimizer: of the model's parameters.
        schedule: function of the step, from 0, that gives a factor of the learning rate.
        clip: greatest norm of the gradient (Pascanu et al. 2013), or None.
        every: steps between evaluations, the number of batches when left out. One more comes at
            the end.
        measure: function of the model, in eval mode, whose numbers join each evaluation.
        folder: of the checkpoints; None keeps none.
        seed: of dropout and the like; the model has its first weights before.
        device: where to train; `device.choose()` when left out.
        amp: on a GPU that has bfloat16, run the loss in it by autocast.
        progress: show a bar. The environment variable TQDM_DISABLE=1 hides all bars.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a number is out of range, there are no batches, the loss is empty or not
            finite, or the checkpoint in `folder` is of another model, seed or data.
        KeyboardInterrupt: after Ctrl-C.

    >>> batches = [torch.tensor([[1.0]]), torch.tensor([[2.0]])]
    >>> squared = lambda model, x: (model(x) - x) ** 2
    >>> fit(nn.Linear(1, 1), batches, steps=4, loss=squared, progress=False).step
    4
    """
    checks.instance("model", model, nn.Module, "an nn.Module")
    plan = Plan(train, steps, valid, loss, schedule, clip, every, measure, amp)
    check_plan(plan)
    device = devices.choose(device)
    model.to(device)
    fixed = {"seed": checks.integer("seed", seed), "batches": len(train)}
    run = Run(model, make_optimizer(model, optimizer, lr), fixed)
    folder = None if folder is None else Path(folder)
    shown = {} if checks.flag("progress", progress) else {"disable": True}
    with torch.random.fork_rng(), deferred_interrupt() as interrupted:
        torch.manual_seed(seed)
        run.load(folder)
        if run.step > steps:
            checks.fail("steps", f"at least the {run.step} made already in {folder}", str(steps))
        with tqdm(desc="Training", total=steps, initial=run.step, **shown) as bar:
            _loop(run, plan, folder, device, bar, interrupted)
    model.eval()
    return Fit(run.history, run.step, run.best_step, run.best_loss)


class Plan(NamedTuple):
    """The arguments of `fit` that stay as they are from step to step."""

    train: Any
    steps: int
    valid: Any
    loss: Loss
    schedule: Callable[[int], float] | None
    clip: float | None
    every: int | None
    measure: Callable[[nn.Module], dict[str, float]] | None
    amp: bool


def _loop(
    run: Run, plan: Plan, folder: Path | None, device: torch.device, bar: tqdm, interrupted: list
) -> None:
    """Evaluate when due and take a step, in turn, until all steps are made."""
    batches = _endless(plan.train, run.step)
    every = plan.every or len(plan.train)
    try:
        while True:
            due = run.step and (run.step % every == 0 or run.step == plan.steps)
            if due and (not run.history or run.history[-1]["step"] < run.step):
                _evaluate(run, plan, folder, device)
                bar.set_postfix({name: f"{run.history[-1][name]:.4g}" for name in _shown(run)})
                run.random = random_state()
                run.save(folder)
            if run.step == plan.steps:
                return
            if interrupted:
                raise KeyboardInterrupt
            run.random = random_state()
            _take_step(run, plan, moved(next(batches), device), device)
            run.random = random_state()
            bar.update()
    except KeyboardInterrupt:
        run.save(folder)
        raise


def _take_step(run: Run, plan: Plan, batch: Any, device: torch.device) -> None:
    run.model.train()
    if plan.schedule is not None:
        factor = checks.number("schedule", plan.schedule(run.step))
        for group in run.optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor
    losses = batch_losses(run.model, plan.loss, batch, device, plan.amp)
    mean = losses.mean()
    if not mean.isfinite():
        checks.fail("loss", "a finite number", f"{mean.item()} at step {run.step + 1}")
    run.optimizer.zero_grad(set_to_none=True)
    mean.backward()
    if plan.clip is not None:
        nn.utils.clip_grad_norm_(run.model.parameters(), plan.clip)
    run.whole = False
    run.optimizer.step()
    run.step += 1
    run.losses += losses.detach().double().sum().item()
    run.count += losses.numel()
    run.whole = True


def _evaluate(run: Run, plan: Plan, folder: Path | None, device: torch.device) -> None:
    row = {"step": run.step, "train_loss": run.losses / max(1, run.count)}
    row["lr"] = run.optimizer.param_groups[0]["lr"]
    if plan.valid is not None:

        def loss(model: nn.Module, batch: Any) -> Tensor:
            return batch_losses(model, plan.loss, batch, device, plan.amp)

        row["valid_loss"] = evaluate(run.model, plan.valid, loss=loss, device=device)
    if plan.measure is not None:
        run.model.eval()
        with torch.no_grad():
            row |= {name: float(value) for name, value in plan.measure(run.model).items()}
    run.history.append(row)
    run.losses, run.count = 0.0, 0
    if plan.valid is not None and (run.best_loss is None or row["valid_loss"] < run.best_loss):
        run.best_step, run.best_loss = run.step, row["valid_loss"]
        if folder is not None:
            path = folder / "best.safetensors"
            storage.save_tensors(path, run.model.state_dict(), {"step": run.step, **row})


def _endless(train: Any, step: int) -> Iterator[Any]:
    """Yield the batch of that step and all that follow, epoch after epoch."""
    epoch, skip = divmod(step, len(train))
    while True:
        batches: Iterable = train.epoch(epoch) if hasattr(train, "epoch") else train
        yield from islice(batches, skip, None)
        epoch, skip = epoch + 1, 0


def _shown(run: Run) -> list[str]:
    return [name for name in run.history[-1] if name not in ("step", "lr")]


def make_optimizer(
    model: nn.Module, optimizer: torch.optim.Optimizer | None, lr: float
) -> torch.optim.Optimizer:
    own = {id(parameter) for parameter in model.parameters()}
    if not own:
        checks.fail("model", "a module with parameters", "none")
    if optimizer is None:
        # Fused, since the other forms take square roots whose last bit depends on the processor.
        return torch.optim.AdamW(
            model.parameters(), lr=checks.positive("lr", lr), weight_decay=0.0, fused=True
        )
    checks.instance("optimizer", optimizer, torch.optim.Optimizer, "a torch optimizer")
    held = {id(item) for group in optimizer.param_groups for item in group["params"]}
    if not held <= own:
        checks.fail("optimizer", "parameters of this model only", f"{len(held - own)} others")
    return optimizer


def check_plan(plan: Plan) -> None:
    checks.integer("steps", plan.steps, minimum=0)
    for name, batches in {"train": plan.train, "valid": plan.valid}.items():
        if batches is None and name == "valid":
            continue
        if not hasattr(batches, "__len__") or not hasattr(batches, "__iter__"):
            expected = "tasks.Batches or a sequence of batches"
            checks.fail(name, expected, type(batches).__name__, TypeError)
        if not len(batches):
            checks.fail(name, "at least one batch", "none")
    checks.function("loss", plan.loss, "a function of model and batch")
    if plan.schedule is not None:
        checks.function("schedule", plan.schedule, "a function of the step")
    if plan.measure is not None:
        checks.function("measure", plan.measure, "a function of the model")
    if plan.clip is not None:
        checks.positive("clip", plan.clip)
    if plan.every is not None:
        checks.integer("every", plan.every, minimum=1)
    checks.flag("amp", plan.amp)
