"""The figures of chapter 05: what reaches a query, and how fast a model learns, by scale."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import NAVY, RUST, SEA, VERMILION
from attnbook.machines import DMachine
from attnbook.machines.d_machine import ROWS
from attnbook.machines.d_machine import SCALES as POWERS

SCALES = {"none": "÷ 1", "1/sqrt(d)": "÷ √d", "1/d": "÷ d"}
"""What the results call a scale, and what a figure calls it."""

WIDTHS = (16, 64, 256)
QUERY, LINES = RUST, (VERMILION, SEA, NAVY)
NARROW = 5.2
"""Inches across a figure whose words are to be read on a telephone."""

NEVER = 1.8
"""How high runs stand that broke down and never arrived, in budgets."""


def lottery(d: int = 1024, seed: int = 0) -> None:
    """Draw the gradient that reaches each of 200 queries, steepest first, under each scale."""
    finding = "a few get a shove, most nothing", "all get about the same", "all get little"
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(NARROW, 2.4), layout="constrained")
        for scale, name, what, colour in zip(
            POWERS, SCALES.values(), finding, (QUERY, SEA, NAVY), strict=True
        ):
            jolts = DMachine(d=d, scale=scale, seed=seed).compute()["jolts"]
            ax.plot(range(1, ROWS + 1), sorted(jolts, reverse=True), color=colour)
            label = f"{name}: {what} (average {sum(jolts) / ROWS:.2g})"
            height = 1.5 * sum(jolts) / ROWS if scale != "none" else 6
            ax.text(ROWS, height, label, color=colour, ha="right", fontsize=10)
        ax.set(yscale="log", ylim=(1e-4, 30), xlim=(0, ROWS), ylabel="gradient (log axis)")
        ax.set_xlabel(f"{ROWS} random queries of {d:,} features, the steepest first")
        plt.show()


def race(optimizer: str = "sgd") -> None:
    """Draw the updates to 95% against the learning rate, a panel a scale, a line a width."""
    run = recorded.results("scales")
    never = NEVER * run["updates"]
    finding = ("breaks from rate 1", "one line, to rate 1", "wider is slower")
    with plt.style.context("attnbook.style"):
        _, axes = plt.subplots(1, 3, figsize=(NARROW, 2.4), sharey=True, layout="constrained")
        for ax, (scale, name), what in zip(axes, SCALES.items(), finding, strict=True):
            for d, colour, marker in zip(WIDTHS, LINES, "os^", strict=True):
                rates, medians = arrivals(run, optimizer=optimizer, scale=scale, d=d)
                shown = [never if m is None else m for m in medians]
                ax.plot(rates, shown, marker=marker, color=colour, label=f"d = {d}")
            ax.axhline(never, color="grey", linewidth=0.8, linestyle="--")
            ticks = [10, 50, 200, 1000]
            ax.set(xscale="log", yscale="log", ylim=(8, 1.25 * never))
            ax.set_title(f"{name}\n{what}", fontsize=11)
            ax.set_yticks([*ticks, never], [*map(str, ticks), "broke\ndown"])
            ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
            ax.minorticks_off()
            ax.set_xlabel("learning rate")
        axes[0].set_ylabel("updates to 95%")
        # The one corner that no line enters.
        axes[1].legend(
            loc="upper left",
            bbox_to_anchor=(0, 0.98),
            frameon=False,
            fontsize=9.5,
            handlelength=0.8,
            handletextpad=0.3,
            labelspacing=0.3,
            borderaxespad=0.1,
        )
        plt.show()


def arrivals(run: dict, **wanted) -> tuple[list[float], list[float | None]]:
    """The learning rates of a setting, and the median updates to 95% at each; None for never.

    Example:
        >>> arrivals(recorded.results("scales"), optimizer="sgd", scale="1/sqrt(d)", d=64)
        ([0.1, 0.3, 1.0, 3.0, 10.0], [120.0, 50.0, 20.0, 10.0, None])
    """
    rows = [row for row in run["rows"] if all(row[name] == v for name, v in wanted.items())]
    return [row["rate"] for row in rows], [row["updates_to_goal"]["median"] for row in rows]
