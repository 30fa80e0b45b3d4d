"""Run a function on several processes that are joined by gloo."""

import multiprocessing
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch import multiprocessing as torch_processes


def run(world: int, function: Callable[..., None], *args: Any) -> None:
    """Call `function(*args)` on each of `world` processes; raise what any of them raises."""
    # The server imports once, and every process starts as a copy of it.
    multiprocessing.set_forkserver_preload(["attnkit", __name__])
    with tempfile.TemporaryDirectory() as folder:
        torch_processes.start_processes(
            _joined,
            args=(world, str(Path(folder) / "store"), function, args),
            nprocs=world,
            start_method="forkserver",
        )


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
