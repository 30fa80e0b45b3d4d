"""The figures of page 09b: what a small model loses without a part, deep stacks, and ten models."""

import math
from collections.abc import Iterator
from functools import cache

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from attnbook import recorded
from attnbook.figures.colours import BLACK, BLUE, GREEN, GREY, MUTED, PINK, VERMILION
from attnbook.tables import Table
from attnlab.transformer import EncoderLayer

PARTS = {
    "nothing": (BLACK, "-", 0.93),
    "norms": (GREEN, "--", 0.85),
    "feed-forward": (BLUE, "-", 0.77),
    "residuals": (PINK, "-", 1.04),
    "positions": (MUTED, "-", 0.37),
    "attention": (VERMILION, "-", 0.14),
}
"""What is taken out: colour, line, and how high its label stands."""

REASONS = {
    "norms": "A norm does no sums: nothing that the task asks for is missing.",
    "feed-forward": "Attention is not linear either: sums can be learned without it, but later.",
    "residuals": "The digit itself can still come through attention, which must learn to bring it.",
    "positions": "It cannot tell which digit comes before.",
    "attention": "The digit before never gets here.",
}
"""Why it is so: said by the machine once its curve is shown."""

KINDS = {
    "no norm": ("#666666", ":"),
    "pre-norm": (BLUE, "-"),
    "post-norm": (VERMILION, "--"),
}
DEEP = {
    ("pre", False): ("pre-norm", BLUE, "-", 0.22),
    ("pre", True): ("pre-norm, warm-up", BLUE, ":", 0.57),
    ("none", False): ("no norm", "#666666", "-", 0.92),
    ("post", False): ("post-norm", VERMILION, "-", 2.38),
    ("post", True): ("post-norm, warm-up", VERMILION, ":", 1.29),
}
"""Place of the norm and warm-up: label, colour, line, and how high the label stands."""
CONTROLS = {
    ("none", False): ("no norm, not clipped", "#666666", "x", 2.02),
    ("pre", False): ("", BLUE, "x", 0),
    ("post", True): ("post-norm, half the rate", VERMILION, "^", 1.65),
}
"""Place of the norm and whether gradients were clipped: label, colour, mark, and its height."""
TASKS = {"reverse": "reverse", "toy_french": "toy French", "dates": "dates"}


def by_part() -> dict[str, dict[float, dict[int, list[float]]]]:
    """For each part taken out, each rate and each number of updates, the shares of three seeds."""
    found: dict[str, dict[float, dict[int, list[float]]]] = {part: {} for part in PARTS}
    for row in _trained():
        for rate, right in row["right"].items():
            curve = found[row["without"]].setdefault(float(rate), {})
            curve[row["updates"]] = sorted(right)
    return found


def at_best() -> dict[str, dict[int, list[float]]]:
    """The same at the best rate of each number of updates."""
    found: dict[str, dict[int, list[float]]] = {part: {} for part in PARTS}
    for row in _trained():
        found[row["without"]][row["updates"]] = sorted(row["right"][str(row["rate"])])
    return found


def _trained() -> list[dict]:
    """The rows of runs that are more than the 40 updates in which the rate rises."""
    return [row for row in recorded.results("parts")["rows"] if row["updates"] > 50]


def controls() -> dict[str, dict[int, list[float]]]:
    """Without feed-forward networks, `wider` or without `norms` as well: as `at_best`."""
    found: dict[str, dict[int, list[float]]] = {"wider": {}, "norms": {}}
    for row in recorded.results("parts_controls")["rows"]:
        kind = "norms" if "norms" in row["without"] else "wider"
        found[kind][row["updates"]] = sorted(row["right"][str(row["rate"])])
    return found


@cache
def ceilings() -> dict[str, float]:
    """The most that can be right without attention and without positions, by counting.

    Without attention one place in eight is sure, and the others a guess among ten. Without
    positions the best bet is on the commonest of the seven other digits, and on one 0 more, which
    stands for the first place, to whose digit nothing is added.
    """
    right = 0.0
    for counts in _compositions(7, 10):
        chance = math.factorial(7) / math.prod(map(math.factorial, counts)) / 10**7
        right += chance * max(counts[0] + 1, *counts[1:]) / 8
    return {"attention": (1 + 7 / 10) / 8, "positions": right}


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def parts() -> None:
    """Draw right answers against updates, a line for each part taken out, dots for seeds."""
    found, wider = at_best(), controls()["wider"]
    ticks = sorted({n for curve in found.values() for n in curve})
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(6.2, 2.7), layout="constrained")
        for part, most in ceilings().items():
            ax.axhline(100 * most, ls="--", lw=1, color=PARTS[part][0], gid="ceiling")
        lines = [(PARTS[part], curve) for part, curve in found.items()]
        for (colour, line, _), curve in [*lines, ((BLUE, ":", 0), wider)]:
            ax.plot(list(curve), [100 * seeds[1] for seeds in curve.values()], line, color=colour)
            for n, seeds in curve.items():
                shares = [100 * share for share in seeds]
                ax.plot([n] * len(shares), shares, ".", color=colour, markersize=5)
        for part, (colour, _, height) in PARTS.items():
            label = "nothing taken out" if part == "nothing" else f"no {part}"
            if part in ceilings():
                label += f" (at most {100 * ceilings()[part]:.0f}%)"
            label += " (dotted: wider)" if part == "feed-forward" else ""
            end = 1100 if max(found[part]) == 1000 else 3300
            ax.text(end, 100 * height, label, color=colour, va="center", fontsize=10)
        ax.set(
            title="Two parts you cannot do without,\nand one that saves much time",
            xscale="log",
            xlim=(220, 14000),
            ylim=(0, 110),
            xlabel="updates (line: median; dots: three seeds)",
            ylabel="right answers, %",
        )
        ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
        ax.minorticks_off()
        plt.show()


