"""The figures of 13b: the tiles, and what smaller caches cost a language model."""

import math

import matplotlib.pyplot as plt
import numpy as np

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, PINK, VERMILION
from attnbook.machines import CacheTiles

MODEL = {"name": "SmolLM2-135M", "layers": 30, "heads": 9, "groups": 3, "dim": 64}
"""Sizes, as its configuration has them."""

STYLES = {
    "three": ("its 3 groups", BLUE, "o"),
    "latent 192": ("latent of 192", GREEN, "^"),
    "latent 96": ("latent of 96", VERMILION, "s"),
    "latent 48": ("latent of 48", PINK, "v"),
    "one": ("mean of its groups", "#666666", "D"),
}

PLACES = {
    ("three", 16): (0, -12), ("three", 8): (-7, -3), ("three", 4): (7, 3), ("three", 2): (7, 2),
    ("latent 192", 4): (-7, -3), ("latent 192", 8): (-7, -3), ("latent 192", 2): (8, -6),
}  # fmt: skip
"""Where a mark's bits stand from it, in points."""


def named(form: str) -> str:
    """What the tiles call a measured form."""
    return "groups" if form == "three" else form.replace(" ", "-")


def tiles(**settings) -> CacheTiles:
    """The bytes of one token, with the recorded losses of SmolLM2."""
    measured = [
        {"form": named(row["form"]), "bits": row["bits"], "loss": row["mean_loss"]}
        | {name: row[name]["median"] for name in ("keys", "values")}
        for row in recorded.results("smaller_caches")["rows"]
    ]
    return CacheTiles(MODEL, measured, **settings)


def losses() -> None:
    """Draw how far the perplexity of SmolLM2 rises above that of its own cache in 16 bits, against
    the bytes of a token, for each form in fewer and fewer bits."""
    rows = recorded.results("smaller_caches")["rows"]
    whole = next(r["mean_loss"] for r in rows if (r["form"], r["bits"]) == ("three", 16))
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.4, 2.9), layout="constrained")
        ax.set_yscale("symlog", linthresh=1, linscale=0.8)
        for form, (name, colour, marker) in STYLES.items():
            found = [row for row in rows if row["form"] == form]
            sizes = [row["bytes"] / 1024 for row in found]
            rise = [100 * math.expm1(row["mean_loss"] - whole) for row in found]
            ax.plot(sizes, rise, color=colour, marker=marker, label=name)
            at, away, side = (-1, -8, "right") if form == "latent 48" else (0, 8, "left")
            ax.annotate(name, (sizes[at], rise[at]), (away, 0), textcoords="offset points",
                        va="center", ha=side, color=colour, fontsize=10)  # fmt: skip
            for size, value, row in zip(sizes, rise, found, strict=True):
                if place := PLACES.get((form, row["bits"])):
                    ax.annotate(f"{row['bits']} bits", (size, value), place,
                                textcoords="offset points", fontsize=10, color=colour,
                                ha={-1: "right", 0: "center", 1: "left"}[np.sign(place[0])],
                                va="center")  # fmt: skip
        ax.set(xscale="log", xlabel="KiB a token", xlim=(0.08, 110), ylim=(-1.5, 3e5),
               ylabel="rise of perplexity")  # fmt: skip
        rises = [0, *(10**n for n in range(6))]
        ax.set_yticks(rises, [f"+{rise:,}%" if rise else "as it was" for rise in rises])
        ticks = [0.5, 1, 2, 4, 8, 16]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        figure.suptitle(
            "Half the numbers: under 1%; four bits: 6 to 12%;\n"
            "two bits, or the mean of the groups: ruin"
        )
        plt.show()
