"""The figures of page 14: names in drawers, and what a design recalls, by pairs and by bytes."""

import random
import string

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLACK, GREEN, MUTED, RUST, VERMILION
from attnbook.machines.porter import LABELS, MOST, NAMES, ROOMS, Porter
from attnlab.metrics.intervals import median_interval

ASKED = "Dot"
KINDS = {
    "pairs": (BLACK, "o", "keeps something of every pair"),
    "window": (MUTED, "^", "keeps the last pairs"),
    "state": (GREEN, "s", "keeps a state"),
    "mixed": (VERMILION, "D", "mixes two kinds of layers"),
}
"""Colour, marker and name of what a design keeps."""

DRAWS, ROUNDS = 100, 3


def kind_of(design: str) -> str:
    """Which of `KINDS` a design belongs to, by its name."""
    if "," in design and "full" in design:
        return "mixed"
    if design == "window":
        return design
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
        figure, panels = plt.subplots(1, 2, figsize=(5.8, 2.7), layout="constrained")
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
                            va="center", color=colour, size=11,
                            weight="bold" if name == ASKED else "normal")  # fmt: skip
            ax.set(xlim=(-0.1, 12.1), ylim=(-0.1, 8.1))
            ax.axis("off")
            title = f"{features} features: {len(boxes)} drawers (seed 0)"
            ax.set_title(title, loc="left", fontsize=12)
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
    taken = sum(share for box in chest(4) if ASKED in dict(box) for _, share in box)
    print(f"drawn: seed 0; with 4 features {ASKED}'s drawer gives {taken:.2f}, less than most")


def designs() -> dict[str, list[dict]]:
    """For each design its rows at the best rate, from few updates to many."""
    found: dict[str, list[dict]] = {}
    for row in recorded.results("porter")["rows"]:
        if row["best"]:
            found.setdefault(row["design"], []).append(row)
    return {name: sorted(rows, key=lambda row: row["updates"]) for name, rows in found.items()}


# Where a label stands, in points from its dot, if its right is taken.
ASIDE = {
    "window, then full": (-8, 6, "right"),
    "3 gated delta, then full": (-6, -26, "left"),
    "linear, 64 features": (-8, -4, "right"),
    "gated delta, 64 features": (-8, -4, "right"),
    "window": (8, 4, "left"),
}
SLIDING = {
    "latent": ("o-", "full, latent, mixed"),
    "linear, 64 features": ("s--", "linear, 64 features"),
    "gated delta, 64 features": ("s-", "gated delta, 64 features"),
    "delta": ("s-", "delta, gated delta"),
    "linear": ("s--", "linear"),
    "window": ("^-", "window"),
}
"""The lines of `sliding`, of which some stand for designs that fall together, and their names."""
UP = {"gated delta, 64 features": -1, "delta": -7, "window": 3}
"""Points that such a name stands above its line's end, where others would touch it."""


def sliding() -> None:
    """Draw right answers against pairs told, a line a design, after its most updates."""
    run, found = recorded.results("porter"), designs()
    pairs = run["task"]["pairs"]
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 2.45), layout="constrained")
        for design, (look, name) in SLIDING.items():
            scores = [found[design][-1]["by_pairs"][str(n)] for n in pairs]
            ends = [[one[side] for one in scores] for side in ("low", "high")]
            colour, middles = KINDS[kind_of(design)][0], [one["median"] for one in scores]
            ax.plot(pairs, middles, look, color=colour, ms=4)
            ax.fill_between(pairs, *ends, color=colour, alpha=0.15, linewidth=0)
            ax.annotate(name, (pairs[-1], middles[-1]), (8, UP.get(design, -3.5)), size=10.5,
                        textcoords="offset points", color=colour)  # fmt: skip
        ax.axhline(1 / 16, color="#666666", linestyle=":")
        ax.annotate("guessing", (pairs[-1], 1 / 16), (8, -10), size=10.5,
                    textcoords="offset points")  # fmt: skip
        ax.set(xscale="log", xlim=(3.7, 225), ylim=(0, 1.06), ylabel="right answers")
        ax.set_xlabel("pairs told", loc="left")
        ax.set_xticks(pairs, map(str, pairs))
        ax.minorticks_off()
        ax.set_title("A state lets answers slide as more is told")
        plt.show()