def parts_table() -> None:
    """Print what is behind that figure."""
    run, found = recorded.results("parts"), at_best()
    updates = sorted({n for curve in found.values() for n in curve})
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("\nright answers: each of three seeds, at the better of two rates")
    print(f"{'taken out':13}" + "".join(f"{n:>17,}" for n in updates))
    more = {f"{kind} too": curve for kind, curve in controls().items()}
    for part, curve in (found | more).items():
        told = [" ".join(f"{x:.2f}" for x in curve.get(n, ())) for n in updates]
        print((f"{part:13}" + "".join(f"{one:>17}" for one in told)).rstrip())
    rates = list(by_part()["nothing"])
    print("\nthe median at each rate" + f"{'after 250':>13}{'after 1,000':>24}")
    print(f"{'taken out':13}" + "".join(f"{rate:>12g}" for rate in [*rates, *rates]))
    for part, curves in by_part().items():
        told = [f"{curves[rate][n][1]:.2f}" for n in (250, 1000) for rate in rates]
        print(f"{part:13}" + "".join(f"{one:>12}" for one in told))
    print("\n              parameters   CPU seconds for 1,000 updates")
    rows = {(row["without"], row["updates"]): row for row in run["rows"]}
    for part in PARTS:
        row = rows[part, 1000]
        print(f"{part:13}{row['parameters']:11,}{row['cpu_seconds']:14.1f}")
    for part, most in ceilings().items():
        print(f"the most that can be right without {part}: {most:.3f}")


def _norms(kind: str) -> dict:
    """How a layer of one of `KINDS` is made."""
    return {"norm_first": kind != "post-norm", "norm": "none" if kind == "no norm" else "layer"}


@cache
def grown(kind: str, layers: int = 32, seeds: int = 5) -> tuple[float, ...]:
    """The standard deviation of the features after each of some untrained layers, median of the
    seeds; `kind` is one of `KINDS`."""
    runs = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        x, sizes = F.layer_norm(torch.randn(1, 50, 64), [64]), []
        for _ in range(layers):
            layer = EncoderLayer(64, 4, 256, **_norms(kind)).eval()
            with torch.no_grad():
                x = layer(x).output
            sizes.append(x.std().item())
        runs.append(sizes)
    return tuple(torch.tensor(runs).median(0).values.tolist())


def depth() -> None:
    """Draw how the features grow in untrained stacks."""
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(4.6, 2.1), layout="constrained")
        for kind, (colour, line) in KINDS.items():
            ax.plot(range(1, 33), grown(kind), line, color=colour)
        for kind, layer, height in (("no norm", 25, 7.5), ("pre-norm", 32, 2.8),
                                    ("post-norm", 32, -0.7)):  # fmt: skip
            ax.text(layer, height, kind, color=KINDS[kind][0], ha="right", fontsize=10)
        ax.set(
            title="Without a norm, the features grow ever faster",
            xlabel="layer, of 32 in a row, not yet trained",
            ylabel="their size",
            ylim=(-1, None),
            xticks=[1, 8, 16, 24, 32],
        )
        plt.show()


def deep() -> None:
    """Draw the loss after a short training against depth, by the place of the norm."""
    run, losses = recorded.results("norms_deeper"), deep_losses()
    depths = sorted({layers for *_, layers in losses})
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(6.2, 2.4), layout="constrained")
        for form, (label, colour, line, height) in DEEP.items():
            runs = [sorted(losses[*form, n]) for n in depths]
            ax.plot(depths, [seeds[1] for seeds in runs], line, color=colour)
            for n, seeds in zip(depths, runs, strict=True):
                fill = colour if form[1] else "white"
                ax.plot([n] * len(seeds), seeds, "o", color=colour, markersize=4, mfc=fill)
            ax.text(20.1, height, label, color=colour, va="center", fontsize=10)
        for form, (label, colour, mark, height) in CONTROLS.items():
            seeds = control_losses()[form]
            x = 18.8 if mark == "x" else 19.5
            ax.plot([x] * len(seeds), seeds, mark, color=colour, markersize=5, gid="control")
            ax.text(20.1, height, label, color=colour, va="center", fontsize=10)
        ax.axhline(math.log(24), color=GREY, linestyle="--", linewidth=0.8, gid="guess")
        ax.text(2, math.log(24) - 0.09, "an even guess among 24 symbols", va="top", fontsize=10)
        ax.set(
            title="Deep post-norm starts badly; without a norm, clipping is needed",
            xlabel="layers on each side (line: median; dots: three seeds)\n"
            f"reversing up to 8 symbols: {run['steps']} updates at a rate of {run['rate']}",
            ylabel="loss, new sources",
            xlim=(1, 27),
            ylim=(0, 3.4),
            xticks=depths,
        )
        plt.show()


