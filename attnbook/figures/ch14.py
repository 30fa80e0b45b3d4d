"""The figures of page 14: names in drawers, and what a design recalls for the bytes it keeps."""

import random
import string

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLACK, GREEN, MUTED, RUST, VERMILION
from attnbook.machines.porter import LABELS, MOST, NAMES, ROOMS, Porter
from attnlab.metrics.intervals import median_interval

ASKED = "Dot"
KINDS = {
    "pairs": (BLACK, "o", "keeps pairs"),
    "state": (GREEN, "s", "keeps a state"),
    "mixed": (VERMILION, "D", "mixes two kinds of layers"),
}
"""Colour, marker and name of what a design keeps."""

DRAWS, ROUNDS = 100, 3


def kind_of(design: str) -> str:
    """Which of `KINDS` a design belongs to, by its name."""
    if "," in design and "full" in design:
        return "mixed"
    return "state" if design.startswith(("linear", "delta", "gated")) else "pairs"


def sorting(features: int) -> dict:
    """The row of this width with the most updates."""
    rows = recorded.results("drawers")["rows"]
    return max((r for r in rows if r["features"] == features), key=lambda row: row["updates"])


def chest(features: int, asked: str = ASKED) -> list[list[tuple[str, float]]]:
    """The names in each drawer that is used, with what is taken of each when one is asked for."""
    row, found = sorting(features), {}
    shares = row["shares"][NAMES.index(asked)]
    for name, drawer, share in zip(NAMES, row["drawers"], shares, strict=False):
        found.setdefault(drawer, []).append((name, share))
    return sorted(found.values(), key=len, reverse=True)


def drawers() -> None:
    """Draw how two trained states sort sixteen names, and what one question empties."""
    with plt.style.context("attnbook.style"):
        figure, panels = plt.subplots(1, 2, figsize=(5.8, 3.1), layout="constrained")
        for ax, features in zip(panels, (4, 16), strict=True):
            boxes = chest(features)
            columns = 1 if len(boxes) <= 4 else 4
            wide, tall = 12 / columns, 8 / -(-len(boxes) // columns)
            apart = wide / max(map(len, boxes))
            for place, box in enumerate(boxes):
                row, column = divmod(place, columns)
                x, y = column * wide, 8 - tall * (row + 1)
                mine = any(name == ASKED for name, _ in box)
                colour = RUST if mine else MUTED
                look = (
                    {"linewidth": 2.2, "facecolor": "#B3470014"} if mine else {"facecolor": "none"}
                )
                ax.add_patch(plt.Rectangle((x + 0.1, y + 0.1), wide - 0.2, tall - 0.2,
                                           edgecolor=colour, **look))  # fmt: skip
                for at, (name, share) in enumerate(box):
                    ax.text(x + apart * (at + 0.5), y + tall / 2, f"{name}\n{share:.2f}",
                            ha="center",
                            va="center", color=colour, size=9,
                            weight="bold" if name == ASKED else "normal")  # fmt: skip
            ax.set(xlim=(-0.1, 12.1), ylim=(-0.1, 8.1))
            ax.axis("off")
            ax.set_title(f"{features} features: {len(boxes)} drawers", loc="left", fontsize=11)
        figure.suptitle(f"“{ASKED}?” empties a drawer. More features, more drawers.")
        plt.show()


def drawers_table() -> None:
    """Print what is behind that figure."""
    run = recorded.results("drawers")
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("medians of three seeds (smallest to largest)")
    print("features  updates  right                drawers  own share  its drawer's share")
    for row in run["rows"]:
        right = "{median:.2f} ({low:.2f} to {high:.2f})".format(**row["accuracy"])
        print(f"{row['features']:8}{row['updates']:9,}  {right:21}", end="")
        print(f"{row['used']['median']:5.0f}{row['own']['median']:12.2f}", end="")
        print(f"{row['drawer']['median']:12.2f}")


def designs() -> dict[str, list[dict]]:
    """For each design its rows at the best rate, from few updates to many."""
    found: dict[str, list[dict]] = {}
    for row in recorded.results("porter")["rows"]:
        if row["best"]:
            found.setdefault(row["design"], []).append(row)
    return {name: sorted(rows, key=lambda row: row["updates"]) for name, rows in found.items()}


# Where a label stands, in points from its dot, if its right is taken.
ASIDE = {
    "full": (8, 2, "left"),
    "chosen": (8, -12, "left"),
    "window, then full": (-8, 6, "right"),
    "gated delta, then full": (-8, -8, "right"),
    "3 gated delta, then full": (6, -27, "left"),
    "linear, 64 features": (-8, -4, "right"),
    "gated delta, 64 features": (-8, -4, "right"),
    "delta": (8, 3, "left"),
    "gated delta": (8, -10, "left"),
}


def price() -> None:
    """Draw right answers against bytes kept, a dot a design; paler, what fewer updates gave."""
    run = recorded.results("porter")
    most = str(max(run["task"]["pairs"]))
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 4.2), layout="constrained")
        named = set()
        for design, rows in designs().items():
            kind = kind_of(design)
            colour, marker, label = KINDS[kind]
            at, scores = rows[-1]["bytes"], [row["by_pairs"][most] for row in rows]
            medians = [score["median"] for score in scores]
            ax.plot([at] * len(rows), medians, color=colour, alpha=0.35, linewidth=1)
            ax.plot([at] * len(rows[:-1]), medians[:-1], marker, color=colour, alpha=0.35, ms=5)
            ax.plot([at, at], [scores[-1]["low"], scores[-1]["high"]], color=colour, linewidth=3)
            seen = {} if kind in named else {"label": label}
            ax.plot(at, medians[-1], marker, color=colour, ms=8, **seen)
            named.add(kind)
            right, up, side = ASIDE.get(design, (8, -4, "left"))
            ax.annotate(design, (at, medians[-1]), (right, up), ha=side, size=9,
                        textcoords="offset points", color=colour)  # fmt: skip
        ax.axhline(1 / 16, color="#666666", linestyle=":")
        ax.text(0.3, 1 / 16 + 0.01, "guessing", transform=ax.get_yaxis_transform(), size=9)
        ax.set(xscale="log", xlim=(3200, 48000), ylim=(0, 1.08))
        ax.set(xlabel=f"bytes kept of {run['task']['places']} tokens", ylabel="right answers")
        ticks = (4096, 8192, 16384, 32768)
        ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
        ax.minorticks_off()
        ax.set_title(f"Designs that keep every pair recall all {most}")
        ax.legend(loc="lower right", fontsize=9, bbox_to_anchor=(1, 0.1))
        plt.show()


