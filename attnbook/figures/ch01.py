"""The figures of chapter 01: how long a word gets through one vector, and which of its letters."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import GREY, NAVY, PALE, RUST, SEA

BUDGETS, SOON = (500, 2000, 8000), 500
"""Updates of the model with one vector; and of the one that looks back, and where letters count."""

BLUES = (PALE, SEA, NAVY)


def row(task: str, model: str, steps: int) -> dict:
    """What was measured of a model at its usual rate.

    Example:
        >>> row("reverse", "fixed", 500)["width"]
        64
    """
    wanted = (task, model, steps, 0.004)
    (found,) = (
        one
        for one in recorded.results("bottleneck")["rows"]
        if (one["task"], one["model"], one["steps"], one["rate"]) == wanted
    )
    return found


def by_length(longest: int = 12) -> None:
    """Draw exact answers by the length of the word: a line a budget, and one for looking back."""
    lines = [(f"one vector, {steps:,} updates", row("reverse", "fixed", steps), colour, 1.8)
             for steps, colour in zip(BUDGETS, BLUES, strict=True)]  # fmt: skip
    look = row("reverse", "attention", SOON)
    lines.append((f"looks back, {SOON:,} updates", look, RUST, 3.2))
    lengths = range(1, longest + 1)
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
        for label, found, colour, wide in lines:
            exact = [found["by_length"][str(n)]["exact"] for n in lengths]
            middle, low, high = (
                [share[name] for share in exact] for name in ("median", "low", "high")
            )
            ax.plot(lengths, middle, color=colour, linewidth=wide, marker="o", ms=4, label=label)
            ax.fill_between(lengths, low, high, color=colour, alpha=0.2)
        ax.axvline(recorded.results("bottleneck")["trained_to"], color=GREY, ls="--", lw=1)
        ax.set(xlabel="letters in the word (dashed: longest in training)", ylabel="exact answers")
        ax.set_title("One vector gets there with more training;\nlooking back gets there at once")
        figure.legend(loc="outside lower center", ncols=2)
        plt.show()


def survivors() -> None:
    """Draw the share of answers in which each letter is still there, for two orders of writing."""
    orders = {"reverse": "backwards", "copy": "copied"}
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(2, 1, figsize=(6.4, 2.5), layout="constrained")
        for ax, (task, order) in zip(axes, orders.items(), strict=True):
            kept = [share["median"] for share in row(task, "fixed", SOON)["by_place"]["aligned"]]
            ax.imshow([kept], cmap="cividis", vmin=0, vmax=1, aspect="auto")
            for place, share in enumerate(kept):
                colour = "white" if share < 0.5 else "black"
                ax.text(place, 0, f"{share:.0%}", ha="center", va="center", color=colour)
            ax.set_yticks([0], [order])
            ax.set_xticks(range(len(kept)) if task == "copy" else [])
            ax.tick_params(length=0)
            ax.grid(visible=False)
        axes[1].set_xlabel("letter of the word, in the order of reading")
        figure.suptitle("What survives is what is written first, wherever it was read")
        plt.show()
