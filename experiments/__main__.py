"""The experiments and what a rerun of each costs: `python -m experiments`."""

import json

from experiments import _record as record


def costs() -> dict[str, tuple[str, float | None]]:
    """For every results file the command that writes it and its CPU seconds, None if not kept."""
    found = {}
    for path in sorted(record.RESULTS.glob("*.json")):
        written = json.loads(path.read_text(encoding="utf-8"))
        found[path.name] = written["command"], written.get("cpu_seconds")
    return found


def main() -> None:
    """Print the longest first, in CPU seconds of one core, then those that kept no time."""
    found = costs()
    order = sorted(found, key=lambda name: -(found[name][1] or 0))
    for name in order:
        command, seconds = found[name]
        time = "  not kept" if seconds is None else f"{seconds:8,.0f} s"
        print(f"{time}  {name:44} {command}")
    kept = [seconds for _, seconds in found.values() if seconds is not None]
    print(f"{sum(kept) / 3600:.1f} core hours in all, for {len(kept)} of {len(found)} files")


if __name__ == "__main__":
    main()
