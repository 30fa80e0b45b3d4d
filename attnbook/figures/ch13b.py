"""The figures of 13b: the tiles, and what smaller caches cost a language model."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, PINK, VERMILION
from attnbook.machines import CacheTiles
from attnbook.tables import Table

MODELS = (
    {"name": "Llama 3.1 8B", "layers": 32, "heads": 32, "groups": 8, "dim": 128, "rotary": 64,
     "latents": [512, 256, 1024]},
    {"name": "DeepSeek-V3", "layers": 61, "heads": 128, "groups": 8, "dim": 128, "rotary": 64,
     "latents": [512, 256, 1024]},
    {"name": "SmolLM2-135M", "layers": 30, "heads": 9, "groups": 3, "dim": 64, "rotary": 0,
     "latents": [192, 96, 48]},
)  # fmt: skip
"""Sizes: of the first and the last as their configurations have them, of DeepSeek-V3 too, but for
the groups, which it does not have."""

NAMES = {"three": ("groups", 0), "one": ("one", 0)}
"""The measured forms, as the tiles call them; the others are latents of a size."""

STYLES = {
    "three": ("its own 3 groups", BLUE, "o"),
    "one": ("the mean of them", "#666666", "D"),
    "latent 192": ("latent of 192", GREEN, "^"),
    "latent 96": ("latent of 96", VERMILION, "s"),
    "latent 48": ("latent of 48", PINK, "v"),
}


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
    """Draw the loss of SmolLM2 against the bytes of a token, for each form in fewer and fewer
    bits."""
    rows = recorded.results("smaller_caches")["rows"]
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
        for form, (name, colour, marker) in STYLES.items():
            found = [row for row in rows if row["form"] == form]
            sizes = [row["bytes"] / 1024 for row in found]
            loss = [row["mean_loss"] for row in found]
            ax.plot(sizes, loss, color=colour, marker=marker, label=name)
            if form == "three":
                for size, value, row in zip(sizes, loss, found, strict=True):
                    above = (0, 9 if row["bits"] != 4 else -15)
                    ax.annotate(f"{row['bits']} bits", (size, value), above,
                                textcoords="offset points", ha="center", fontsize=9)  # fmt: skip
        ax.set(xscale="log", xlabel="KiB a token, all layers", ylabel="nats per token")
        ticks = [0.5, 1, 2, 4, 8, 16]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.legend(fontsize=9)
        figure.suptitle("Half the directions, or four bits: nearly free; a mean of groups: ruin")
        plt.show()


def models() -> Table:
    """What a token leaves in the caches of a few models, in KiB of 16 bits."""
    rows = []
    for name, layers, numbers, how in (
        ("LLaMA 7B (2023)", 32, 2 * 32 * 128, "32 heads of 128"),
        ("Llama 3.1 8B (2024)", 32, 2 * 8 * 128, "8 groups of 128"),
        ("Llama 3.1 405B (2024)", 126, 2 * 8 * 128, "8 groups of 128"),
        ("SmolLM2-135M (2024)", 30, 2 * 3 * 64, "3 groups of 64"),
        ("DeepSeek-V3 (2024)", 61, 512 + 64, "a latent of 512, a turned key of 64"),
    ):
        rows.append([name, how, str(layers), f"{2 * layers * numbers / 1024:.1f}"])
    return Table(["model", "a layer keeps", "layers", "KiB a token"], rows)
