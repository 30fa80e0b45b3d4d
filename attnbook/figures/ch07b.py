"""The figures of page 07b: texts longer than any of training."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLACK, BLUE, GREEN, VERMILION
from attnbook.tables import Table

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
    return [
        (
            title,
            [
                (NAMES[kind], kind, {"task": task, "positions": kind, **usual(run)})
                for kind in COLOURS
            ],
        )
        for task, title in TASKS.items()
    ]


def beyond() -> None:
    """Accuracy at the trained length and at four times it."""
    run = recorded.results("positions")
    updates = budgets(run)[-1]
    near, far = str(run["trained"]), str(run["tested"][-1])
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(4.6, 4.15), layout="constrained")
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


def eight_clocks(run: dict, **wanted) -> list[dict]:
    """The rows of the models with eight clocks a head that are as wanted."""
    rows = (row for row in run["rows"] if row["heads"] > 1)
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def bases() -> Table:
    """What `rope_theta` does to each task at four times the trained length."""
    run = recorded.results("positions_controls")
    rows = eight_clocks(run, updates=budgets(run)[-1])
    shares = {(row["base"], row["task"]): row["accuracy"]["none"]["64"]["median"] for row in rows}
    return Table(
        ["rope_theta", *TASKS],
        [
            [f"{base:,.0f}", *(f"{shares[base, task]:.2f}" for task in TASKS)]
            for base in sorted({row["base"] for row in rows})
        ],
    )


def _rows(ax, run: dict) -> list[tuple[float, str, dict]]:
    """The rows of `groups` by height, with their names, grid and headings on the axes."""
    rows, names, height = [], {}, 0.0
    for title, group in groups(run):
        ax.text(-0.32, height, title, fontweight="bold", va="center",
                transform=ax.get_yaxis_transform())  # fmt: skip
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
    """Print the numbers of that figure."""
    run = recorded.results("positions")
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right at length 16, 32 and 64: median (smallest-largest)")
    for task in TASKS:
        for count in budgets(run):
            print(f"\n{task}, {count:,} updates")
            for kind in COLOURS:
                found = accuracy(run, task=task, positions=kind, updates=count, **usual(run))
                print(f"  {NAMES[kind]:11}{_line(found)}")
    same = {"task": "back", **usual(run), "updates": budgets(run)[0]}
    print(f"\nback, {same['updates']} updates, right at length 64 by learning rate")
    for kind in ("rotary", "clipped"):
        found = {
            rate: accuracy(run, **(same | {"positions": kind, "rate": rate}))["64"]["median"]
            for rate in (0.001, 0.003, 0.01)
        }
        print(f"  {kind:11}" + "  ".join(f"{rate}: {share:.2f}" for rate, share in found.items()))


def controls_table() -> None:
    """Print what `rope_theta` does, what is left without some clocks, and what is named instead."""
    run = recorded.results("positions_controls")
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("rotary, right at length 16, 32 and 64: median (smallest-largest)")
    for row in run["rows"]:
        clocks = 32 // row["heads"]
        title = f"{row['task']}, rope_theta {row['base']:,.0f}, {clocks} clocks a head"
        print(f"\n{title}, {row['updates']:,} updates")
        for name, found in row["accuracy"].items():
            if name != "none" and row["updates"] < budgets(run)[-1]:
                continue
            label = f"{name[8:]} alone" if name.startswith("all but") else f"without {name}"
            label = "all clocks" if name == "none" else label
            print(f"  {label:16}{_line(found)}")
        if row["task"] == "back":
            far = sorted(range(64), key=row["named"].__getitem__)[:-6:-1]
            told = ", ".join(f"{back}: {row['named'][back]:.2f}" for back in far)
            print(f"  last answer of 64 is the symbol so far back: {told}")


def _line(found: dict) -> str:
    cells = ("{median:.2f} ({low:.2f}-{high:.2f})".format(**found[n]) for n in ("16", "32", "64"))
    return "  ".join(f"{cell:17}" for cell in cells).rstrip()
