"""The figures of chapter 02: what one look back is worth, and where it looks."""

import math

import matplotlib.pyplot as plt
import numpy as np

from attnbook import recorded
from attnbook.figures.colours import INK, NAVY, PALE, RUST, SEA
from attnkit.viz import palette

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


def unheard(pairs: int, numbers: int = 10) -> float:
    """How often the number most frequent on a list is right, for somebody who missed the name.

    Nobody who does not know which pair is asked for can do better. Exact, over all lists: the
    chance that no number comes more than m times is a coefficient of (1 + x + ... + x^m/m!)^10.

    Example:
        >>> [round(unheard(pairs), 3) for pairs in (1, 2, 4, 8)]
        [1.0, 0.55, 0.383, 0.3]
    """
    often = 0.0  # how often the most frequent number comes
    for most in range(pairs):
        once = np.polynomial.Polynomial([1 / math.factorial(k) for k in range(most + 1)])
        ways = (once**numbers).coef
        none_more = ways[pairs] * math.factorial(pairs) if pairs < len(ways) else 0.0
        often += 1 - none_more / numbers**pairs
    return float(often / pairs)


def by_list() -> None:
    """Draw right answers by the number of pairs: a line a budget, and one for the lookup."""
    lines = [(f"last state, {updates:,} updates", row("last state", updates), colour, 1.8, mark)
             for updates, colour, mark in zip(BUDGETS, BLUES, "so^", strict=True)]  # fmt: skip
    lines.append((f"looks back, {SOON:,} updates", row("lookup", SOON), RUST, 3.2, "D"))
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 3.7), layout="constrained")
        for label, found, colour, wide, mark in lines:
            pairs, shares = list(found["accuracy"]), list(found["accuracy"].values())
            middle, low, high = (
                [one[name] for one in shares] for name in ("median", "low", "high")
            )
            ax.plot(pairs, middle, color=colour, linewidth=wide, marker=mark, ms=5, label=label)
            ax.fill_between(pairs, low, high, color=colour, alpha=0.2)
        alone = [unheard(int(n)) for n in pairs]
        ax.plot(pairs, alone, INK, ls=":", lw=2, label="best without hearing the name")
        ax.set(xlabel="pairs on the list (bands: range of three seeds)", ylabel="right answers")
        ax.set_ylim(0, 1.05)
        ax.set_title("The last state gains with training;\none look back has it all at once")
        figure.legend(loc="outside lower center", ncols=2)
        plt.show()


def asked(model: str) -> dict:
    """What was measured of a model that was asked for every name of a list, and the first list.

    Example:
        >>> asked("last state")["list"]["answers"]
        [5, 5, 5, 5, 5, 5, 5, 5]
    """
    (found,) = (one for one in recorded.results("asked_for")["rows"] if one["model"] == model)
    return found


def looks() -> None:
    """Draw the weights of the eight questions to one list, and what each model answers."""
    back, last = (asked(model)["list"] for model in ("lookup", "last state"))
    names = [chr(ord("A") + name) for name in back["names"]]
    pairs = [f"{name} {number}" for name, number in zip(names, back["numbers"], strict=True)]
    places = range(len(pairs))
    with plt.style.context("attnbook.style"):
        figure, (ax, says) = plt.subplots(
            1, 2, figsize=(6.1, 3.1), width_ratios=[3, 1.1], layout="constrained"
        )
        drawn = ax.imshow(back["weights"], cmap=palette.weights_map, vmin=0, vmax=1, aspect="auto")
        ax.set_xticks(places, pairs)
        ax.set_yticks(places, [f"{name}?" for name in names])
        ax.set(xlabel="pairs on the list", ylabel="the name asked for")
        ax.grid(visible=False)
        figure.colorbar(drawn, ax=ax, label="weight", fraction=0.05)
        says.set(xlim=(0, 2), ylim=ax.get_ylim())
        says.axis("off")
        for x, head, found, colour in ((0.5, "looks\nback", back, RUST),
                                       (1.5, "last\nstate", last, NAVY)):  # fmt: skip
            says.text(x, -0.7, head, ha="center", va="bottom", color=colour, fontsize=10)
            for y, answer, right in zip(places, found["answers"], back["numbers"], strict=True):
                weight = "bold" if answer == right else "normal"
                says.text(x, y, answer, ha="center", va="center", color=colour, weight=weight)
        figure.suptitle("After 500 updates, looking back finds the pair asked for;\n"
                        "the last state says 5 to every name")  # fmt: skip
        plt.show()
