"""Training shared by the experiments: linear warm-up, then cosine decay."""

import math
import time
from collections.abc import Callable

import torch
from torch import nn

from attnlab import training
from attnlab.tasks import Batches


def cosine(steps: int, warm_up: int = 50) -> Callable[[int], float]:
    """Make a schedule: the step, from 0, to a factor of the learning rate.

    It is half a wave of a cosine, from 1 down to 0 after `steps` steps, times a line that comes up
    to 1 in the first `warm_up` steps.
    """

    def factor(step: int) -> float:
        return min(1, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * step / steps))

    return factor


def fit(
    model: nn.Module,
    batches: Batches,
    *,
    steps: int,
    lr: float,
    seed: int,
    device: torch.device,
    warm_up: int = 50,
) -> float:
    """Train `model` in place with that schedule; return the CPU seconds that it took."""
    start = time.process_time()
    training.fit(
        model,
        batches,
        steps=steps,
        lr=lr,
        schedule=cosine(steps, warm_up),
        seed=seed,
        device=device,
        progress=False,
    )
    return round(time.process_time() - start, 1)


def parameters(model: nn.Module) -> int:
    """The number of trainable parameters."""
    return sum(parameter.numel() for parameter in model.parameters())
