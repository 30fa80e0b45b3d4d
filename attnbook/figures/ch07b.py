"""The figures of page 07b: texts longer than any of training, and how ALiBi can count to three."""

import matplotlib.pyplot as plt
import numpy as np

from attnbook import recorded
from attnbook.figures.colours import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILION, YELLOW

STYLE = {
    "none": {"color": "#777777", "marker": "x", "linestyle": ":"},
    "sinusoidal": {"color": BLUE, "marker": "s"},
    "rotary": {"color": VERMILION, "marker": "o"},
    "alibi": {"color": GREEN, "marker": "^"},
    "clipped": {"color": BLACK, "marker": "P"},
}
NAMES = {name: name for name in STYLE} | {"alibi": "ALiBi"}
TASKS = {
    "latest": "latest: the nearest symbol",
    "back": "back: the symbol three back",
    "marker": "marker: three before a mark",
}


def accuracy(run: dict, **wanted) -> dict[str, dict]:
    """By length, of the row that is as wanted: task, positions, layers, heads, updates, rate."""
    (row,) = (row for row in run["rows"] if all(row[name] == v for name, v in wanted.items()))
    return row["accuracy"]


def usual(run: dict) -> dict:
    """The layers, heads and rate that all kinds share."""
    size = run["model"]
    return {"layers": size["num_layers"], "heads": size["num_heads"], "rate": 0.003}


def budgets(run: dict) -> list[int]:
    """The numbers of updates, rising."""
    return sorted({row["updates"] for row in run["rows"]})


def beyond() -> None:
    """Accuracy by length after the longest training, and at four times the length by updates."""
    run = recorded.results("positions")
    lengths, counts = run["tested"], budgets(run)
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(2, 3, figsize=(6.5, 5.4), sharey=True, layout="constrained")
        for column, (task, title) in enumerate(TASKS.items()):
            top, bottom = axes[:, column]
            for kind, style in STYLE.items():
                same = {"task": task, "positions": kind, **usual(run)}
                found = {count: accuracy(run, **same, updates=count) for count in counts}
                by_length = [found[counts[-1]][str(n)] for n in lengths]
                far = [found[count][str(lengths[-1])] for count in counts]
                for ax, x, points in ((top, lengths, by_length), (bottom, counts, far)):
                    middle, low, high = (
                        np.array([point[part] for point in points])
                        for part in ("median", "low", "high")
                    )
                    bars = [middle - low, high - middle]
                    ax.errorbar(x, middle, yerr=bars, markersize=4, label=NAMES[kind], **style)
            top.axvspan(lengths[0], run["trained"], color=YELLOW, alpha=0.25, linewidth=0)
            for ax in (top, bottom):
                ax.axhline(1 / run["symbols"], color="grey", linewidth=0.8)
                ax.set(xscale="log", ylim=(0, 1.05))
                ax.minorticks_off()
                ax.grid(alpha=0.3)
            top.set_xticks([8, 16, 32, 64], ["8", "16", "32", "64"])
            bottom.set_xticks(counts, [f"{count:,}" for count in counts])
            top.set_title(title, fontsize=9.5, loc="left")
            top.set_xlabel("length (trained: shaded)", fontsize=10)
            bottom.set_xlabel("updates", fontsize=10)
        axes[0, 0].set_ylabel(f"share right, {counts[-1]:,} updates", fontsize=10)
        axes[1, 0].set_ylabel(f"share right at length {lengths[-1]}", fontsize=10)
        figure.suptitle("Which kind carries furthest depends on what is asked")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center",
                      ncols=5, fontsize=10)  # fmt: skip
        plt.show()


