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
CURVES = {
    "high rate": (VERMILION, (420, 0.3), (560, 0.08)),
    "QK-norm": (BLUE, (130, 7.0), (10, 0.86)),
    "low rate": (GREY, (420, 3.6), (10, 0.72)),
}
"""What is drawn of `collapse`, where each name stands in the two panels."""

CLOSED = {4: ("from 2", (95, 1.05)), 8: ("from 1.2", (560, 1.05))}
"""What is drawn of `started_closed` by its factor: keys at the start, and where that stands."""

WAYS = {
    "the model as it is": ((True, True), BLUE, (6, 0.88)),
    "no feed-forward": ((True, False), GREY, (6, 0.42)),
    "no residuals": ((False, True), GREEN, (3.35, 0.34)),
    "attention alone": ((False, False), VERMILION, (1.8, 0.06)),
}
"""Whether residual connections and feed-forward layers are there; colour; place of the label."""

RESTING = (4, 2)
"""Layer and head of the figure: what its sinks supply is about the mean of all heads at rest."""

BEFORE = (0, 2)
"""A head whose rows are one-hot, and healthy."""

SIGNED = {"broad": (0, 3), "sharp": BEFORE, "at rest": RESTING}
"""The heads whose signs are printed."""


def _trained() -> list[tuple[str, dict]]:
    """Each setting with its name: all at the high rate, and no remedy at the low one."""
    found = recorded.results("collapse")
    low, high = found["rates"]["low"], found["rates"]["high"]
    named = {row["case"]: row for row in found["rows"] if row["rate"] == high}
    (slow,) = (row for row in found["rows"] if (row["case"], row["rate"]) == ("no remedy", low))
    return [("high rate" if case == "no remedy" else case, row) for case, row in named.items()] + [
        ("low rate", slow)
    ]


def collapse_curves() -> None:
    """Draw keys in use and right answers over the updates: each seed thin, the medians thick, and
    dotted the medians of runs that started closed."""
    rows = dict(_trained())
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.0, 2.9), layout="constrained")
        for name, (colour, *labels) in CURVES.items():
            curves = rows[name]["curves"]
            updates = [point["update"] for point in curves[0]][1:]
            style = {"color": colour, "linestyle": "--" if name == "low rate" else "-"}
            for ax, what, at in zip(axes, ("keys", "accuracy"), labels, strict=True):
                seeds = [[point[what] for point in curve][1:] for curve in curves]
                for seed in seeds:
                    ax.plot(updates, seed, linewidth=0.7, alpha=0.45, **style)
                ax.plot(updates, torch.tensor(seeds).median(0).values, **style)
                ax.text(*at, name, color=colour, fontsize=10)
        for row in recorded.results("started_closed")["rows"]:
            updates = [point["update"] for point in row["curves"][0]][1:]
            for ax, what in zip(axes, ("keys", "accuracy"), strict=True):
                seeds = [[point[what] for point in curve][1:] for curve in row["curves"]]
                ax.plot(updates, torch.tensor(seeds).median(0).values, ":", color=GREY)
            said, at = CLOSED[row["factor"]]
            axes[1].text(*at, said, color=GREY, fontsize=10)
        axes[0].text(10, 0.3, "closed by hand", color=GREY, fontsize=10)
        for ax in axes:
            ax.set(xlabel="update", xscale="log")
            ax.set_xticks([10, 40, 160, 640, 2560], ["10", "40", "160", "640", "2,560"])
            ax.tick_params(labelsize=9)
            ax.minorticks_off()
        axes[0].set_ylim(0, 9.2)
        axes[0].set_title("keys in use, of 9", fontsize=10)
        axes[1].set_ylim(0, 1.15)
        axes[1].set_yticks([0, 0.5, 1])
        axes[1].set_title("right answers", fontsize=10)
        figure.suptitle("At too high a rate rows close, and learn late", fontsize=11)
        plt.show()


def collapse_table() -> None:
    """Print the numbers of that figure, and of the settings that it leaves out."""
    found = recorded.results("collapse")
    print(recorded.origin(found).replace(" (", "\n(", 1))
    print("right answers: median of three seeds (smallest to largest)")
    budgets = sorted({at["steps"] for _, row in _trained() for at in row["at"]})
    print(f"  {'updates':16}" + "".join(f"{budget:>20,}" for budget in budgets))
    for name, row in _trained():
        right = {at["steps"]: at["accuracy"] for at in row["at"]}
        told = [f"{recorded.interval(right[n]):.2f}" for n in budgets if n in right]
        print(f"  {name:16}" + "".join(f"{one:>20}" for one in told))
    print("rates: low {low}, high {high}".format(**found["rates"]))
    print("keys in use, at the last of these updates:")
    for name, row in _trained():
        print(f"  {name:16}{row['at'][-1]['keys']['median']:20.1f}")


