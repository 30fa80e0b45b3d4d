"""The figures of 13b: the tiles, and what smaller caches cost a language model."""

import math

import matplotlib.pyplot as plt
import numpy as np

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, PINK, VERMILION
from attnbook.machines import CacheTiles
from attnbook.tables import Table

MODELS = (
    {"name": "Llama 3.1 8B", "layers": 32, "heads": 32, "groups": 8, "dim": 128, "rotary": 64,
     "latents": [512, 256, 1024], "own": "groups"},
    {"name": "DeepSeek-V3", "layers": 61, "heads": 128, "groups": 8, "dim": 128, "rotary": 64,
     "latents": [512, 256, 1024], "own": "latent"},
    {"name": "SmolLM2-135M", "layers": 30, "heads": 9, "groups": 3, "dim": 64, "rotary": 0,
     "latents": [192, 96, 48], "own": "groups"},
)  # fmt: skip
"""Sizes: of the first and the last as their configurations have them, of DeepSeek-V3 too, but for
the groups, which it does not have."""

NAMES = {"three": ("groups", 0), "one": ("one", 0)}
"""The measured forms, as the tiles call them; the others are latents of a size."""

STYLES = {
    "three": ("its 3 groups", BLUE, "o"),
    "latent 192": ("latent of 192", GREEN, "^"),
    "latent 96": ("latent of 96", VERMILION, "s"),
    "latent 48": ("latent\nof 48", PINK, "v"),
    "one": ("mean of groups", "#666666", "D"),
}

PLACES = {
    ("three", 4): (8, 3), ("three", 2): (8, 4),
    ("latent 192", 4): (-8, -3), ("latent 192", 2): (8, 4),
}  # fmt: skip
"""Where a mark's bits stand from it, in points."""


def _measured() -> list[dict]:
    rows = []
    for row in recorded.results("smaller_caches")["rows"]:
        form, size = NAMES.get(row["form"]) or ("latent", int(row["form"].split()[1]))
        about = {"model": "SmolLM2-135M", "form": form, "latent": size, "bits": row["bits"]}
        found = {name: row[name]["median"] for name in ("keys", "values")}
        rows.append(about | found | {"loss": row["mean_loss"]})
    return rows


def tiles(**settings) -> CacheTiles:
    """The bytes of one token, with the recorded losses of SmolLM2."""
    return CacheTiles(MODELS, _measured(), **settings)


def losses() -> None:
    """Draw how far the perplexity of SmolLM2 rises above that of its own cache in 16 bits, against
    the bytes of a token, for each form in fewer and fewer bits."""
    rows = recorded.results("smaller_caches")["rows"]
    whole = next(r["mean_loss"] for r in rows if (r["form"], r["bits"]) == ("three", 16))
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(4.7, 3.4), layout="constrained")
        ax.set_yscale("symlog", linthresh=1, linscale=0.8)
        for form, (name, colour, marker) in STYLES.items():
            found = [row for row in rows if row["form"] == form]
            sizes = [row["bytes"] / 1024 for row in found]
            rise = [100 * math.expm1(row["mean_loss"] - whole) for row in found]
            ax.plot(sizes, rise, color=colour, marker=marker, label=name)
            at = -1 if form == "latent 48" else 0
            away = {"latent 48": (-7, 0), "three": (8, -11), "latent 192": (6, 7)}.get(form, (7, 0))
            side = "right" if form in ("latent 48", "three") else "left"
            ax.annotate(name, (sizes[at], rise[at]), away, textcoords="offset points",
                        va="center", ha=side, color=colour,
                        fontsize=10, linespacing=1)  # fmt: skip
            for size, value, row in zip(sizes, rise, found, strict=True):
                if place := PLACES.get((form, row["bits"])):
                    ax.annotate(f"{row['bits']} bits", (size, value), place,
                                textcoords="offset points", fontsize=10, color=colour,
                                ha={-1: "right", 1: "left"}[np.sign(place[0])],
                                va="center")  # fmt: skip
        ax.text(0.98, 0.69, "on each line, from\nright to left:\n16, 8, 4, 2 bits", fontsize=10,
                transform=ax.transAxes, ha="right", va="center", color="#555555")  # fmt: skip
        ax.set(xscale="log", xlabel="KiB a token, all layers", xlim=(0.15, 60), ylim=(-0.95, 3e5),
               ylabel="perplexity (log from +1%)")  # fmt: skip
        rises = [0, *(10**n for n in range(6))]
        ax.set_yticks(rises, [f"+{rise:,}%" if rise else "as it is" for rise in rises])
        ticks = [0.5, 1, 2, 4, 8, 16]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        figure.suptitle("Half the directions, or four bits: cheap;\nthe mean of the groups: ruin")
        plt.show()


def models() -> Table:
    """What a token leaves in the caches of a few models, in KiB of 16 bits."""
    rows = []
    for name, layers, numbers, how in (
        ("LLaMA 7B (2023)", 32, 2 * 32 * 128, "32 heads of 128"),
        ("Falcon 7B (2023)", 32, 2 * 64, "one head of 64, for 71 queries"),
        ("Llama 3.1 405B (2024)", 126, 2 * 8 * 128, "8 groups of 128"),
        ("DeepSeek-V3 (2024)", 61, 512 + 64, "a latent of 512, a turned key of 64"),
        ("Qwen3 235B (2025)", 94, 2 * 4 * 128, "4 groups of 128"),
    ):
        rows.append([name, how, str(layers), f"{2 * layers * numbers / 1024:.1f}"])
    return Table(["model", "a layer keeps", "layers", "KiB a token"], rows)
