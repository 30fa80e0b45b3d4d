"""The figures and tables of page 15b: rows that close in training, and words that become alike."""

from collections.abc import Callable
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.patches import Rectangle

import attnlab
from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, GREY, VERMILION
from attnlab.metrics import collapse

SENTENCE = "The animal didn't cross the street because it was too tired."
CASES = {
    "all high": ("high", VERMILION),
    "all high, queries\nand keys low": ("queries and keys low", BLUE),
    "all low, queries\nand keys high": ("queries and keys high", VERMILION),
    "all high,\nafter a warm-up": ("warm-up", BLUE),
    "all high, QK-norm": ("QK-norm", BLUE),
    "all low": ("low", GREY),
}
"""The cases of `collapse` as the figure names them from its top, and their colours."""

WAYS = {
    "the model as it is": ((True, True), BLUE, (6, 0.88)),
    "no feed-forward": ((True, False), GREY, (6, 0.42)),
    "no residuals": ((False, True), GREEN, (3.4, 0.42)),
    "attention alone": ((False, False), VERMILION, (1.8, 0.06)),
}
"""Whether residual connections and feed-forward layers are there; colour; place of the label."""

RESTING = (4, 2)
"""Layer and head of the figure: what its sinks supply is about the mean of all heads at rest."""

BEFORE = (0, 2)
"""A head whose rows are one-hot, and healthy."""

SIGNED = {"broad": (0, 3), "sharp": BEFORE, "at rest": RESTING}
"""The heads whose signs are printed."""


def trained() -> dict[str, list[dict]]:
    """The curve of every seed by case."""
    return {row["case"]: row["curves"] for row in recorded.results("collapse")["rows"]}


def collapse_seeds() -> None:
    """Draw every seed as a dot in its case's row: keys in use, and right answers, at two times."""
    found = trained()
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.0, 2.9), layout="constrained", sharey=True)
        for place, (case, colour) in enumerate(CASES.values()):
            for ax, what in zip(axes, ("keys", "accuracy"), strict=True):
                early = [p[what] for curve in found[case] for p in curve if p["update"] == 160]
                last = [curve[-1][what] for curve in found[case]]
                style = {"color": colour, "clip_on": False, "linestyle": ""}
                ax.plot(early, [place - 0.15] * len(early), "o", fillstyle="none", **style)
                ax.plot(last, [place + 0.15] * len(last), "o", **style)
        for ax in axes:
            ax.tick_params(labelsize=9)
            ax.minorticks_off()
        axes[0].set_yticks(range(len(CASES)), CASES)
        axes[0].set(xlim=(1, 9), xticks=[1, 3, 5, 7, 9], ylim=(len(CASES) - 0.5, -0.5))
        axes[0].set_title("keys in use, of 9", fontsize=10)
        axes[1].set(xlim=(0, 1), xticks=[0, 0.5, 1])
        axes[1].set_title("right answers", fontsize=10)
        figure.supxlabel("each dot a seed: open after 160 updates, full at the end", fontsize=10)
        figure.suptitle("Fast queries and keys close the rows", fontsize=11)
        plt.show()


def collapse_table() -> None:
    """Print the numbers of that figure."""
    found = recorded.results("collapse")
    print(recorded.origin(found).replace(" (", "\n(", 1))
    print("median of five seeds (smallest to largest)")
    print(f"{'':24}updates         right answers           keys in use")
    for row in found["rows"]:
        for at in row["at"]:
            right, keys = (f"{recorded.interval(at[what]):.2f}" for what in ("accuracy", "keys"))
            print(f"{row['case']:24}{at['steps']:7}{right:>22}{keys:>22}")
    print("rates: low {low}, high {high}".format(**found["rates"]))


def closed() -> tuple[float, ...]:
    """The four signs of the run at the high rate that has learned least: medians over its layers
    and heads."""
    (row,) = (row for row in recorded.results("collapse")["rows"] if row["case"] == "high")
    right = [curve[-1]["accuracy"] for curve in row["curves"]]
    layers = row["signs"][right.index(min(right))]
    return tuple(
        float(np.median([layer[name] for layer in layers]))
        for name in ("keys", "column", "value", "difference")
    )


@cache
def _reader() -> attnlab.pretrained.Reader:
    """The published model that the page looks at."""
    return attnlab.pretrained.load("all-MiniLM-L6-v2")


@cache
@torch.no_grad()
def states(residual: bool, feed_forward: bool, text: str = SENTENCE) -> tuple[torch.Tensor, ...]:
    """The tokens' states in the published model, before its first layer and after each, (1, L, E),
    without some of its parts. The norm after each part that is there stays."""
    reader = _reader()
    x = reader.read(text).states[:1]  # (1, L, E)
    found = [x]
    for layer in reader.model.encoder.layers:
        attended = layer.attention(x).output  # (1, L, E)
        x = layer.norm1(x + attended if residual else attended)
        if feed_forward:
            fed = layer.feed_forward(x)
            x = layer.norm2(x + fed if residual else fed)
        found.append(x)
    return tuple(found)


def spread(*parts_and_text) -> tuple[float, ...]:
    """How different those states are from one another, of the arguments of `states`."""
    return tuple(collapse.rank_one_residual(x[0]).item() for x in states(*parts_and_text))


def rank() -> None:
    """Draw how different the words are after each layer, with and without residuals and more."""
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.6, 2.6), layout="constrained")
        for name, (parts, colour, at) in WAYS.items():
            ax.plot(range(7), spread(*parts), "o-", color=colour)
            ax.text(*at, name, color=colour, ha="right", fontsize=10)
        ax.set(xlabel="after layer", ylabel="difference between words", ylim=(0, 1))
        ax.set_title("Residuals keep words apart;\nattention alone makes them the same")
        plt.show()


