"""Run every benchmark of attention and write results/bench-DEVICE.json: `python -m benchmarks`.

Memory comes first and time last: until the memory is measured this process stays small, since on
Linux a child's highest mark begins at its parent's.
"""

import argparse
import importlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import _harness as harness

SECTIONS = ["additive", "dot_product", "multihead", "long", "decoding"]


def main(argv: Sequence[str] | None = None) -> None:
    chosen = _options(argv)
    modules = {name: importlib.import_module(f"benchmarks.{name}")
               for name in chosen.sections if name != "multihead"}  # fmt: skip
    results: dict[str, dict] = {name: {} for name in chosen.sections}
    options = {"quick": chosen.quick, "device": chosen.device}
    for name, module in modules.items():
        if hasattr(module, "memory"):
            results[name]["memory"] = module.memory(**options, threads=chosen.threads)
    if chosen.memory_of:
        _replace_memory(chosen.memory_of, results, chosen.device)
        return

    import torch

    import attnkit

    torch.set_num_threads(chosen.threads)
    print(f"\n{attnkit.device.describe(chosen.device)}, torch {torch.__version__}")
    for name in chosen.sections:
        if name == "multihead":
            results[name] = _multihead(chosen.quick)
        else:
            results[name] |= modules[name].speed(**options)
    if chosen.out:
        harness.write(results, out=chosen.out, device=chosen.device, threads=chosen.threads)
        print(f"\nwrote {chosen.out}")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"some of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument(
        "--threads", type=int, default=1, help="default: 1, which other programs disturb least"
    )
    parser.add_argument("--out", type=Path, help="default: results/bench-DEVICE.json when all ran")
    parser.add_argument(
        "--memory-of",
        type=Path,
        metavar="FILE",
        help="measure memory alone, and put it in place of the memory in this file of results",
    )
    chosen = parser.parse_args(argv)
    if unknown := set(chosen.sections) - set(SECTIONS):
        parser.error(f"sections: expected some of {SECTIONS}, got {sorted(unknown)}")
    if chosen.threads < 1:
        parser.error(f"--threads: expected at least 1, got {chosen.threads}")
    if chosen.out is None and not chosen.sections and not chosen.quick:
        chosen.out = harness.RESULTS / f"bench-{_slug(chosen.device)}.json"
    chosen.sections = chosen.sections or SECTIONS
    return chosen


def _slug(device: str) -> str:
    return harness.slug(device)


def _replace_memory(path: Path, results: dict[str, dict], device: str) -> None:
    """Put new peaks into a record whose times stay, and note where and when they were measured."""
    import attnkit

    record = json.loads(path.read_text(encoding="utf-8"))
    measured = {
        "device": attnkit.device.describe(device),
        "date": datetime.now(UTC).date().isoformat(),
    }
    for name, found in results.items():
        if found:
            record[name] = record.get(name, {}) | found | {"memory measured": measured}
    harness.save(record, path)
    print(f"\nwrote the memory in {path}")


def _multihead(quick: bool) -> dict:
    """`nn.MultiheadAttention` against ours, with the same weights; on the CPU."""
    from benchmarks import multihead

    print("\nMultiHeadAttention against nn.MultiheadAttention: above 1 ours is faster")
    shapes = multihead.SHAPES[:1] if quick else multihead.SHAPES
    results = {}
    for shape in shapes:
        name = "B{} L{} E{} H{}".format(*shape)
        pairs = multihead.cases(*shape)
        results[name] = {case: multihead.compare(*pair) for case, pair in pairs.items()}
        for case, found in results[name].items():
            print(f"  {name:<20} {case:<36} {found['ratio']:>6} ({found['low']} to {found['high']},"
                  f" best times {found['best_ratio']})", flush=True)  # fmt: skip
    return results


if __name__ == "__main__":
    main()
