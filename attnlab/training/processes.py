"""One training run on several processes, as `torchrun --nproc-per-node N` starts them.

All processes draw the same batches, and each takes every N-th example of each. Gradients are
averaged by PyTorch's `DistributedDataParallel` (Li et al. 2020), or by FSDP2 where `fully_shard`
has divided the weights among the processes (Zhao et al. 2023).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from attnkit import device as devices
from attnkit.guard import checks

# What a script needs; the rest is for `fit`.
__all__ = ["joined", "place", "share"]


def started() -> tuple[int, int]:
    """The number of this process and how many `torchrun` started: 0 of 1 without it.

    >>> started()
    (0, 1)
    """
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def place() -> tuple[int, int]:
    """The number of this process and how many have joined: 0 of 1 outside of `joined`.

    >>> place()
    (0, 1)
    """
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


@contextmanager
def joined(device: torch.device | str | None = None) -> Iterator[torch.device]:
    """Join the processes that `torchrun` started while the block runs; alone, join nothing.

    Args:
        device: as for `device.choose`. On CUDA each process of a machine gets a GPU of its own.

    Yields:
        The device of this process.

    Raises:
        ValueError: the device is not on this machine.

    Example:
        >>> with joined("cpu") as device:
        ...     device, place()
        (device(type='cpu'), (0, 1))
    """
    chosen = devices.choose(device)
    if started()[1] == 1:
        yield chosen
        return
    if chosen.type == "cuda":
        chosen = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(chosen)
    distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield chosen
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def share(batch: Any) -> tuple[Any, float]:
    """The examples of a batch that this process computes, and the factor of their losses.

    Args:
        batch: a tensor whose first dimension counts the examples, or a tuple, list or dict of
            such. Numbers and tensors without dimensions stay as they are.

    Returns:
        The same kind of batch. With fewer examples than processes each takes all, and the factor
        makes them count once.

    Raises:
        TypeError: the batch is something else.
        ValueError: its tensors differ in the number of examples.

    >>> share(torch.tensor([1, 2, 3]))
    (tensor([1, 2, 3]), 1.0)
    """
    rank, world = place()
    if world == 1:
        return batch, 1.0
    sizes: set[int] = set()
    _mapped(batch, lambda x: sizes.add(len(x)))
    if len(sizes) != 1:
        expected = "batches whose tensors have as many examples each, in their first dimension"
        checks.fail("train", expected, f"{sorted(sizes) or 'none'}")
    if sizes.pop() < world:
        return batch, 1 / world
    return _mapped(batch, lambda x: x[rank::world]), 1.0


def _mapped(batch: Any, change: Any) -> Any:
    """Apply `change` to every tensor that has examples."""
    if isinstance(batch, Tensor):
        return change(batch) if batch.dim() else batch
    if isinstance(batch, dict):
        return {name: _mapped(item, change) for name, item in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_mapped(item, change) for item in batch))
    if isinstance(batch, tuple | list):
        return type(batch)(_mapped(item, change) for item in batch)
    if batch is None or isinstance(batch, int | float | str):
        return batch
    expected = "batches of tensors, in tuples, lists or dicts, so that processes can share them"
    checks.fail("train", expected, type(batch).__name__, TypeError)


def summed(*numbers: float) -> list[float]:
    """Sum each number over all processes.

    >>> summed(2.0, 0.5)
    [2.0, 0.5]
    """
    if place()[1] == 1:
        return list(numbers)
    # NCCL sends from a GPU; gloo from anywhere.
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    totals = torch.tensor(numbers, dtype=torch.float64, device=device)
    distributed.all_reduce(totals)
    return totals.tolist()


def gathered(value: Any) -> list[Any]:
    """The values of all processes, in their order, on each of them.

    >>> gathered("mine")
    ['mine']
    """
    world = place()[1]
    if world == 1:
        return [value]
    values = [None] * world
    distributed.all_gather_object(values, value)
    return values


def wait() -> None:
    """Go on when all processes have come here."""
    if place()[1] > 1:
        distributed.barrier()


class _Spread(DistributedDataParallel):
    """Gives the loss the attributes of the model that it wraps, such as `pad`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)


def spread(model: nn.Module) -> nn.Module:
    """Wrap a model so that its gradients are averaged; alone or sharded, return it."""
    if place()[1] == 1 or any(_is_divided(each) for each in model.parameters()):
        return model
    # Nothing changes in the buffers, which are tables of positions.
    return _Spread(model, broadcast_buffers=False)


def whole(tensor: Tensor) -> Tensor:
    """A tensor that FSDP2 has divided, in one piece. All processes must ask together.

    >>> whole(torch.ones(2))
    tensor([1., 1.])
    """
    return tensor.full_tensor() if _is_divided(tensor) else tensor


def divided_as(tensor: Tensor, other: Tensor) -> Tensor:
    """Divide a whole tensor as `other` is; where that is whole too, return it.

    >>> divided_as(torch.ones(2), torch.zeros(2))
    tensor([1., 1.])
    """
    if not _is_divided(other):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    mesh = other.device_mesh
    return distribute_tensor(tensor.to(mesh.device_type), mesh, other.placements)


def _is_divided(tensor: Tensor) -> bool:
    return hasattr(tensor, "full_tensor")
