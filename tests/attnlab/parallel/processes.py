"""Run a function on several processes that are joined by gloo."""

import multiprocessing
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch import multiprocessing as torch_processes

# The server imports these, and every process starts as a copy of it: one that imports them itself
# takes two seconds, more than all that it is asked to do.
IMPORTED_ONCE = (__name__, "tests.attnlab.parallel.cases")


def start(function: Callable[..., None], args: tuple, nprocs: int) -> None:
    """Call `function(rank, *args)` on so many processes; raise what any of them raises."""
    multiprocessing.set_forkserver_preload(list(IMPORTED_ONCE))
    torch_processes.start_processes(function, args, nprocs, start_method="forkserver")


def run(world: int, function: Callable[..., None], *args: Any) -> None:
    """Call `function(*args)` on each of `world` processes; raise what any of them raises."""
    with tempfile.TemporaryDirectory() as folder:
        start(_joined, (world, str(Path(folder) / "store"), function, args), world)


def _joined(rank: int, world: int, store: str, function: Callable[..., None], args: tuple) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", rank=rank, world_size=world, init_method=f"file://{store}"
    )
    try:
        function(*args)
        distributed.barrier()
    finally:
        distributed.destroy_process_group()
