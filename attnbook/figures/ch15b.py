"""The figures and tables of page 15b: rows that close in training, and words that become alike."""

from functools import cache

import matplotlib.pyplot as plt
import torch

import attnlab
from attnbook import recorded
from attnlab.metrics import collapse

SENTENCE = "The animal didn't cross the street because it was too tired."
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#555555")
WAYS = {
    "the model as it is": ((True, True), COLOURS[0], (6, 0.85)),
    "no feed-forward": ((True, False), COLOURS[5], (6, 0.48)),
    "no residuals": ((False, True), COLOURS[2], (3.35, 0.34)),
    "attention alone": ((False, False), COLOURS[1], (1.8, 0.06)),
}
"""Whether residual connections and feed-forward layers are there; colour; place of the label."""


def collapse_curves() -> None:
    """Draw effective keys and right answers over the updates, medians of five seeds."""
    trained = recorded.results("collapse")
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
        for row, colour in zip(trained["rows"], COLOURS, strict=True):
            updates = [point["update"] for point in row["curves"][0]]
            for ax, what in zip(axes, ("keys", "accuracy"), strict=True):
                seeds = [[point[what] for point in curve] for curve in row["curves"]]
                ax.plot(updates, torch.tensor(seeds).median(0).values, color=colour,
                        label=row["case"] if ax is axes[0] else None)  # fmt: skip
        axes[0].set(xlabel="update", ylim=(0.8, 9.2))
        axes[0].set_title("effective keys, of 9", fontsize=10)
        axes[1].set(xlabel="update", ylim=(0, 1.02))
        axes[1].set_title("right answers", fontsize=10)
        figure.legend(loc="outside lower center", ncols=3, fontsize=10)
        figure.suptitle("In 160 updates at too high a rate, QK-norm and the penalty learn")
        plt.show()


def collapse_table() -> None:
    """Print the numbers of that figure."""
    trained = recorded.results("collapse")
    print(recorded.origin(trained).replace(" (", "\n(", 1))
    print(f"right answers after {trained['steps']} updates: median and range of the seeds")
    for row in trained["rows"]:
        right = row["accuracy"]
        print(f"  {row['case']:16} right {right['median']:.2f} "
              f"({right['low']:.2f} to {right['high']:.2f})")  # fmt: skip
    print("rates: low {low}, high {high}".format(**trained["rates"]))
    keys = {row["case"]: row["keys"]["median"] for row in trained["rows"]}
    print("effective keys a row:")
    print(
        f"  high rate {keys['high rate']:.1f}   QK-norm {keys['QK-norm']:.1f}   "
        f"low rate {keys['low rate']:.1f}"
    )


@cache
@torch.no_grad()
def spread(residual: bool, feed_forward: bool) -> tuple[float, ...]:
    """How different the tokens' states are in the published model, before its first layer and
    after each, without some of its parts."""
    reader = attnlab.pretrained.load("all-MiniLM-L6-v2")
    x = reader.read(SENTENCE).states[:1]  # (1, L, E)
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
        _, ax = plt.subplots(figsize=(5.6, 2.9), layout="constrained")
        for name, (parts, colour, at) in WAYS.items():
            ax.plot(range(7), spread(*parts), "o-", color=colour)
            ax.text(*at, name, color=colour, ha="right", fontsize=10)
        ax.set(xlabel="after layer", ylabel="difference between words", ylim=(0, 1))
        ax.set_title("Residuals keep words apart;\nattention alone makes them one by layer 3")
        plt.show()


def rank_table() -> None:
    """Print what that figure shows after three layers."""
    print("difference between words after three layers")
    for name, (parts, *_) in WAYS.items():
        print(f"{name:20} {spread(*parts)[3]:.3f}")


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
