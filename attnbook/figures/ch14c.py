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
        figure, axes = plt.subplots(2, 1, figsize=(4.4, 2.8), layout="constrained")
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
                bars = ax.barh(places, values, height=0.38, color=colour, label=name)
                for bar, v in zip(bars, values, strict=True):  # beside a bar too short for it
                    inside = not unit or v > 10
                    ax.annotate(
                        f"{v:.{digits}f}{unit}", (v, bar.get_y() + 0.19), (-4 if inside else 4, 0),
                        textcoords="offset points", ha="right" if inside else "left", va="center",
                        color="white" if inside else INK, fontsize=9,
                    )  # fmt: skip
                ax.vlines(lines, [y - 0.18 for y in places], [y + 0.18 for y in places],
                          color=INK, linewidth=2, zorder=3)  # fmt: skip
        axes[0].set_title("times as fast as one process", fontsize=10)
        axes[1].set_title("of the time waiting, %, mean of all processes", fontsize=10)
        axes[1].legend(fontsize=9, loc="upper right")
        for ax in axes:
            ax.set_yticks(range(1, len(counts)), [f"{n} processes" for n in counts[1:]])
            ax.invert_yaxis()
        axes[1].spines.left.set_visible(False)  # zigzag's lines are at 0
        axes[1].set_xlim(-1, 70)
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
        return [name, f"{sent / 1e9:.2f} GB", f"{waits:.2f} s", watch]

    return Table(
        ["way", "each sends", "waits for it", "what to watch"],
        [
            row("ring", now["sent"], now["total"] - work,
                f"holds two parts at a time, {now['passing'] / 1e9:.2f} GB"),
            row("collect first", now["sent"], now["sent"] / link / 1e9,
                f"holds all of them, {whole / 1e9:.2f} GB"),
            row("heads for positions", moved, moved / link / 1e9,
                f"at most {shape['heads']} devices; KV heads copied beyond {ring.kv_heads}"),
        ],
        caption=f"On a 100-gigabit network, beside {work:.2f} s of work. The last two wait, since "
        "they compute only when all is there.",
    )  # fmt: skip
