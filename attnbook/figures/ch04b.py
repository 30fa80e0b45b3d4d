"""The figures of page 04b: how far input feeding reaches, and a map that is one word late."""

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.ch04 import STYLE, exact
from attnkit.viz import heatmap
from attnlab import tasks
from attnlab.decoding import predictions
from attnlab.metrics.intervals import median_interval

MODELS = ("additive", "dot", "concat", "dot, input feeding")
"""Those that were trained at one rate; general had another in these runs."""

ENGLISH = ("the", "small", "black", "cat")


def _runs(task: str, model: str) -> list[dict]:
    rows = recorded.results(f"by_length_{task}")["rows"]
    return next(row["runs"] for row in rows if row["model"] == model)


def beyond() -> None:
    """Exact answers by length, on `reverse`, to twice the lengths of training."""
    longest = recorded.results("by_length_reverse")["trained_to"]
    lengths = range(2, 2 * longest + 1)
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.4, 3.3), layout="constrained")
        for model in MODELS:
            runs, style = _runs("reverse", model), STYLE[model]
            found = [
                median_interval([exact(run, range(n, n + 1)) for run in runs]) for n in lengths
            ]
            middle, low, high = zip(*found, strict=True)
            ax.plot(lengths, middle, markersize=5, label=model, **style)
            ax.fill_between(lengths, low, high, color=style["color"], alpha=0.15)
        ax.axvline(longest + 0.5, color="grey", linestyle="--")
        ax.set(ylim=(-0.02, 1.05), ylabel="exact answers", xticks=range(2, 21, 3))
        ax.set_xlabel("symbols to turn round (dashed: the longest in training)")
        ax.legend(loc="lower left", fontsize=10)
        figure.suptitle("reverse, 1,200 updates at one rate: input feeding reaches further")
        plt.show()


def beyond_table() -> None:
    """Print exact answers beyond the lengths of training, and as long as in training."""
    for task in ("reverse", "toy_french", "dates"):
        run = recorded.results(f"by_length_{task}")
        longest = run["trained_to"]
        print(recorded.origin(run).replace(" (", "\n  (", 1))
        of_ours = [side for side in run["training"] if side["model"] in MODELS]
        (rate,), (steps,) = (
            {value for side in of_ours for value in found(side)}
            for found in (
                lambda side: side["rates"],
                lambda side: [budget["updates"] for budget in side["budgets"]],
            )
        )
        sizes = sorted(side["parameters"] for side in of_ours)
        print(f"{task}: exact answers, 5 seeds (smallest to largest), {steps:,} updates")
        print(f"  at a rate of {rate:g}, {sizes[0]:,} to {sizes[-1]:,} numbers")
        print(f"  {'':20}{f'up to {longest}':21}{longest + 1} to {2 * longest}")
        for model in MODELS:
            near, far = (
                median_interval([exact(one, lengths) for one in _runs(task, model)])
                for lengths in (range(1, longest + 1), range(longest + 1, 2 * longest + 1))
            )
            print(f"  {model:20}{f'{near:.2f}':21}{far:.2f}")


def late() -> None:
    """The map of the small black cat, as the model made it and one word late."""
    weights, pair = phrase()
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.3), layout="constrained")
        for ax, by, title in zip(
            axes, (0, 1), ("as it looked", "stored one word late"), strict=True
        ):
            rows = weights.roll(by, 0)
            rows[:by] = 0
            words = {"query_tokens": [*pair.target, "<end>"], "key_tokens": list(pair.source)}
            heatmap(rows, vmax=1.0, ax=ax, **words)
            ax.set_title(title, fontsize=10, pad=10)
            for row, column in pair.sure:
                ax.add_patch(plt.Rectangle(
                    (column - 0.46, row - 0.46), 0.92, 0.92, fill=False, ec="#D55E00", lw=1.6,
                    zorder=4,
                ))  # fmt: skip
        axes[0].images[0].colorbar.remove()
        figure.suptitle("The same weights, one word late: no row meets its box")
        plt.show()


def phrase() -> tuple[torch.Tensor, tasks.Pair]:
    """The weights (5, 4) of a trained Luong decoder that is told the right French, and the pair."""
    model, *vocabs, _ = recorded.model("toy_french_dot")
    (pair,) = (pair for pair in tasks.noun_phrases() if pair.source == ENGLISH)
    with torch.no_grad():
        weights = predictions.teacher_forced_weights(model, tasks.collate([pair], *vocabs))
    return weights[0], pair
