"""The figures of 14c: what sharing a text gains, and three ways to share it."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLUE, INK, VERMILION
from attnbook.machines.ring_machine import RingMachine
from attnbook.tables import Table

WAYS = {True: ("zigzag", BLUE), False: ("one stretch each", VERMILION)}


def sharing() -> None:
    """Draw how many times as fast processes are as one, and their waiting, by how a text is cut.

    A line at each bar is what the machine of the page says when nothing but arithmetic takes time.
    """
    rows = recorded.results("parallel")["rows"]
    counts = sorted({row["processes"] for row in rows})
    (alone,) = (row["forward_seconds"]["median"] for row in rows if row["processes"] == 1)
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.8, 2.9), layout="constrained")
        for shift, (zigzag, (name, colour)) in zip((-0.2, 0.2), WAYS.items(), strict=True):
            mine = [row for row in rows if row["zigzag"] == zigzag and row["processes"] > 1]
            places = [counts.index(row["processes"]) + shift for row in mine]
            faster = [alone / row["forward_seconds"]["median"] for row in mine]
            idle = [100 * row["forward_idle"]["median"] for row in mine]
            machines = [RingMachine(devices=row["processes"], zigzag=zigzag).compute()
                        for row in mine]  # fmt: skip
            told = [now["speed"] for now in machines]
            waits = [100 * sum(now["idle"]) / len(now["idle"]) for now in machines]
            for ax, values, lines, digits, unit in (
                (axes[0], faster, told, 2, ""),
                (axes[1], idle, waits, 0, "%"),
            ):
                bars = ax.bar(places, values, width=0.36, color=colour, label=name)
                words = [f"{v:.{digits}f}{unit}" for v in values]
                ax.bar_label(bars, words, fontsize=9, label_type="center", color="white")
                ax.hlines(lines, [x - 0.18 for x in places], [x + 0.18 for x in places],
                          color=INK, linewidth=2)  # fmt: skip
        axes[0].set_title("times as fast as one process", fontsize=10)
        axes[1].set_title("of the time waiting, %", fontsize=10)
        axes[0].set_ylim(0, 6)
        axes[0].legend(fontsize=9, loc="upper left")
        for ax in axes:
            ax.set_xticks(range(1, len(counts)), [str(n) for n in counts[1:]])
            ax.set_xlabel("processes")
        figure.suptitle("Zigzag hardly waits, and gains more (lines: worked out)", fontsize=11)
        plt.show()


def ways(devices: int = 8) -> Table:
    """What a device sends in three ways to share the machine's text of 1,048,576 tokens."""
    ring = RingMachine(devices=devices)
    now, shape = ring.compute(), ring.shape
    whole = now["kept"] * devices / shape["layers"]  # keys and values of a layer, in bytes
    part = 2 * shape["head"] * ring.tokens / devices  # bytes of a head's part
    # Queries and outputs of all heads, keys and values of theirs; an eighth of it stays at home.
    moved = 2 * (shape["heads"] + ring.kv_heads) * part * (devices - 1) / devices
    return Table(
        ["way", "what travels", "each sends", "and"],
        [
            ["ring", "keys and values, a part at a time", f"{now['sent'] / 1e9:.2f} GB",
             f"{now['passing'] / 1e9:.2f} GB pass through each"],
            ["collect first", "the same, all at once", f"{now['sent'] / 1e9:.2f} GB",
             f"{whole / 1e9:.2f} GB lie on each"],
            ["heads for positions", "queries, keys, values, outputs", f"{moved / 1e9:.2f} GB",
             "no more devices than heads"],
        ],
    )  # fmt: skip