@torch.no_grad()
def flat() -> tuple[float, int]:
    """The fewest keys in use in any row of the layers after the fourth, of attention alone; and of
    how many."""
    layers = _reader().model.encoder.layers
    entering = zip(layers, states(False, False), strict=False)
    maps = [layer.attention(x, need_weights=True).weights for layer, x in entering]
    keys = collapse.entropy(torch.cat(maps[4:])).exp()  # (2, H, L)
    return keys.min().item(), maps[0].shape[-1]


def rank_table() -> None:
    """Print what that figure shows after four layers, and how flat the maps are from there on."""
    print("difference between words after four layers")
    for name, (parts, *_) in WAYS.items():
        print(f"{name:20} {spread(*parts)[4]:.3f}")
    others = [first for first, _ in recorded.results("similar")["texts"][:100]]
    alike = sum(spread(False, False, text)[4] < 0.0005 for text in others)
    print(f"attention alone, other sentences: 0.000 in {alike} of {len(others)}")
    keys, tokens = flat()
    print(f"from then on, keys in use in each of its rows: {keys:.2f} of {tokens}")


@torch.no_grad()
def values(layer: int) -> torch.Tensor:
    """The values of each head in that layer of the published model, (H, L, D)."""
    reader = _reader()
    attention = reader.model.encoder.layers[layer].attention
    value = attention.in_proj(reader.read(SENTENCE).states[layer]).chunk(3, -1)[2]  # (L, E)
    return value.unflatten(-1, (attention.num_heads, -1)).transpose(0, 1)


@cache
def at_rest() -> tuple[torch.Tensor, torch.Tensor, list[str]]:
    """The weights of the head `RESTING` in each token's row, and what arrives there, |w v|, in mean
    lengths of a value; both (L, L), with the tokens."""
    layer, head = RESTING
    reading = _reader().read(SENTENCE)
    weights = reading.weights[layer, head]
    lengths = values(layer)[head].norm(dim=-1)
    return weights, weights * lengths / lengths.mean(), list(reading.tokens)


def signs_table(signs: Callable[..., tuple[torch.Tensor, ...]]) -> None:
    """Print what `signs` of (weights, values, states) says of three heads, and of a closed run."""
    reading = _reader().read(SENTENCE)
    print("            keys column value difference")
    for name, (layer, head) in SIGNED.items():
        *heads, words = signs(reading.weights[layer], values(layer), reading.states[layer])
        found = [one[head] for one in heads] + [words]
        print(f"{name:9}", *(f"{one:6.2f}" for one in found))
    print("closed   ", *(f"{one:6.2f}" for one in closed()), "(above, all high)")


def sink() -> None:
    """Draw a head at rest twice, in squares: what it looks at, and what reaches the words."""
    weights, arrived, tokens = at_rest()
    places = range(len(tokens))
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.0, 3.1), layout="constrained", sharey=True)
        for ax, shown, said in zip(
            axes,
            (weights, arrived),
            ("looks at [CLS]: {}", "arrives from it: {}"),
            strict=True,
        ):
            for (i, j), share in zip(np.ndindex(*shown.shape), shown.flatten(), strict=True):
                side = share.sqrt().item()
                ax.add_patch(
                    Rectangle((j - side / 2, i - side / 2), side, side, color=BLUE, linewidth=0)
                )
            ax.set_title(said.format(f"{shown[:, 0].mean():.2f}"), fontsize=10)
            ax.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(len(tokens) - 0.4, -0.6), aspect="equal")
            ax.xaxis.tick_top()
            ax.set_xticks(places, tokens, rotation=90)
            ax.set_yticks(places, tokens)
            ax.tick_params(length=0, labelsize=9)
            for side in ax.spines.values():
                side.set(visible=True, alpha=0.4)
        figure.supxlabel("areas: weight; weight × length of the value (mean 1)", fontsize=10)
        figure.suptitle("A head at rest looks at [CLS], and gets little from it", fontsize=11)
        plt.show()


def rest_table() -> None:
    """Print how much of the weight of resting heads goes to the sinks, and what these supply."""
    run = recorded.results("similar")
    resting = [row for row in run["rows"] if row["cls"] + row["sep"] > 0.5]
    weight = sum(row["cls"] + row["sep"] for row in resting) / len(resting)
    received = sum(row["received"] for row in resting) / len(resting)
    print(recorded.origin(run).replace(" (", "\n(", 1))
    among = f"{len(resting)} of {len(run['rows'])} heads"
    print(f"in {among} [CLS] and [SEP] together get {weight:.2f} of the weight")
    print(f"and supply {received:.2f} of what such a head receives, by length")
    (ours,) = (row for row in resting if (row["layer"], row["head"]) == RESTING)
    print(f"layer {RESTING[0]}, head {RESTING[1]}: {ours['cls'] + ours['sep']:.2f} of the weight,")
    print(f"{ours['received']:.2f} of what it receives")
    least, *_, most = sorted(row["received"] for row in resting)
    print(f"of all these heads: {least:.2f} to {most:.2f}")
    weights, arrived, _ = at_rest()
    print(f"on the sentence of the figure [CLS] has {weights[:, 0].mean():.2f} of the weight")
    print(f"and supplies {arrived[:, 0].mean():.2f} of {arrived.sum(1).mean():.2f} mean values")
