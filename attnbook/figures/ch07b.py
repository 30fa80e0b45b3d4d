"""The figures of page 07b: texts longer than any of training."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLACK, BLUE, GREEN, VERMILION

COLOURS = {
    "none": "#777777",
    "sinusoidal": BLUE,
    "rotary": VERMILION,
    "alibi": GREEN,
    "clipped": BLACK,
}
NAMES = {name: name for name in COLOURS} | {"alibi": "ALiBi"}
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


def groups(run: dict) -> list[tuple[str, list[tuple[str, str, dict]]]]:
    """The rows of the figure by task: the name, the kind, and what is wanted of the results."""
    shared = [
        (
            title,
            [
                (NAMES[kind], kind, {"task": task, "positions": kind, **usual(run)})
                for kind in COLOURS
            ],
        )
        for task, title in TASKS.items()
    ]
    same = {"task": "back", "positions": "rotary", "layers": 1, "rate": 0.003}
    clocks = run["model"]["embed_dim"] // 2
    sizes = [
        (f"1 head, {clocks} clocks", "rotary", same | {"heads": 1}),
        (f"4 heads, {clocks // 4} each", "rotary", same | {"heads": 4}),
    ]
    return [*shared, ("back, rotary of one layer", sizes)]


def beyond() -> None:
    """Accuracy at the trained length and at four times it."""
    run = recorded.results("positions")
    updates = budgets(run)[-1]
    near, far = str(run["trained"]), str(run["tested"][-1])
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(4.6, 5.1), layout="constrained")
        for height, color, wanted in _rows(ax, run):
            found = accuracy(run, **wanted, updates=updates)
            ends = [found[length]["median"] for length in (near, far)]
            ax.plot(ends, [height] * 2, color=color, alpha=0.45)
            ax.plot(ends[0], height, "o", color=color, markerfacecolor="none", markersize=8)
            low, middle, high = (found[far][part] for part in ("low", "median", "high"))
            ax.errorbar(middle, height, xerr=[[middle - low], [high - middle]],
                        color=color, marker="o", capsize=2)  # fmt: skip
        kinds = [
            ax.plot([], [], "o", color="#57606a", markerfacecolor=face, label=f"length {length}")
            for face, length in (("none", near), ("#57606a", far))
        ]
        ax.legend(handles=[kind for (kind,) in kinds], ncols=2, frameon=False,
                  loc="lower center", bbox_to_anchor=(0.5, 1), borderpad=0)  # fmt: skip
        figure.suptitle("The kind that carries furthest depends on the task", fontsize=12)
        plt.show()


def by_updates() -> None:
    """Accuracy at four times the trained length after each number of updates."""
    run = recorded.results("positions")
    counts, far = budgets(run), str(run["tested"][-1])
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(4.6, 5.1), layout="constrained")
        for height, color, wanted in _rows(ax, run):
            found = [accuracy(run, **wanted, updates=count)[far]["median"] for count in counts]
            ax.plot(found, [height] * len(found), color=color, alpha=0.45)
            ax.scatter(found, [height] * len(found), (14, 24, 44), color=color, zorder=3)
        first = ", ".join(f"{count:,}" for count in counts[:-1])
        figure.suptitle(
            f"Does more training carry further? Length {far}\n"
            f"after {first} and {counts[-1]:,} updates (largest dot)",
            fontsize=11,
        )
        plt.show()


def _rows(ax, run: dict) -> list[tuple[float, str, dict]]:
    """The rows of `groups` by height, with their names, grid and headings on the axes."""
    rows, names, height = [], {}, 0.0
    for title, group in groups(run):
        head = ax.text(-0.32, height, title, fontweight="bold", va="center",
                       transform=ax.get_yaxis_transform())  # fmt: skip
        head.set_in_layout(False)
        height += 1
        for name, kind, wanted in group:
            rows.append((height, COLOURS[kind], wanted))
            names[height] = name
            height += 1
        ends = (height - len(group) - 0.5, height - 0.5)
        ax.vlines([0, 0.5, 1], *ends, color="grey", alpha=0.35, linewidth=0.8)
        ax.vlines(1 / run["symbols"], *ends, color="grey", linewidth=0.9)
        height += 0.3
    ax.text(1 / run["symbols"], height - 0.62, "a guess", color="#57606a", va="top", ha="left")
    ax.set(xlim=(-0.03, 1.04), ylim=(height + 0.3, -0.7), xlabel="share right")
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.spines["left"].set_visible(False)
    ax.set_yticks(list(names), list(names.values()))
    ax.tick_params(axis="y", length=0)
    return rows


def beyond_table() -> None:
    """Print the numbers of that figure, and those of the rotary models of other sizes."""
    run = recorded.results("positions")
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right at length 16, 32 and 64: median (smallest-largest)")
    for task in TASKS:
        for count in budgets(run):
            print(f"\n{task}, {count:,} updates")
            for kind in COLOURS:
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
