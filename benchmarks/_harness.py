"""How the benchmarks measure: interleaved rounds for time, fresh processes for memory.

A time on its own says more about the machine than about the code, so nothing here reports one
alone. Every round runs all forms of a case one after the other, each round in another order, and
the ratio is taken inside the round: what else the machine does then hits all forms alike.
"""

import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
# A single measurement is repeated until it lasts at least this long.
SHORTEST = 5e-3
# glibc keeps small blocks that were freed, and comes to count blocks of up to 32 MiB as small: they
# would stay in the peak though nothing uses them. So every large block is mapped on its own.
FREED_IS_GONE = {"MALLOC_MMAP_THRESHOLD_": str(2**16), "MALLOC_TRIM_THRESHOLD_": "0"}

Call = Callable[[], object]


def compare(
    forms: Mapping[str, Call], *, rounds: int = 15, budget: float = 20.0, device: str = "cpu"
) -> dict[str, dict[str, float]]:
    """Time all forms against the first, in interleaved rounds.

    Args:
        forms: name -> call; the first is ours.
        rounds: how many rounds at most.
        budget: seconds after which no further round is begun; three are run in any case.
        device: "cuda" waits for the device around each measurement.

    Returns:
        name -> `ms`, the best time of one call in milliseconds, and for all but the first `ratio`,
        the median over rounds of its time divided by ours (above 1 ours is faster), with `low` and
        `high`, the quartiles, and `best_ratio`, that of the best times.
    """
    repeats = {name: _repeats(call, device) for name, call in forms.items()}
    names, order = list(forms), random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in names}
    begin = time.perf_counter()
    for done in range(rounds):
        if done >= 3 and time.perf_counter() - begin > budget:
            break
        for name in order.sample(names, len(names)):
            times[name].append(seconds(forms[name], repeats[name], device))
    ours = times[names[0]]
    return {name: summary(ours, times[name], name == names[0]) for name in names}


def summary(ours: list[float], theirs: list[float], same: bool) -> dict[str, float]:
    """Best time, and the spread of the ratios taken round by round."""
    found = {"ms": _short(1e3 * min(theirs)), "rounds": len(theirs)}
    if not same:
        ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        found |= {"ratio": _short(middle), "low": _short(low), "high": _short(high)}
        found["best_ratio"] = _short(min(theirs) / min(ours))
    return found


def peaks(
    module: str,
    forms: list[str],
    settings: Mapping[str, object],
    *,
    threads: int,
    runs: int = 3,
) -> dict[str, dict[str, float]]:
    """Peak memory in MiB that each form adds, in a process of its own, and ratios to the first.

    The process is started by this one, which has not imported torch: on Linux `ru_maxrss` passes
    from a large parent to its children. It gives every block back to the system as soon as that is
    freed, so that the peak is what the form uses and not what the allocator has kept.

    Returns:
        name -> `mib`, the median over runs, `runs`, and for all but the first `ratio`; or `failed`,
        the reason.
    """
    found: dict[str, dict[str, float]] = {}
    for form in forms:
        task = json.dumps({"module": module, "form": form, "threads": threads, **settings})
        seen: list[float] = []
        for _ in range(runs):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks._peak", task],
                cwd=ROOT, env=os.environ | FREED_IS_GONE,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                found[form] = {"failed": done.stderr.strip().splitlines()[-1][:200]}
                break
            seen.append(json.loads(done.stdout.splitlines()[-1])["mib"])
        else:
            found[form] = {"mib": _short(statistics.median(seen)), "runs": runs}
    ours = found[forms[0]].get("mib")
    for form in forms[1:]:
        if ours and "mib" in found[form]:
            found[form]["ratio"] = _short(found[form]["mib"] / ours)
    return found


def exponent(lengths: list[int], values: list[float]) -> float:
    """The slope of log(value) against log(length), by least squares: 1 is linear, 2 quadratic."""
    x, y = [math.log(n) for n in lengths], [math.log(v) for v in values]
    return round(statistics.linear_regression(x, y).slope, 2)


def crossover(lengths: list[int], ours: list[float], theirs: list[float]) -> int | None:
    """The length from which on ours is faster, interpolated on the logarithms; None when never."""
    gains = [math.log(b / a) for a, b in zip(ours, theirs, strict=True)]
    if gains[-1] <= 0:
        return None
    last = max((i for i, gain in enumerate(gains) if gain <= 0), default=None)
    if last is None:
        return lengths[0]
    low, high = math.log(lengths[last]), math.log(lengths[last + 1])
    share = -gains[last] / (gains[last + 1] - gains[last])
    return round(math.exp(low + share * (high - low)))


def table(title: str, results: Mapping[str, Mapping[str, float]], unit: str = "ms") -> None:
    """Print one case: a line for each form."""
    print(f"\n{title}")
    for name, found in results.items():
        line = f"  {name:<34}"
        if "failed" in found:
            line += f" left out: {found['failed']}"
        else:
            line += f" {found[unit]:>10} {unit}"
        if "ratio" in found:
            line += f"  {found['ratio']:>8}x the first"
        if "low" in found:
            line += f"  ({found['low']} to {found['high']}, best times {found['best_ratio']})"
        print(line, flush=True)


def write(results: Mapping[str, object], *, out: Path, device: str, threads: int) -> None:
    """Write results with what is needed to make them again."""
    import torch

    import attnkit

    versions = {"attnkit": attnkit.__version__, "torch": torch.__version__}
    record = {
        "command": "python -m benchmarks " + " ".join(sys.argv[1:]),
        "versions": {"python": platform.python_version(), **versions, **_peers()},
        "device": attnkit.device.describe(device),
        "threads": threads,
        "date": datetime.now(UTC).date().isoformat(),
        "ratio": "time or memory of the form divided by ours, the first of its case; median of "
        "interleaved rounds, with quartiles (low, high)",
        **results,
    }
    save(record, out)


def save(record: Mapping[str, object], out: Path) -> None:
    """Write a record as JSON; a reader never meets half a file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.with_name(f".{out.name}.part")
    scratch.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(scratch, out)


def slug(device: str) -> str:
    """The device's name as part of a file name: "cpu", "nvidia-h200"."""
    if device == "cpu":
        return "cpu"
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else device
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def compiled(call: Callable[..., object]) -> Callable[..., object] | None:
    """`torch.compile` of a call; None where there is no compiler to compile with."""
    import torch

    try:
        torch.compile(lambda x: x.sin() + 1)(torch.ones(8))
    except Exception as error:  # it is PyTorch's own search for a compiler that fails, in many ways
        print(f"torch.compile is left out: {type(error).__name__}", flush=True)
        return None
    torch._dynamo.reset()  # so that earlier sizes do not count towards the limit on recompiling
    return torch.compile(call, dynamic=False)


def _repeats(call: Call, device: str) -> int:
    call()  # the first call loads code and fills caches
    once = seconds(call, 1, device)
    return max(1, min(1000, round(SHORTEST / max(once, 1e-7))))


def seconds(call: Call, repeats: int, device: str) -> float:
    """Seconds of one of so many calls; "cuda" waits for the device before and after."""
    wait = _wait(device)
    wait()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    wait()
    return (time.perf_counter() - begin) / repeats


def _wait(device: str) -> Call:
    if device != "cuda":
        return lambda: None
    import torch

    return torch.cuda.synchronize


def _peers() -> dict[str, str]:
    from importlib import metadata

    return {name: metadata.version(name) for name in ("keras",) if _installed(name)}


def _installed(name: str) -> bool:
    from importlib import util

    return util.find_spec(name) is not None


def _short(value: float) -> float:
    return float(f"{value:.4g}")
