"""The figures of page 14: names in drawers, and what a design recalls of what it is told."""

import random
import string

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLACK, GREEN, MUTED, RUST, VERMILION
from attnbook.machines.porter import LABELS, MOST, NAMES, ROOMS, Porter, left
from attnlab.metrics.intervals import median_interval

ASKED = "Dot"
COLOURS = {"pairs": BLACK, "window": MUTED, "state": GREEN, "mixed": VERMILION}
"""The colour of what a design keeps: something of all pairs, the last, a state, or a mixture."""

DRAWS, ROUNDS = 100, 3


def kind_of(design: str) -> str:
    """Which of `COLOURS` a design belongs to, by its name."""
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
        figure, panels = plt.subplots(1, 2, figsize=(5.8, 2.4), layout="constrained")
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
    for row in recorded.results("porter")["rows"] + recorded.results("full_alone")["rows"]:
        if row["best"]:
            found.setdefault(row["design"], []).append(row)
    return {name: sorted(rows, key=lambda row: row["updates"]) for name, rows in found.items()}


FULL = "full"
SLIDING = {
    FULL: ("o-", "full attention", 1.16),
    "window, then full": ("-", "window + full", 1.04),
    "gated delta, then full": ("-", "gated delta + full", 0.92),
    "latent": ("-", "latent", 0.8),
    "delta": ("s-", "delta, gated delta", 0.63),
    "linear": ("v--", "linear", 0.47),
    "window": ("^-", "window", 0.14),
}
"""The lines of `sliding`: how each looks, its name, and where that stands."""
ALL_RIGHT = tuple(SLIDING)[:4]
"""The designs whose lines lie on one another, at all right: a bracket holds their names."""


def memory(design: str) -> float:
    """What a design keeps of as many pairs as are told, as a share of what full attention keeps."""
    found = designs()
    return found[design][-1]["bytes"] / found[FULL][-1]["bytes"]


def sliding() -> None:
    """Draw right answers against pairs told, a line a design, with the memory that it takes."""
    run, found = recorded.results("porter"), designs()
    pairs = run["task"]["pairs"]
    name_at, memory_at = pairs[-1] * 1.25, pairs[-1] * 11
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 2.7), layout="constrained")
        for design, (look, name, height) in SLIDING.items():
            scores = [found[design][-1]["by_pairs"][str(n)] for n in pairs]
            ends = [[one[side] for one in scores] for side in ("low", "high")]
            colour, middles = COLOURS[kind_of(design)], [one["median"] for one in scores]
            if design in ALL_RIGHT:
                ax.text(name_at, height, name, color=colour, va="center")
            else:
                ax.annotate(name, (pairs[-1], middles[-1]), (name_at, height), color=colour,
                            va="center", arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.8,
                                                     "shrinkA": 1, "shrinkB": 4})  # fmt: skip
            if design not in ALL_RIGHT[1:]:
                ax.plot(pairs, middles, look, color=colour, ms=4)
                ax.fill_between(pairs, *ends, color=colour, alpha=0.15, linewidth=0)
            ax.text(memory_at, height, f"{100 * memory(design):.4g}%", color=colour, ha="right",
                    va="center")  # fmt: skip
        top, *_, bottom = (SLIDING[design][2] for design in ALL_RIGHT)
        left, right = pairs[-1] * 1.11, pairs[-1] * 1.18
        ax.plot([right, left, left, right], [top, top, bottom, bottom], color=MUTED, lw=1)
        ax.text(pairs[-1], 1.1, "these four: all right", ha="right", va="center")
        ax.text(memory_at, 1.31, "memory at 64 pairs", ha="right", va="center")
        ax.plot([pairs[0], pairs[-1]], [1 / 16] * 2, ":", color=MUTED)
        ax.text(name_at, 0.02, "guessing", va="center")
        ax.set(xscale="log", xlim=(3.7, memory_at), ylim=(0, 1.36), ylabel="right answers")
        ax.spines["bottom"].set_bounds(3.7, pairs[-1])
        ax.set_xlabel("pairs told", loc="left")
        ax.set_xticks(pairs, map(str, pairs))
        ax.set_yticks((0, 0.5, 1), ("0%", "50%", "100%"))
        ax.minorticks_off()
        ax.set_title("The more is told, the more a state forgets")
        plt.show()


def price_table() -> None:
    """Print what is behind that figure, for every number of pairs."""
    run = recorded.results("porter")
    pairs = [str(n) for n in run["task"]["pairs"]]
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right answers by number of pairs, medians of three seeds, at the best rate")
    print(f"{'':26}updates   rate   bytes" + "".join(f"{n:>6}" for n in pairs))
    for design, rows in designs().items():
        for row in rows:
            print(f"{design:26}{row['updates']:7,}{row['rate']:7g}", end="")
            print(f"{row['bytes']:8,}", end="")
            print("".join(f"{row['by_pairs'][n]['median']:6.2f}" for n in pairs))


def larger() -> dict[tuple[str, int, float], tuple[float, float]]:
    """The worst and the best seed of each design, number of updates and rate, of 256 places."""
    return {
        (row["design"], row["updates"], row["rate"]): (
            row["accuracy"]["low"], row["accuracy"]["high"]
        )
        for row in recorded.results("porter_larger")["rows"]
    }  # fmt: skip


def larger_table() -> None:
    """Print what four times the places do to it."""
    run = recorded.results("porter_larger")
    pairs = [str(n) for n in run["task"]["pairs"]]
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("right answers by number of pairs, medians of three seeds; over all, worst and best")
    print(f"{'':23}updates  rate   bytes" + "".join(f"{n:>5}" for n in pairs) + "  worst best")
    for row in run["rows"]:
        print(f"{row['design']:23}{row['updates']:7,}{row['rate']:6g}{row['bytes']:8,}", end="")
        print("".join(f"{row['by_pairs'][n]['median']:5.2f}" for n in pairs), end="")
        print(f"{row['accuracy']['low']:7.2f}{row['accuracy']['high']:5.2f}")


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


def own_left(guests: int = 12, draws: int = 10 * DRAWS) -> list[float]:
    """What corrections leave of each guest's own room, from the first told on: means of draws."""
    draw, sums = random.Random(0), [0.0] * guests
    for _ in range(draws):
        names = [_drawn(draw) for _ in range(guests)]
        shares = left([(name, 0) for name in names], "delta")
        sums = [so_far + shares[name] for so_far, name in zip(sums, names, strict=True)]
    return [one / draws for one in sums]


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
    print("\nOf a guest's own room the delta rule leaves, told once, from the first of twelve on")
    print(" ".join(f"{share:.2f}" for share in own_left()))
    print("\nThen these twelve leave, and four come")
    print("memory               right of four     old rooms of the twelve")
    for memory, counts in leaving().items():
        right, stale = map(_spread, zip(*counts, strict=True))
        print(f"{LABELS[memory]:20}{right}{stale}")