def beyond_table() -> None:
    """Print the numbers of that figure, and those of the rotary models of other sizes."""
    run = recorded.results("positions")
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right at length 16, 32 and 64: median (smallest-largest)")
    for task in TASKS:
        for count in budgets(run):
            print(f"\n{task}, {count:,} updates")
            for kind in STYLE:
                found = accuracy(run, task=task, positions=kind, updates=count, **usual(run))
                print(f"  {NAMES[kind]:11}{_line(found)}")
    for layers, heads in _sizes(run):
        same = {"task": "back", "positions": "rotary", "layers": layers, "heads": heads}
        width = run["model"]["embed_dim"] // heads
        for count in budgets(run):
            found = accuracy(run, **same, updates=count, rate=0.003)
            print(f"\nback, rotary, {_size(layers, heads)} of {width}, {count:,} updates")
            print(f"  {'rotary':11}{_line(found)}")
    same = {"task": "back", **usual(run), "updates": budgets(run)[0]}
    print(f"\nback, {same['updates']} updates, right at length 64 by learning rate")
    for kind in ("rotary", "clipped"):
        found = {
            rate: accuracy(run, **(same | {"positions": kind, "rate": rate}))["64"]["median"]
            for rate in (0.001, 0.003, 0.01)
        }
        print(f"  {kind:11}" + "  ".join(f"{rate}: {share:.2f}" for rate, share in found.items()))


def _sizes(run: dict) -> list[tuple[int, int]]:
    rows = (row for row in run["rows"] if (row["task"], row["positions"]) == ("back", "rotary"))
    return sorted({(row["layers"], row["heads"]) for row in rows})


def _size(layers: int, heads: int) -> str:
    return f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"


def _line(found: dict) -> str:
    cells = ("{median:.2f} ({low:.2f}-{high:.2f})".format(**found[n]) for n in ("16", "32", "64"))
    return "  ".join(f"{cell:17}" for cell in cells).rstrip()


def sizes() -> None:
    """Rotary models of three sizes at `back`, after the longest training."""
    run = recorded.results("positions")
    lengths, most = run["tested"], budgets(run)[-1]
    looks = dict(zip(_sizes(run), ((VERMILION, "o"), (ORANGE, "s"), ("#7a3b00", "^")), strict=True))
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 3.4), layout="constrained")
        for (layers, heads), (color, marker) in looks.items():
            same = {"task": "back", "positions": "rotary", "layers": layers, "heads": heads}
            found = accuracy(run, **same, updates=most, rate=0.003)
            middle, low, high = (
                np.array([found[str(n)][part] for n in lengths])
                for part in ("median", "low", "high")
            )
            clocks = run["model"]["embed_dim"] // heads // 2
            name = f"{_size(layers, heads)}: {clocks} clocks each"
            ax.errorbar(lengths, middle, yerr=[middle - low, high - middle], color=color,
                        marker=marker, label=name)  # fmt: skip
        ax.axvspan(lengths[0], run["trained"], color=YELLOW, alpha=0.25, linewidth=0)
        ax.set(xscale="log", ylim=(0, 1.05), xlabel="length (trained: shaded)")
        ax.set_xticks([8, 16, 32, 64], ["8", "16", "32", "64"])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.set_ylabel(f"share right, {most:,} updates")
        ax.legend(loc="lower left", frameon=False, fontsize=10)
        figure.suptitle("One wide head carries further than four narrow ones")
        plt.show()


def peak(steep: float = 1 / 4, flat: float = 1 / 16, aim: int = 3) -> np.ndarray:
    """What a key at each distance from 0 to 15 gets from a flat head less a share of a steep one.

    The share is the one that puts the peak at `aim`: there both slopes fall alike.
    """
    share = flat / steep * np.exp((steep - flat) * aim)
    distance = np.arange(16)
    return np.exp(-flat * distance) - share * np.exp(-steep * distance)


def count_to_three() -> None:
    """Two of ALiBi's heads alone, and the one less a share of the other."""
    distance = np.arange(16)
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 3.2), layout="constrained")
        for slope, color in ((1 / 16, GREEN), (1 / 4, SKY)):
            ax.plot(distance, np.exp(-slope * distance), color=color, marker=".",
                    label=f"one head, slope 1/{1 / slope:.0f}")  # fmt: skip
        mixed = peak()
        ax.plot(
            distance,
            mixed,
            color=BLACK,
            marker="o",
            label="the flat one − 0.44 × the steep one",
        )
        ax.plot(mixed.argmax(), mixed.max(), "o", color="#b3261e", markersize=10, zorder=3)
        ax.set(xlabel="distance of the key", ylabel="share, before scaling", ylim=(0, 1.05))
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=10)
        figure.suptitle("One slope prefers the nearest, two can prefer three")
        plt.show()
