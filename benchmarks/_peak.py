"""Measure the memory that one call adds to its process: started by `_harness.peaks`.

The task names a module of this package that has `build(form, **settings)`, which returns the call.
Before the measured one, a small call of the same form loads the code that it needs.
"""

import importlib
import json
import resource
import sys
from pathlib import Path

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _kib(field: str) -> int:
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def measure(call, device: str) -> float:
    """MiB between what the process, or the GPU, held before the call and its highest mark in it."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    if STATUS.exists():
        RESET.write_text("5", encoding="ascii")  # set the highest mark back to what is held now
        before = _kib("VmRSS")
        call()
        return (_kib("VmHWM") - before) / 2**10
    unit = 2**20 if sys.platform == "darwin" else 2**10
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit


def main(task: dict) -> None:
    import torch

    module, form = importlib.import_module(task.pop("module")), task.pop("form")
    torch.set_num_threads(task.pop("threads"))
    small = task.pop("warm_up")
    torch.manual_seed(0)
    module.build(form, **{**task, **small})()
    call = module.build(form, **task)
    print(json.dumps({"mib": measure(call, task["device"])}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