def together() -> list[tuple[list[str], list[dict]]]:
    """The designs that share a mark of `price`, with the rows of the first."""
    found: dict[tuple, list[str]] = {}
    most, rows = str(max(recorded.results("porter")["task"]["pairs"])), designs()
    for design, (*_, last) in rows.items():
        place = (kind_of(design), last["bytes"], round(last["by_pairs"][most]["median"], 2))
        found.setdefault(place, []).append(design)
    return [(names, rows[names[0]]) for names in found.values()]


def price() -> None:
    """Draw right answers against bytes kept, a mark a design or two that fall together."""
    run = recorded.results("porter")
    most = str(max(run["task"]["pairs"]))
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 3.2), layout="constrained")
        named = set()
        for names, (*_, last) in together():
            kind = kind_of(names[0])
            colour, marker, label = KINDS[kind]
            at, score = last["bytes"], last["by_pairs"][most]
            ax.plot([at, at], [score["low"], score["high"]], color=colour, linewidth=3)
            seen = {} if kind in named else {"label": label}
            ax.plot(at, score["median"], marker, color=colour, ms=8, **seen)
            named.add(kind)
            right, up, side = ASIDE.get(names[0], (8, -4, "left"))
            ax.annotate("\nand ".join(names), (at, score["median"]), (right, up), ha=side,
                        va="center" if len(names) > 1 else "baseline", size=10.5,
                        textcoords="offset points", color=colour)  # fmt: skip
        ax.axhline(1 / 16, color="#666666", linestyle=":")
        ax.text(0.3, 1 / 16 - 0.015, "guessing", transform=ax.get_yaxis_transform(), size=10.5,
                va="top")  # fmt: skip
        ax.set(xscale="log", xlim=(3200, 52000), ylim=(-0.06, 1.1))
        ax.set(xlabel=f"bytes kept of {run['task']['places']} tokens", ylabel="right answers")
        ticks = (4096, 8192, 16384, 32768)
        ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
        ax.minorticks_off()
        ax.set_title("One layer that keeps something of every pair is enough")
        ax.legend(loc="lower right", fontsize=10, bbox_to_anchor=(1, 0.12))
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


def larger_table() -> None:
    """Print what four times the places do to it."""
    run = recorded.results("porter_larger")
    pairs = [str(n) for n in run["task"]["pairs"]]
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right answers by number of pairs, medians of three seeds; over all, worst and best")
    print(f"{'':24}updates   rate   bytes" + "".join(f"{n:>6}" for n in pairs) + "   worst  best")
    for row in run["rows"]:
        print(f"{row['design']:24}{row['updates']:7,}{row['rate']:7g}{row['bytes']:8,}", end="")
        print("".join(f"{row['by_pairs'][n]['median']:6.2f}" for n in pairs), end="")
        print(f"{row['accuracy']['low']:8.2f}{row['accuracy']['high']:6.2f}")


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


def leaving(guests: int = 12, new: int = 4, draws: int = DRAWS) -> dict[str, list[tuple[int, int]]]:
    """After a new day with new guests: how many are right, and how many old rooms are left."""
    found: dict[str, list[tuple[int, int]]] = {memory: [] for memory in LABELS}
    draw, porter = random.Random(0), Porter()
    for _ in range(draws):
        said = [f"{_drawn(draw)} {draw.randrange(ROOMS)}" for _ in range(guests + new)]
        porter.said = f"{', '.join(said[:guests])} / {', '.join(said[guests:])}"
        for memory, counts in found.items():
            porter.memory = memory
            now = porter.compute()
            counts.append((now["right"], now["stale"]))
    return found


def _spread(counts: list[int]) -> str:
    """The median and the quartiles of all draws."""
    middle, *_ = median_interval(counts)
    low, high = sorted(counts)[len(counts) // 4], sorted(counts)[3 * len(counts) // 4]
    return f" {middle:4.0f} ({low} to {high})".ljust(18)


def typical_table() -> None:
    """Print the medians of `typical` and `leaving`, and how much of all draws lies within."""
    print(f"{DRAWS} draws of twelve random names and rooms: right answers, median (quartiles)")
    print("memory               told once         new rooms         and again")
    for memory, counts in typical().items():
        print(f"{LABELS[memory]:20}", end="")
        for row in zip(*counts, strict=True):
            print(_spread(row), end="")
        print()
    print("\nThen these twelve leave, and four come")
    print("memory               right of four     old rooms of the twelve")
    for memory, counts in leaving().items():
        right, stale = map(_spread, zip(*counts, strict=True))
        print(f"{LABELS[memory]:20}{right}{stale}")
