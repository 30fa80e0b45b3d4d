"""Shared by all experiments: run, keep finished parts, and record how the results were made.

An experiment is a list of settings and a function that turns one setting into numbers. `run` does
the rest. `sweep` runs the function over the settings with a progress bar, and keeps each
result as it comes, so that a stopped run continues where it was. `write` puts the numbers
into `results/`, next to the command, seeds, versions, device and date that they came from.
"""

import argparse
import hashlib
import json
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import torch
from tqdm import tqdm

import attnkit
from attnlab.files import replace_file
from attnlab.metrics import intervals

RESULTS = Path(__file__).resolve().parent.parent / "results"
INTERVAL = (
    "median over seeds; interval between two order statistics of the seeds that holds the true "
    "median with the probability given as coverage, whatever the distribution"
)


def run(
    chosen: argparse.Namespace,
    *,
    settings: Callable[[bool], list[dict]],
    measure: Callable[..., dict],
    results: Callable[[list[dict]], dict],
) -> dict:
    """Run an experiment as its options say and write its results file; return what was written,
    which of a `--part` is nothing.

    Args:
        chosen: what `options` returned.
        settings: from whether this is the quick form to all settings, each with a seed.
        measure: from a setting and `device=` to numbers.
        results: from all runs, as `sweep` returns them, to what the file says of them.
    """
    # One thread: the order of a sum, and so its last digits, must not depend on the machine.
    torch.set_num_threads(1)
    took: list[float] = []
    runs = sweep(
        settings(chosen.quick),
        partial(measure, device=chosen.device),
        out=chosen.out,
        restart=chosen.restart,
        name=chosen.name,
        took=took,
        part=chosen.part,
    )
    if chosen.part[1] > 1:
        return {}
    return write(
        chosen.out,
        command=chosen.command,
        seeds=sorted({one["seed"] for one in runs}),
        device=chosen.device,
        results={"cpu_seconds": round(sum(took), 1), **results(runs)},
    )


