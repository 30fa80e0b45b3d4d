"""The figure of chapter 02: what one look back is worth, by the length of the list."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import GREY, NAVY, PALE, RUST, SEA

BUDGETS, SOON = (500, 2000, 8000), 500
BLUES = (PALE, SEA, NAVY)


def row(model: str, updates: int, width: int = 32) -> dict:
    """What was measured of a model at the higher of its rates.

    Example:
        >>> row("lookup", 500)["accuracy"]["8"]["median"]
        1.0
    """
    wanted = (model, width, updates, 0.005)
    (found,) = (
        one
        for one in recorded.results("looking_back")["rows"]
        if (one["model"], one["width"], one["updates"], one["rate"]) == wanted
    )
    return found


def by_list() -> None:
    """Draw right answers by the number of pairs: a line a budget, and one for the lookup."""
    lines = [(f"last state, {updates:,} updates", row("last state", updates), colour, 1.8)
             for updates, colour in zip(BUDGETS, BLUES, strict=True)]  # fmt: skip
    lines.append((f"looks back, {SOON:,} updates", row("lookup", SOON), RUST, 3.2))
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 3.7), layout="constrained")
        for label, found, colour, wide in lines:
            pairs, shares = list(found["accuracy"]), list(found["accuracy"].values())
            middle, low, high = (
                [one[name] for one in shares] for name in ("median", "low", "high")
            )
            ax.plot(pairs, middle, color=colour, linewidth=wide, marker="o", ms=4, label=label)
            ax.fill_between(pairs, low, high, color=colour, alpha=0.2)
        # The number of a pair drawn blindly: that of the pair asked for, or the same by chance.
        ax.plot(pairs, [1 / int(n) + (1 - 1 / int(n)) / 10 for n in pairs], GREY, ls=":", lw=1)
        ax.set(xlabel="pairs on the list (dotted: a blind pick)", ylabel="right answers")
        ax.set_ylim(0, 1.05)
        ax.set_title("The last state gains with training;\none look back has it all at once")
        figure.legend(loc="outside lower center", ncols=2)
        plt.show()
