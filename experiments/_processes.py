"""One training run on several processes, as `torchrun --nproc-per-node N` starts them.

Every process draws the same batches and takes every N-th example of each. What their losses are
multiplied with makes the mean over processes, which is what `DistributedDataParallel` takes of the
gradients, the mean over all tokens of the batch, so that N processes train as one does.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from attnkit import tasks
from attnkit.tasks.pairs import collate


class Share(NamedTuple):
    """One process's share of a batch, and the factor that rescales its losses."""

    batch: tasks.Batch
    factor: float

    def to(self, device: torch.device | str) -> "Share":
        """Return the same on `device`."""
        return Share(self.batch.to(device), self.factor)


class Shares:
    """The share of every batch in `batches` that process `rank` of `world` trains on."""

    def __init__(self, batches: tasks.Batches, rank: int, world: int):
        self.batches, self.rank, self.world = batches, rank, world

    def epoch(self, number: int) -> Iterator[Share]:
        """Yield the shares of one epoch."""
        for batch in self.batches.epoch(number):
            yield self._share(batch)

    def __iter__(self) -> Iterator[Share]:
        return self.epoch(0)

    def __len__(self) -> int:
        return len(self.batches)

    def _share(self, batch: tasks.Batch) -> Share:
        rows = batch.index[self.rank :: self.world]
        if len(batch.index) < self.world:  # too few to share: all have all, and agree
            return Share(batch, 1.0)
        pairs = [self.batches.pairs[place] for place in rows.tolist()]
        own = collate(pairs, self.batches.source_vocab, self.batches.target_vocab)
        tokens = int(batch.target_lengths.sum())
        factor = self.world * int(own.target_lengths.sum()) / tokens
        return Share(own._replace(index=rows), factor)


def shared(
    loss: Callable[[nn.Module, tasks.Batch], Tensor],
) -> Callable[[nn.Module, Share], Tensor]:
    """Wrap a loss of batches so that it also takes shares of batches."""

    def of_share(model: nn.Module, given: Share | tasks.Batch) -> Tensor:
        if isinstance(given, Share):
            return given.factor * loss(model, given.batch)
        return loss(model, given)

    return of_share


def place() -> tuple[int, int]:
    """The number of this process and how many there are: 0 of 1 without `torchrun`."""
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def device_of(device: torch.device) -> torch.device:
    """The device of this process: with several processes, each has its own GPU."""
    if device.type != "cuda" or place()[1] == 1:
        return device
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


@contextmanager
def together(device: torch.device) -> Iterator[None]:
    """Join the process group while the block runs; do nothing with a single process."""
    if place()[1] == 1:
        yield
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def spread(model: nn.Module) -> nn.Module:
    """Wrap a model to average its gradients over processes; with one process, return it."""
    if place()[1] == 1:
        return model
    # Nothing changes in the buffers, which are tables of positions.
    return DistributedDataParallel(model, broadcast_buffers=False)


@contextmanager
def bytes_sent() -> Iterator[list[int]]:
    """Collect the sizes of the tensors that this process sends from one process to another."""
    sent: list[int] = []
    exchange = distributed.batch_isend_irecv

    def counting(operations: list[distributed.P2POp]) -> list[distributed.Work]:
        sent.extend(each.tensor.nbytes for each in operations if each.op is distributed.isend)
        return exchange(operations)

    distributed.batch_isend_irecv = counting
    try:
        yield sent
    finally:
        distributed.batch_isend_irecv = exchange
