"""The figures of chapter 01: how long a word gets through one vector, and which of its letters."""

import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter

from attnbook import recorded
from attnbook.figures.colours import GREY, NAVY, PALE, RUST, SEA

BUDGETS, SOON = (500, 2000, 8000), 500
"""Updates of the model with one vector; and of the one that looks back, and where letters count."""

BLUES = (PALE, SEA, NAVY)
NAMED = (2.2, 0.45), (5.75, 0.45), (9.7, 0.45)
"""Where the name of each line with one vector begins."""


def row(task: str, model: str, steps: int) -> dict:
    """What was measured of a model at its best rate, by the longest words in training.

    Example:
        >>> row("reverse", "fixed", 500)["rate"]
        0.008
    """
    run, control = recorded.results("bottleneck"), recorded.results("every_step")
    rows = [*run["rows"], *control["rows"]]
    return max(
        (r for r in rows if (r["task"], r["model"], r["steps"]) == (task, model, steps)),
        key=lambda r: r["by_length"][str(run["trained_to"])]["exact"]["median"],
    )


def read(case: str, name: str) -> list[float]:
    """Median shares of eight letters right at their place, in the order of writing.

    Example:
        >>> len(read("copy", "given"))
        8
    """
    rows = recorded.results("read_longer")["rows"]
    return [share["median"] for row in rows if row["case"] == case for share in row[name]]


def by_length(longest: int = 12) -> None:
    """Draw exact answers by the length of the word: a line a budget, and one for looking back."""
    names = "one vector,\n500 updates", "2,000\nupdates", "one vector,\n8,000 updates"
    lines = [
        (name, row("reverse", "fixed", steps), colour, 1.8, at)
        for name, steps, colour, at in zip(names, BUDGETS, BLUES, NAMED, strict=True)
    ]
    look = row("reverse", "attention", SOON)
    lines.append((f"looks back, {SOON:,} updates", look, RUST, 3.2, (8.3, 0.93)))
    lengths, trained_to = range(1, longest + 1), recorded.results("bottleneck")["trained_to"]
    with plt.style.context("attnbook.style"):
        ax = plt.subplots(figsize=(6.1, 2.6), layout="constrained")[1]
        for label, found, colour, wide, at in lines:
            exact = [found["by_length"][str(n)]["exact"] for n in lengths]
            middle, low, high = (
                [share[name] for share in exact] for name in ("median", "low", "high")
            )
            ax.plot(lengths, middle, color=colour, linewidth=wide, marker="o", ms=4)
            ax.fill_between(lengths, low, high, color=colour, alpha=0.2)
            ax.text(*at, label, color=SEA if colour == PALE else colour, va="center", size=11)
        ax.axvline(trained_to, color=GREY, ls="--", lw=1)
        ax.text(trained_to + 0.3, 1.09, "longer than in training", color=GREY, va="center", size=11)
        ax.set(xlabel="letters in the word", ylabel="exact answers", ylim=(-0.05, 1.16))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.set_title("One vector learns slowly, looking back learns fast")
        plt.show()


def survivors() -> None:
    """Draw the share of answers in which each letter is right, for two orders of writing."""
    _tiles(
        {"written\nbackwards": read("reverse", "alone"), "copied": read("copy", "alone")},
        f"After {SOON} updates, the letters written first are right most often",
    )


def thread_kept() -> None:
    """Draw how often each letter is right alone, told those before, and after more training."""
    _tiles(
        {
            "by itself": read("reverse", "alone"),
            "told the\nletters so far": read("reverse", "given"),
            "told, decoder\ntrained on": read("reverse", "later given"),
            "told, both\ntrained on": read("both", "later given"),
        },
        "Much that looked lost is in the vector",
    )


def _tiles(rows: dict[str, list[float]], title: str) -> None:
    """A row of tiles for each name, a share on each tile."""
    with plt.style.context("attnbook.style"):
        size = 6.1, 0.6 + 0.5 * len(rows)
        figure, axes = plt.subplots(len(rows), 1, figsize=size, layout="constrained")
        for ax, (name, shares) in zip(axes, rows.items(), strict=True):
            ax.imshow([shares], cmap="cividis", vmin=0, vmax=1, aspect="auto")
            for place, share in enumerate(shares):
                colour = "white" if share < 0.5 else "black"
                ax.text(place, 0, f"{share:.0%}", ha="center", va="center", color=colour)
            ax.set_yticks([0], [name])
            places = range(len(shares)) if ax is axes[-1] else []
            ax.set_xticks(places, [place + 1 for place in places])
            ax.tick_params(length=0)
            ax.grid(visible=False)
        axes[-1].set_xlabel("letters in the order of writing; answers in which each is right")
        figure.suptitle(title)
        plt.show()
