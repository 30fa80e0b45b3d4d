"""The figures and tables of page 15b: rows that close in training, and words that become alike."""

from functools import cache

import matplotlib.pyplot as plt
import torch

import attnlab
from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, GREY, VERMILION
from attnkit.viz import heatmap
from attnlab.metrics import collapse

SENTENCE = "The animal didn't cross the street because it was too tired."
CURVES = {
    "high rate": (VERMILION, (14, 1.6), (640, 0.12)),
    "QK-norm": (BLUE, (160, 7.1), (12, 0.86)),
    "low rate": (GREY, (640, 3.6), (12, 0.72)),
}
"""What is drawn of `collapse`, where each name stands in the two panels."""

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
    """Draw keys in use and right answers over the updates: each seed thin, the medians thick."""
    rows = dict(_trained())
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(5.6, 2.9), layout="constrained")
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
        for ax in axes:
            ax.set(xlabel="update", xscale="log")
            ax.set_xticks([10, 40, 160, 640, 2560], ["10", "40", "160", "640", "2,560"])
            ax.tick_params(labelsize=9)
            ax.minorticks_off()
        axes[0].set_ylim(0.8, 9.2)
        axes[0].set_title("keys in use, of 9", fontsize=10)
        axes[1].set_ylim(0, 1.02)
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
@torch.no_grad()
def spread(residual: bool, feed_forward: bool, text: str = SENTENCE) -> tuple[float, ...]:
    """How different the tokens' states are in the published model, before its first layer and
    after each, without some of its parts."""
    reader = attnlab.pretrained.load("all-MiniLM-L6-v2")
    x = reader.read(text).states[:1]  # (1, L, E)
    found = [collapse.rank_one_residual(x[0]).item()]
    for layer in reader.model.encoder.layers:
        attended = layer.attention(x).output  # (1, L, E)
        x = layer.norm1(x + attended) if residual else attended
        if feed_forward:
            fed = layer.feed_forward(x)
            x = layer.norm2(x + fed if residual else fed)
        found.append(collapse.rank_one_residual(x[0]).item())
    return tuple(found)


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


def rank_table() -> None:
    """Print what that figure shows after three layers."""
    print("difference between words after three layers")
    for name, (parts, *_) in WAYS.items():
        print(f"{name:20} {spread(*parts)[3]:.3f}")
    others = [first for first, _ in recorded.results("similar")["texts"][:100]]
    alike = sum(spread(False, False, text)[3] < 0.0005 for text in others)
    print(f"attention alone, other sentences: 0.000 in {alike} of {len(others)}")


@cache
@torch.no_grad()
def at_rest() -> tuple[torch.Tensor, torch.Tensor, list[str]]:
    """The weights of the head `RESTING` in each word's row, and the shares of what that word
    receives, |w v|, by key; both (words, L), with the tokens."""
    number, head = RESTING
    reader = attnlab.pretrained.load("all-MiniLM-L6-v2")
    reading = reader.read(SENTENCE)
    attention = reader.model.encoder.layers[number].attention
    value = attention.in_proj(reading.states[number]).chunk(3, -1)[2]  # (L, E)
    lengths = value.unflatten(-1, (attention.num_heads, -1))[:, head].norm(dim=-1)  # (L,)
    weights = reading.weights[number, head, 1:-1]  # without the rows of [CLS] and [SEP]
    received = weights * lengths
    return weights, received / received.sum(-1, keepdim=True), list(reading.tokens)


def sink() -> None:
    """Draw a head at rest twice: what it looks at, and what reaches the words."""
    weights, shares, tokens = at_rest()
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.0, 3.4), layout="constrained", sharey=True)
        for ax, shown, said in zip(
            axes,
            (weights, shares),
            ("where it looks: {} on [CLS]", "what arrives: {} from [CLS]"),
            strict=True,
        ):
            heatmap(shown, ax=ax, vmax=1.0, key_tokens=tokens, query_tokens=tokens[1:-1])
            ax.set_title(said.format(f"{shown[:, 0].mean():.2f}"), fontsize=10)
            ax.tick_params(labelsize=8)
            plt.setp(
                ax.get_xticklabels(), rotation=90, ha="center", va="bottom", rotation_mode="default"
            )
        axes[0].images[0].colorbar.remove()
        axes[1].images[0].colorbar.set_label("share of a row", fontsize=9)
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