def options(
    name: str, doc: str, argv: Sequence[str] | None = None, *, tasks: Sequence[str] = ()
) -> argparse.Namespace:
    """Read the options that every experiment has: --quick, --out, --device, --restart, --part.

    With `tasks`, each of which has a results file of its own, there is --task as well, and None
    stands for all of them. Beside the options come `name`, of the file, and `command`, which
    makes the file again from the root of the repository.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}", description=doc.splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="few settings, to see that it runs")
    parser.add_argument(
        "--out",
        type=Path,
        help="file to write (default: results/NAME.json, or NAME.quick.json with --quick)",
    )
    parser.add_argument("--device", help="default: the best there is")
    parser.add_argument("--restart", action="store_true", help="forget what a stopped run had done")
    parser.add_argument(
        "--part",
        type=_part,
        default=(1, 1),
        metavar="K/N",
        help="measure the K-th part of N alone, beside other processes; then run it without --part",
    )
    if tasks:
        parser.add_argument("--task", choices=tasks, help="default: all, each into its own file")
    given = list(sys.argv[1:] if argv is None else argv)
    chosen = parser.parse_args(given)
    if tasks and chosen.out and not chosen.task:
        parser.error("argument --out: expected --task with it, since every task has its own file")
    chosen.name = f"{name}_{chosen.task}" if tasks else name
    # Resuming or discarding an interrupted run does not change the results.
    telling = [word for word in given if word != "--restart"]
    chosen.command = " ".join(["python", "-m", f"experiments.{name}", *telling])
    chosen.device = attnkit.device.choose(chosen.device)
    chosen.out = chosen.out or RESULTS / f"{chosen.name}{'.quick' if chosen.quick else ''}.json"
    return chosen


def keeping(measure: Callable[..., dict], chosen: argparse.Namespace) -> Callable[..., dict]:
    """A `measure` told to keep its model, unless --quick, and the command that makes it again."""
    command = chosen.command.partition(" --part")[0]
    return partial(measure, command=command, save=not chosen.quick)


def _part(text: str) -> tuple[int, int]:
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError
    return part, parts


def sweep(
    settings: Sequence[dict],
    measure: Callable[[dict], dict],
    *,
    out: Path,
    restart: bool = False,
    name: str = "run",
    took: list[float] | None = None,
    part: tuple[int, int] = (1, 1),
) -> list[dict]:
    """Return `{**setting, **measure(setting)}` for every setting, in order.

    `took` gets the CPU seconds of each, those of a run that was stopped included.

    Each is kept in a file beside `out` as soon as it is there. A stopped run continues from that
    file, unless `restart`, another torch, or a change to the code of `measure`'s module, or of what
    it uses of this package, says that its numbers are of another experiment. The file goes when all
    settings are done.

    A `part` (k, n) measures every n-th setting from the k-th and keeps them in a file of its own,
    so that n processes share the work; without one, what all parts have kept is taken up.
    """
    stamp, (number, parts) = _stamp(measure), part
    out.parent.mkdir(parents=True, exist_ok=True)
    kept = out.with_name(f"{out.stem}.partial{number if parts > 1 else ''}.jsonl")
    before = [kept] if parts > 1 else sorted(out.parent.glob(f"{out.stem}.partial*.jsonl"))
    done = [] if restart else [line for file in before for line in _read_kept(file, stamp)]
    # In one step: a run that is killed now must not lose what the last one had done.
    lines = [json.dumps(line) + "\n" for line in [{"stamp": stamp}, *done]]
    replace_file(kept, "".join(lines).encode())
    by_setting = {_key(line["setting"]): line for line in done}
    mine = settings[number - 1 :: parts]
    left = {_key(each): each for each in mine if _key(each) not in by_setting}
    with open(kept, "a", encoding="utf-8") as file:
        begun = len(mine) - len(left)
        for key, setting in tqdm(left.items(), name, len(mine), initial=begun, unit="run"):
            start = time.process_time()
            numbers = measure(setting)
            seconds = round(time.process_time() - start, 1)
            by_setting[key] = {"setting": setting, "numbers": numbers, "cpu_seconds": seconds}
            file.write(json.dumps(by_setting[key]) + "\n")
            file.flush()
    if parts == 1:
        for file in {kept, *before}:
            file.unlink()
    lines = [by_setting[_key(setting)] for setting in mine]
    if took is not None:
        took += [line["cpu_seconds"] for line in lines]
    return [{**setting, **line["numbers"]} for setting, line in zip(mine, lines, strict=True)]


def write(
    out: Path, *, command: str, seeds: Sequence[int], device: torch.device, results: dict
) -> dict:
    """Write `results` to `out` with everything needed to make them again; return what was written.

    The file is replaced in one step, so a reader never meets half of it.
    """
    record = {
        "command": command,
        "seeds": list(seeds),
        "interval": INTERVAL,
        "versions": {
            "attnkit": attnkit.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "device": attnkit.device.describe(device),
        "date": datetime.now(UTC).date().isoformat(),
        **results,
    }
    replace_file(out, (json.dumps(record, indent=1, allow_nan=False) + "\n").encode())
    return record


def median_interval(values: Sequence[float | None]) -> dict:
    """`attnlab.metrics.intervals.median_interval` for a results file, missing values included.

    `coverage` is how surely the interval holds the true median, and n the number of values. None
    stands for "not reached" and counts as more than any number, so the median of five runs of
    which three never arrive is None.

    Raises:
        ValueError: no values.
    """
    found = intervals.median_interval([math.inf if x is None else x for x in values])
    names = ("median", "low", "high")
    _, coverage = intervals.order_statistic(len(values))
    return {
        **{name: _short(value) for name, value in zip(names, found, strict=True)},
        "coverage": round(coverage, 4),
        "n": len(values),
    }


def median_intervals(runs: Sequence[dict], names: Iterable[str] | None = None) -> dict[str, dict]:
    """`median_interval` over the runs for each of `names`, or for every number of a run."""
    chosen = runs[0] if names is None else names
    return {name: median_interval([run[name] for run in runs]) for name in chosen}


def training(
    runs: Sequence[dict],
    sides: Sequence[str],
    *,
    score: Callable[[dict], float],
    of: str,
    updates: str = "steps",
    unit: str = "updates",
) -> list[dict]:
    """What a reader must know of the training behind a results file, one entry a side.

    A side is what the runs share in `sides`: a model, a size. Each run has its number of `updates`
    (or of another `unit`), its `seed`, and where they were recorded its `rate`, `parameters` and
    `cpu_seconds`.

    Args:
        score: from a run to what it is judged by, from 0 to 1; `of` says in words what that is.

    Returns:
        For each side its numbers of updates in rising order, and for each of those the median score
        and CPU seconds at the best rate; its rates; the least number of seeds; `moved`, the points
        of a hundred by which the last of several budgets moved the score; `plateau`, whether that
        was less than one, over a doubling or more.
    """
    entries = []
    for same, group in grouped(runs, sides):
        budgets = []
        for (steps, *_), at_once in _by(group, updates):
            by_rate = [(_median(map(score, alike)), rate, alike)
                       for (rate, *_), alike in _by(at_once, "rate")]  # fmt: skip
            best, rate, alike = max(by_rate, key=lambda found: found[0])
            seconds = [run["cpu_seconds"] for run in alike if "cpu_seconds" in run]
            budgets.append({
                "updates": steps, "score": _short(best), "rate": rate, "seeds": len(alike),
                "cpu_seconds": _short(_median(seconds)) if seconds else None,
            })  # fmt: skip
        budgets.sort(key=lambda budget: budget["updates"])
        moved = None
        if len(budgets) > 1 and budgets[-1]["updates"] >= 2 * budgets[-2]["updates"]:
            moved = round(100 * (budgets[-1]["score"] - budgets[-2]["score"]), 2)
        rates = {run["rate"] for run in group if run.get("rate") is not None}
        entries.append({
            **same,
            "score": of,
            "parameters": next((run["parameters"] for run in group if "parameters" in run), None),
            "rates": sorted(rates),
            "unit": unit,
            "seeds": min(budget["seeds"] for budget in budgets),
            "budgets": budgets,
            "moved": moved,
            "plateau": moved is not None and abs(moved) < 1,
        })  # fmt: skip
    return entries


def _by(runs: Sequence[dict], name: str) -> list[tuple[tuple, list[dict]]]:
    groups: dict[tuple, list[dict]] = {}
    for run in runs:
        groups.setdefault((run.get(name),), []).append(run)
    return list(groups.items())


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def grouped(runs: Sequence[dict], names: Sequence[str]) -> list[tuple[dict, list[dict]]]:
    """Group the runs by their values of `names`; return those values with each group.

    Groups come in the order of their first runs, and runs in a group as they were.
    """
    groups: dict[tuple, list[dict]] = {}
    for run in runs:
        groups.setdefault(tuple(run[name] for name in names), []).append(run)
    return [(dict(zip(names, place, strict=True)), group) for place, group in groups.items()]


def _short(value: float) -> float | None:
    """Five significant digits: more than an interval over ten seeds can tell."""
    return None if value == math.inf else float(f"{value:.5g}")


def _key(setting: dict) -> str:
    return json.dumps(setting, sort_keys=True)


def _stamp(measure: Callable) -> str:
    """What a saved result depends on: torch, the experiment's source and its imports' source."""
    own = sys.modules[getattr(measure, "func", measure).__module__]  # through a partial
    used = [module for name, module in sys.modules.items() if name.startswith("experiments.")]
    files = sorted({Path(module.__file__) for module in [own, *used]})
    source = b"".join(file.read_bytes() for file in files)
    return hashlib.sha256(source + torch.__version__.encode()).hexdigest()[:16]


def _read_kept(kept: Path, stamp: str) -> list[dict]:
    if not kept.exists():
        return []
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    # A run that was killed may have left half a line.
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    return records[1:] if records and records[0] == {"stamp": stamp} else []
