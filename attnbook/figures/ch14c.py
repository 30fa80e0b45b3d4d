"""The figures of 14c: what sharing a text gains, and three ways to share it."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLUE, INK, VERMILION
from attnbook.machines.ring_machine import RingMachine
from attnbook.tables import Table

WAYS = {True: ("zigzag", BLUE), False: ("one stretch each", VERMILION)}


def sharing() -> None:
    """Draw how many times as fast four processes are as one, and their waiting, by a text's cut.

    A line at each bar is what the machine of the page says when nothing but arithmetic takes time.
    """
    rows = recorded.results("parallel")["rows"]
    (alone,) = (row["forward_seconds"]["median"] for row in rows if row["processes"] == 1)
    four = {row["zigzag"]: row for row in rows if row["processes"] == 4}
    mine = [four[zigzag] for zigzag in WAYS]
    machines = [RingMachine(devices=4, zigzag=zigzag).compute() for zigzag in WAYS]
    names, colours = zip(*WAYS.values(), strict=True)
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(2, 1, figsize=(4.4, 2.1), layout="constrained")
        for ax, title, values, lines, digits, unit in (
            (axes[0], "times as fast as one process",
             [alone / row["forward_seconds"]["median"] for row in mine],
             [now["speed"] for now in machines], 2, ""),
            (axes[1], "of the time waiting, %, mean of all processes",
             [100 * row["forward_idle"]["median"] for row in mine],
             [100 * sum(now["idle"]) / len(now["idle"]) for now in machines], 0, "%"),
        ):  # fmt: skip
            bars = ax.barh(names, values, height=0.76, color=colours)
            for bar, v in zip(bars, values, strict=True):  # beside a bar too short for it
                inside = not unit or v > 10
                ax.annotate(
                    f"{v:.{digits}f}{unit}", (v, bar.get_y() + 0.38), (-4 if inside else 4, 0),
                    textcoords="offset points", ha="right" if inside else "left", va="center",
                    color="white" if inside else INK, fontsize=9,
                )  # fmt: skip
            ax.vlines(lines, [-0.36, 0.64], [0.36, 1.36], color=INK, linewidth=2, zorder=3)
            ax.set_title(title, fontsize=10)
            ax.invert_yaxis()
        axes[1].spines.left.set_visible(False)  # zigzag's line is at 0
        axes[1].set_xlim(-1, 50)
        figure.suptitle("Zigzag hardly waits, and gains more (lines: worked out)", fontsize=11)
        plt.show()


def ways(devices: int = 8, link: float = 12.5) -> Table:
    """What a device sends in three ways to share the machine's text of 1,048,576 tokens, and how
    long it waits for that on a link of so many GB a second."""
    ring = RingMachine(devices=devices, link=link, zigzag=True)
    now, shape = ring.compute(), ring.shape
    whole = now["kept"] * devices / shape["layers"]  # keys and values of a layer, in bytes
    part = 2 * shape["head"] * ring.tokens / devices  # bytes of a head's part
    # Queries and outputs of all heads, keys and values of theirs; an eighth of it stays at home.
    moved = 2 * (shape["heads"] + ring.kv_heads) * part * (devices - 1) / devices
    work = sum(map(max, now["busy"]))

    def row(name: str, sent: float, waits: float, watch: str) -> list[str]:
        return [
            name,
            f"{sent / 1e9:.2f}\N{NO-BREAK SPACE}GB",
            f"{waits:.2f}\N{NO-BREAK SPACE}s",
            watch,
        ]

    return Table(
        ["way", "each sends", "waits", "what to watch"],
        [
            row("ring", now["sent"], now["total"] - work,
                f"holds two parts at a time, {now['passing'] / 1e9:.2f} GB"),
            row("collect first", now["sent"], now["sent"] / link / 1e9,
                f"holds all of them, {whole / 1e9:.2f} GB"),
            row("heads for positions", moved, moved / link / 1e9,
                f"at most {shape['heads']} devices; beyond {ring.kv_heads}, KV heads are copied"),
        ],
        caption=f"100-gigabit network, {work:.2f} s of work. "
        "The last two compute only when all is there.",
    )  # fmt: skip
