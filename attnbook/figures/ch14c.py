"""The figure of 14c: what sharing a text costs each process."""

import matplotlib.pyplot as plt

from attnbook import recorded

WAYS = {True: ("zigzag", "#0072B2"), False: ("one stretch each", "#D55E00")}


def sharing() -> None:
    """Draw the memory of each process and its share of waiting, by how the text is dealt out."""
    rows = recorded.results("parallel")["rows"]
    counts = sorted({row["processes"] for row in rows})
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.8, 2.7), layout="constrained")
        for shift, (zigzag, (name, colour)) in zip((-0.2, 0.2), WAYS.items(), strict=True):
            mine = [row for row in rows if row["zigzag"] == zigzag]
            places = [counts.index(row["processes"]) + shift for row in mine]
            mib = [row["mib"]["median"] for row in mine]
            idle = [100 * row["forward_idle"]["median"] for row in mine]
            for ax, values, unit in zip(axes, (mib, idle), ("", "%"), strict=True):
                bars = ax.bar(places, values, width=0.36, color=colour, label=name)
                ax.bar_label(bars, [f"{v:.0f}{unit}" for v in values], fontsize=8)
        axes[0].set_title("MiB at the peak of each", fontsize=10)
        axes[1].set_title("waiting, of the forward pass", fontsize=10)
        axes[1].set_ylim(0, 54)
        axes[1].legend(fontsize=8, loc="upper left")
        for ax in axes:
            ax.set_xticks(range(len(counts)), [str(n) for n in counts])
            ax.set_xlabel("processes")
        figure.suptitle("In zigzag hardly anybody waits; memory falls", fontsize=11)
        plt.show()