def deep_losses() -> dict[tuple[str, bool, int], list[float]]:
    """Losses of three seeds by place of the norm, warm-up, and layers on each side."""
    rows = recorded.results("norms_deeper")["rows"]
    return {(row["norm"], row["warm_up"], row["layers"]): row["losses"] for row in rows}


def control_losses() -> dict[tuple[str, bool], list[float]]:
    """Losses of 18 layers a side by place of the norm and clipping; post-norm at half the rate."""
    rows = recorded.results("norms_controls")["rows"]
    return {(row["norm"], row["clip"]): sorted(row["losses"]) for row in rows}


def depth_table() -> None:
    """Print what is behind the figure of depth, and the same at four layers and three rates."""
    shallow, deeper = recorded.results("norms"), recorded.results("norms_deeper")
    print("layer        1    4    8   16   32      (untrained, medians of five seeds)")
    for kind in KINDS:
        print(f"{kind:10}", *(f"{grown(kind)[i]:4.1f}" for i in (0, 3, 7, 15, 31)))
    for run in (shallow, deeper, recorded.results("norms_controls")):
        print(recorded.origin(run).replace(" (", "\n(", 1))
    print("18 layers a side, loss after 300 updates: three seeds")
    for form, (label, *_) in DEEP.items():
        print(f"{label:24}", *(f"{loss:.2f}" for loss in sorted(deep_losses()[*form, 18])))
    for form, (label, *_) in CONTROLS.items():
        losses = control_losses()[form]
        print(f"{label or 'pre-norm, not clipped':24}", *(f"{loss:.2f}" for loss in losses))
    print("four layers a side, five seeds: median (smallest to largest)")
    print("norm  rate     at once                warm-up")
    rows = {(row["norm"], row["rate"], row["warm_up"]): row["loss"] for row in shallow["rows"]}
    for norm in ("pre", "post"):
        for rate in sorted({rate for _, rate, _ in rows}):
            cells = (rows[norm, rate, warm_up] for warm_up in (False, True))
            told = (f"{recorded.interval(cell):.2f}" for cell in cells)
            print(f"{norm:5} {rate:<7}", *(f"{cell:22}" for cell in told))


def _found() -> dict[str, dict]:
    return {task: recorded.results(f"by_length_{task}") for task in TASKS}


def _exact(run: dict, model: str, length: int) -> int:
    row = next(row for row in run["rows"] if row["model"] == model)
    return round(100 * row["by_length"][str(length)]["exact"]["median"])


def ten() -> Table:
    """Ten models on one budget: CPU seconds on reverse, exact answers in per cent, medians of five
    seeds."""
    found = _found()
    longest = {task: run["trained_to"] for task, run in found.items()}
    rows = [
        [
            row["model"],
            f"{row['cpu_seconds']['median']:.0f}",
            *(str(_exact(found[task], row["model"], longest[task])) for task in TASKS),
            str(_exact(found["reverse"], row["model"], round(1.5 * longest["reverse"]))),
        ]
        for row in found["reverse"]["rows"]
    ]
    header = ["model", "CPU s, reverse", *(f"{name} %" for name in TASKS.values()), "at 1.5 N %"]
    return Table(header, rows)


def ten_table() -> None:
    """Print the table with what is longer, and its budgets."""
    found = _found()
    for task, run in found.items():
        (steps,) = {row["steps"] for row in run["rows"]}
        print(recorded.origin(run).replace(" (", "\n(", 1))
        print(f"{TASKS[task]}: {steps:,} updates, {run['budget']:,} parameters, N = ", end="")
        print(run["trained_to"])
    print("\nper cent of sources answered without a mistake, median of five seeds,")
    print("at the longest length of training N, at 1.5 N and at 2 N\n")
    print(f"{'':28}", *(f"{name:>13}" for name in TASKS.values()))
    for row in found["reverse"]["rows"]:
        columns = []
        for run in found.values():
            n = run["trained_to"]
            a, b, c = (_exact(run, row["model"], round(by * n)) for by in (1, 1.5, 2))
            columns.append(f"{a:>5}{b:>4}{c:>4}")
        print(f"{row['model']:28}", *columns)


def pace_table() -> None:
    """Print how long an update takes against the Transformer's, by length."""
    run = recorded.results("update_rates")
    print(recorded.origin(run))
    print("one update on one thread, times the Transformer's (quartiles)")
    print("words   fixed GRU               additive")
    for row in run["rows"]:
        columns = (
            f"{r['ratio']:.2f} ({r['low']:.2f} to {r['high']:.2f})"
            for r in (row["ratios"][name] for name in ("fixed GRU", "additive"))
        )
        print(f"{row['length']:5}  ", "    ".join(columns))
