"""The figures of chapter 01: how long a word gets through one vector, and which of its letters."""

from functools import cache

import matplotlib.pyplot as plt
import torch
from matplotlib.ticker import PercentFormatter

from attnbook import recorded
from attnbook.figures.colours import GREY, NAVY, PALE, RUST, SEA
from attnlab import tasks
from attnlab.tasks.vocab import SPECIAL

BUDGETS, SOON = (500, 2000, 8000), 500
"""Updates of the model with one vector; and of the one that looks back, and where letters count."""

BLUES = (PALE, SEA, NAVY)
NAMED = (2.2, 0.45), (6.2, 0.26), (9.7, 0.45)
"""Where the name of each line with one vector begins."""


def row(task: str, model: str, steps: int) -> dict:
    """What was measured of a model at its usual rate.

    Example:
        >>> row("reverse", "fixed", 500)["width"]
        64
    """
    wanted = (task, model, steps, 0.004)
    (found,) = (
        one
        for one in recorded.results("bottleneck")["rows"]
        if (one["task"], one["model"], one["steps"], one["rate"]) == wanted
    )
    return found


def by_length(longest: int = 12) -> None:
    """Draw exact answers by the length of the word: a line a budget, and one for looking back."""
    names = "one vector,\n500 updates", "2,000\nupdates", "one vector,\n8,000 updates"
    lines = [
        (name, row("reverse", "fixed", steps), colour, 1.8, at)
        for name, steps, colour, at in zip(names, BUDGETS, BLUES, NAMED, strict=True)
    ]
    look = row("reverse", "attention", SOON)
    lines.append((f"looks back, {SOON:,} updates", look, RUST, 3.2, (8.3, 0.93)))
    lengths, trained_to = range(1, longest + 1), recorded.results("bottleneck")["trained_to"]
    with plt.style.context("attnbook.style"):
        ax = plt.subplots(figsize=(6.1, 2.6), layout="constrained")[1]
        for label, found, colour, wide, at in lines:
            exact = [found["by_length"][str(n)]["exact"] for n in lengths]
            middle, low, high = (
                [share[name] for share in exact] for name in ("median", "low", "high")
            )
            ax.plot(lengths, middle, color=colour, linewidth=wide, marker="o", ms=4)
            ax.fill_between(lengths, low, high, color=colour, alpha=0.2)
            ax.text(*at, label, color=SEA if colour == PALE else colour, va="center", size=11)
        ax.axvline(trained_to, color=GREY, ls="--", lw=1)
        ax.text(trained_to + 0.3, 1.09, "longer than in training", color=GREY, va="center", size=11)
        ax.set(xlabel="letters in the word", ylabel="exact answers", ylim=(-0.05, 1.16))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
        ax.set_title("One vector learns slowly, looking back learns fast")
        plt.show()


def survivors() -> None:
    """Draw the share of answers in which each letter is right, for two orders of writing."""
    rows = {
        name: [share["median"] for share in row(task, "fixed", SOON)["by_place"]["place"]]
        for name, task in (("written\nbackwards", "reverse"), ("copied", "copy"))
    }
    _tiles(
        rows,
        "letters in the order of reading; answers in which each is right",
        f"After {SOON} updates, the letters written first are right most often",
    )


@cache
def thread(steps: int, letters: int = 8, words: int = 500) -> dict[str, list[float]]:
    """How often the machine's model with one vector has each letter right, in the order of writing.

    By itself; given the right letters so far; and given them with the vector of another word.

    Example:
        >>> [len(shares) for shares in thread(500, letters=3, words=10).values()]
        [3, 3, 3]
    """
    kept = recorded.model(f"backwards_vector_{steps}")
    symbols = len(kept.source_vocab) - len(SPECIAL)
    pairs = tasks.reverse(words, min_length=letters, max_length=letters, symbols=symbols, seed=7)
    (batch,) = tasks.Batches(pairs, kept.source_vocab, kept.target_vocab, batch_size=words)
    with torch.no_grad():
        alone = kept.model.greedy(batch.source, None, letters).tokens
        given, other = (
            kept.model(source, None, batch.target_in).argmax(-1)
            for source in (batch.source, batch.source.roll(1, 0))
        )
    alone = torch.nn.functional.pad(alone, (0, letters - alone.shape[1]))
    ways = {"by itself": alone, "given": given, "another vector": other}
    goal = batch.target_out[:, :letters]
    return {
        way: (tokens[:, :letters] == goal).float().mean(0).tolist() for way, tokens in ways.items()
    }


def thread_kept() -> None:
    """Draw how often each letter is right by itself, and given the right ones so far."""
    found = thread(SOON)
    _tiles(
        {"by itself": found["by itself"], "given the\nright ones": found["given"]},
        "letters in the order of writing; answers in which each is right",
        "Much that looked lost is there if the decoder keeps the thread",
    )


def _tiles(rows: dict[str, list[float]], label: str, title: str) -> None:
    """A row of tiles for each name, a share on each tile."""
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(len(rows), 1, figsize=(6.1, 1.6), layout="constrained")
        for ax, (name, shares) in zip(axes, rows.items(), strict=True):
            ax.imshow([shares], cmap="cividis", vmin=0, vmax=1, aspect="auto")
            for place, share in enumerate(shares):
                colour = "white" if share < 0.5 else "black"
                ax.text(place, 0, f"{share:.0%}", ha="center", va="center", color=colour)
            ax.set_yticks([0], [name])
            ax.set_xticks(range(len(shares)) if ax is axes[-1] else [])
            ax.tick_params(length=0)
            ax.grid(visible=False)
        axes[-1].set_xlabel(label)
        figure.suptitle(title)
        plt.show()