def price_table() -> None:
    """Print what is behind that figure, for every number of pairs."""
    run = recorded.results("porter")
    pairs = [str(n) for n in run["task"]["pairs"]]
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right answers by number of pairs, medians of three seeds, at the best rate")
    print(f"{'':26}updates   rate  parameters   bytes" + "".join(f"{n:>6}" for n in pairs))
    for design, rows in designs().items():
        for row in rows:
            print(f"{design:26}{row['updates']:7,}{row['rate']:7g}", end="")
            print(f"{row['parameters']:12,}{row['bytes']:8,}", end="")
            print("".join(f"{row['by_pairs'][n]['median']:6.2f}" for n in pairs))


def _drawn(draw: random.Random) -> str:
    return "".join(draw.choice(string.ascii_lowercase) for _ in range(6))


def typical(guests: int = 12, draws: int = DRAWS) -> dict[str, list[list[int]]]:
    """How many of some guests with random names each memory gets right, by round of new rooms."""
    found: dict[str, list[list[int]]] = {memory: [] for memory in LABELS}
    draw, porter = random.Random(0), Porter()
    for _ in range(draws):
        names = [_drawn(draw) for _ in range(guests)]
        said = [f"{name} {draw.randrange(ROOMS)}" for _ in range(ROUNDS) for name in names]
        assert len(said) <= MOST
        for memory, counts in found.items():
            porter.memory, right = memory, []
            for n in range(ROUNDS):
                porter.said = ", ".join(said[: guests * (n + 1)])
                right.append(porter.compute()["right"])
            counts.append(right)
    return found


def typical_table() -> None:
    """Print the medians of `typical`, and how much of all draws lies within."""
    print(f"{DRAWS} draws of twelve random names and rooms: right answers, median (quartiles)")
    print("memory               told once         new rooms         and again")
    for memory, counts in typical().items():
        print(f"{LABELS[memory]:20}", end="")
        for row in zip(*counts, strict=True):
            middle, *_ = median_interval(row)
            low, high = sorted(row)[len(row) // 4], sorted(row)[3 * len(row) // 4]
            print(f" {middle:4.0f} ({low} to {high})".ljust(18), end="")
        print()
