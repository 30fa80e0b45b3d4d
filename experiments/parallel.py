"""Ring attention measured: memory, bytes sent and idle time of 1, 2 and 4 processes.

    python -m experiments.parallel            about four minutes of one core
    python -m experiments.parallel --quick    a short sequence, to see that it runs

One causal layer, forward and backward, in float32 on a CPU; the processes are joined by gloo. The
sequence is divided in zigzag, or in one part for each process. Time is the CPU time of each
process, since processes that share a core wait for each other in any case: with as many machines,
the slowest sets the pace, and `idle` is the share of their time that the others would wait. Memory
is what a process holds at its highest mark beyond what it held before its inputs were made. Beside
each number stands what `experiments.plan` says; its speed is the one process's own.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import distributed, multiprocessing

from attnlab.parallel import ring_attention, split_sequence
from benchmarks import _peak as peak
from experiments import _record as record
from experiments import plan

HEADS, HEAD_DIM = 4, 64
LENGTH, SHORT = 8192, 256
WORLDS = (1, 2, 4)
INTERVAL = "median of the rounds, with the smallest and the largest"


def settings(quick: bool) -> list[dict]:
    """Every number of processes and both placements, several times over."""
    length, rounds = (SHORT, 1) if quick else (LENGTH, 3)
    return [
        {"length": length, "processes": world, "zigzag": zigzag, "seed": seed}
        for seed in range(rounds)
        for world in (WORLDS[:2] if quick else WORLDS)
        for zigzag in ((True, False) if world > 1 else (True,))
    ]


def measure(setting: dict, device: torch.device) -> dict:
    """Start the processes, and collect what each of them measured."""
    world = setting["processes"]
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_process, (setting, folder), nprocs=world)
        found = [torch.load(Path(folder) / f"{rank}.pt") for rank in range(world)]
    return {name: [each[name] for each in found] for name in found[0]}


def _process(rank: int, setting: dict, folder: str) -> None:
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    distributed.init_process_group(
        "gloo", rank=rank, world_size=setting["processes"], init_method=store
    )
    torch.manual_seed(setting["seed"])
    try:
        _pass({**setting, "length": SHORT})  # loads what it needs
        torch.save(_pass(setting), Path(folder) / f"{rank}.pt")
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def _pass(setting: dict) -> dict:
    """One forward and one backward pass: CPU seconds, bytes sent, MiB."""
    shape = (1, HEADS, setting["length"], HEAD_DIM)
    zigzag, found = setting["zigzag"], {}

    def both() -> None:
        parts = [split_sequence(torch.empty(shape), zigzag=zigzag).normal_() for _ in range(4)]
        *inputs, grad = parts
        inputs = [x.requires_grad_() for x in inputs]
        with bytes_sent() as sent:
            distributed.barrier()
            start = time.process_time()
            output = ring_attention(*inputs, causal=True, zigzag=zigzag)
            middle = time.process_time()
            found.update(forward_seconds=middle - start, sent=sum(sent))
            output.backward(grad)
            found.update(backward_seconds=time.process_time() - middle)
            found.update(sent_backward=sum(sent) - found["sent"])

    found["mib"] = peak.measure(both, "cpu")
    return found


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


def results(runs: list[dict]) -> dict:
    """Medians over the rounds, idle shares, and what the plan says."""
    groups = record.grouped(runs, ["length", "processes", "zigzag"])
    alone = next(group for place, group in groups if place["processes"] == 1)
    shape = plan.Shape(alone[0]["length"], 1, 1, HEADS, HEADS, HEAD_DIM, "float32")
    planned = plan.plan(shape)
    speeds = {
        "forward": planned.flops / _median(alone, "forward_seconds")["median"],
        "backward": planned.flops_backward / _median(alone, "backward_seconds")["median"],
    }
    rows = [_row(place, group, shape, speeds) for place, group in groups]
    speeds = {name: round(speed / 1e9, 1) for name, speed in speeds.items()}
    shape = {name: value for name, value in shape._asdict().items() if name != "devices"}
    return {"interval": INTERVAL, "shape": shape, "gflops": speeds, "rows": rows}


def _row(place: dict, group: list[dict], shape: plan.Shape, speeds: dict[str, float]) -> dict:
    planned = plan.plan(shape._replace(devices=place["processes"]))
    predicted = {
        "sent": planned.sent,
        "sent_backward": planned.sent_backward,
        "forward_seconds": round(planned.flops / speeds["forward"], 3),
        "backward_seconds": round(planned.flops_backward / speeds["backward"], 3),
    }
    row = {**place, "rounds": len(group), "planned": predicted}
    row |= {name: _median(group, name) for name in ("forward_seconds", "backward_seconds", "mib")}
    row |= {name: max(group[0][name]) for name in ("sent", "sent_backward")}
    for name in ("forward", "backward"):
        shares = [_idle(run[f"{name}_seconds"]) for run in group]
        row[f"{name}_idle"] = _summary(shares)
    return row


def _median(group: list[dict], name: str) -> dict:
    """Over the rounds, of the process that needs most."""
    return _summary([max(run[name]) for run in group])


def _summary(values: list[float]) -> dict:
    numbers = {"median": statistics.median(values), "low": min(values), "high": max(values)}
    return {name: round(value, 3) for name, value in numbers.items()}


def _idle(seconds: list[float]) -> float:
    """The share of the time of all processes that passes in waiting for the slowest."""
    return 1 - statistics.mean(seconds) / max(seconds)


def main(argv: list[str] | None = None) -> dict:
    """Run the experiment and write its results file; return what was written."""
    chosen = record.options("parallel", __doc__, argv)
    return record.run(chosen, settings=settings, measure=measure, results=results)


if __name__ == "__main__":
    main()
