"""The experiments and what a rerun of each costs: `python -m experiments`."""

import json
from typing import NamedTuple

from experiments import _record as record

LONGEST = 10


class Cost(NamedTuple):
    """What a results file says of the run that wrote it.

    seconds: of one CPU core, None where the file has no time at all. `at_least` where it is only
    the training that its sentences rest on: files from before the whole run was timed.
    """

    command: str
    seconds: float | None
    at_least: bool = False


def costs() -> dict[str, Cost]:
    """What every results file cost, by its name."""
    found = {}
    for path in sorted(record.RESULTS.glob("*.json")):
        written = json.loads(path.read_text(encoding="utf-8"))
        seconds, trained = written.get("cpu_seconds"), _trained(written)
        found[path.name] = Cost(written["command"], seconds or trained, not seconds and trained > 0)
    return {name: cost._replace(seconds=cost.seconds or None) for name, cost in found.items()}


def _trained(written: dict) -> float:
    """The CPU seconds of the runs at the best rates, each trained once whatever it is scored by."""
    runs = {}
    for side in written.get("training") or []:
        name = tuple((key, side[key]) for key in list(side)[: list(side).index("score")])
        for budget in side["budgets"]:
            runs[name, budget["updates"]] = budget["seeds"] * (budget["cpu_seconds"] or 0)
    return sum(runs.values())


def main() -> None:
    """Print the longest first, in CPU seconds of one core, then those that kept no time."""
    found = costs()
    order = sorted(found, key=lambda name: -(found[name].seconds or 0))
    for name in order:
        command, seconds, at_least = found[name]
        time = "not kept" if seconds is None else f"{'≥ ' * at_least}{seconds:,.0f} s"
        print(f"{time:>10}  {name:44} {command}")
    kept = [found[name].seconds for name in order if found[name].seconds is not None]
    print(f"{sum(kept) / 3600:.1f} core hours in all, for {len(kept)} of {len(found)} files;")
    print(f"{sum(kept[:LONGEST]) / 3600:.1f} of them for the {LONGEST} longest")


if __name__ == "__main__":
    main()