def closed_table() -> None:
    """Print what becomes of runs whose rows are closed at the start, at the low rate."""
    found = recorded.results("started_closed")
    print(recorded.origin(found).replace(" (", "\n(", 1))
    print(f"rate {found['rate']}, queries and keys larger from the start;")
    print("right answers, and keys in use: median of three seeds (smallest to largest)")
    for row in found["rows"]:
        starts = sorted(curve[0]["keys"] for curve in row["curves"])
        print(f"× {row['factor']}, {starts[1]:.1f} keys in use before the first update")
        for at in row["at"]:
            right, keys = (f"{recorded.interval(at[what]):.2f}" for what in ("accuracy", "keys"))
            print(f"  {at['steps']:5,} updates  {right:>20}{keys:>20}")


@cache
def _reader() -> attnlab.pretrained.Reader:
    """The published model that the page looks at."""
    return attnlab.pretrained.load("all-MiniLM-L6-v2")


@cache
@torch.no_grad()
def states(residual: bool, feed_forward: bool, text: str = SENTENCE) -> tuple[torch.Tensor, ...]:
    """The tokens' states in the published model, before its first layer and after each, (1, L, E),
    without some of its parts."""
    reader = _reader()
    x = reader.read(text).states[:1]  # (1, L, E)
    found = [x]
    for layer in reader.model.encoder.layers:
        attended = layer.attention(x).output  # (1, L, E)
        x = layer.norm1(x + attended) if residual else attended
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
        ax.set_title("Residuals keep words apart;\nattention alone makes them the same by layer 3")
        plt.show()


@torch.no_grad()
def flat() -> tuple[float, int]:
    """The fewest keys in use in any row of the layers after the third, of attention alone; and of
    how many."""
    layers = _reader().model.encoder.layers
    entering = zip(layers, states(False, False), strict=False)
    maps = [layer.attention(x, need_weights=True).weights for layer, x in entering]
    keys = collapse.entropy(torch.cat(maps[3:])).exp()  # (3, H, L)
    return keys.min().item(), maps[0].shape[-1]


def rank_table() -> None:
    """Print what that figure shows after three layers, and how flat the maps are from there on."""
    print("difference between words after three layers")
    for name, (parts, *_) in WAYS.items():
        print(f"{name:20} {spread(*parts)[3]:.3f}")
    others = [first for first, _ in recorded.results("similar")["texts"][:100]]
    alike = sum(spread(False, False, text)[3] < 0.0005 for text in others)
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
    """The weights of the head `RESTING` in each token's row, and the shares of what that token
    receives, |w v|, by key; both (L, L), with the tokens."""
    layer, head = RESTING
    reading = _reader().read(SENTENCE)
    weights = reading.weights[layer, head]
    received = weights * values(layer)[head].norm(dim=-1)
    return weights, received / received.sum(-1, keepdim=True), list(reading.tokens)


def signs_table(signs: Callable[..., tuple[torch.Tensor, ...]]) -> None:
    """Print what `signs` of (weights, values, states) says of three heads on the sentence."""
    reading = _reader().read(SENTENCE)
    print("            keys column value difference")
    for name, (layer, head) in SIGNED.items():
        *heads, words = signs(reading.weights[layer], values(layer), reading.states[layer])
        found = [one[head] for one in heads] + [words]
        print(f"{name:9}", *(f"{one:6.2f}" for one in found))


def sink() -> None:
    """Draw a head at rest twice, in squares: what it looks at, and what reaches the words."""
    weights, shares, tokens = at_rest()
    places = range(len(tokens))
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.0, 3.1), layout="constrained", sharey=True)
        for ax, shown, said in zip(
            axes,
            (weights, shares),
            ("looks at [CLS]: {}", "gets from [CLS]: {}"),
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
        figure.supxlabel("area of a square: its share of the row", fontsize=10)
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
    (before,) = (row for row in run["rows"] if (row["layer"], row["head"]) == BEFORE)
    print(f"layer {BEFORE[0]}, head {BEFORE[1]}: {before['before']:.2f} on the token before")
    weights, shares, _ = at_rest()
    print(f"on the sentence of the figure [CLS] has {weights[:, 0].mean():.2f} of the weight")
    print(f"and supplies {shares[:, 0].mean():.2f}")
