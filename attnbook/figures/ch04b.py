"""The figures of page 04b: one decoder whose look is moved, and a map that is one word late."""

import statistics

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, VERMILION
from attnkit.viz import heatmap
from attnlab import tasks
from attnlab.decoding import predictions
from attnlab.metrics.intervals import median_interval

ORDERS = {
    "before": ("looks, then moves on", VERMILION, "o"),
    "after": ("moves on, then looks", BLUE, "s"),
    "forgotten": ("moves on, looks, forgets", GREEN, "^"),
}
"""In words, colour and marker."""

ENGLISH = ("the", "small", "black", "cat")


def best(order: str, steps: int) -> dict:
    """The row of `results/when_to_look.json` at the best rate: the most rows right beyond ten."""
    rows = (
        row
        for row in recorded.results("when_to_look")["rows"]
        if (row["order"], row["steps"]) == (order, steps)
    )
    return max(rows, key=lambda row: row["beyond"]["median"])


def budgets() -> list[int]:
    """The numbers of updates, a panel each."""
    return sorted({row["steps"] for row in recorded.results("when_to_look")["rows"]})


def orders() -> None:
    """Exact answers by length, to twice that of training: a panel a budget."""
    run = recorded.results("when_to_look")
    lengths = range(2, 2 * run["longest"] + 1)
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.1, 2.7), layout="constrained", sharey=True)
        for ax, steps in zip(axes, budgets(), strict=True):
            for order, (label, colour, marker) in ORDERS.items():
                counts = [one["by_length"] for one in best(order, steps)["runs"]]
                found = [
                    median_interval([count[str(n)][1] / count[str(n)][0] for count in counts])
                    for n in lengths
                ]
                middle, low, high = zip(*found, strict=True)
                ax.plot(lengths, middle, marker=marker, color=colour, markersize=4, label=label)
                ax.fill_between(lengths, low, high, color=colour, alpha=0.15)
            ax.axvline(run["longest"] + 0.5, color="grey", linestyle="--", zorder=0)
            ax.text(
                run["longest"] + 0.1, 0.02, "lengths\ntrained on", ha="right", fontsize=9,
                color="dimgrey",
            )  # fmt: skip
            ax.set(ylim=(-0.02, 1.05), xticks=range(2, 21, 3))
            ax.set_title(f"after {steps:,} updates, {best('after', steps)['beyond']['n']} seeds")
            ax.set_xlabel("symbols in a row")
        axes[0].set_ylabel("exact answers")
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9,
            title="line: the median of the seeds; band: from the smallest to the largest",
            title_fontsize=9,
        )  # fmt: skip
        title = "More training helps the one that looks first, not the one that forgets"
        figure.suptitle(title, fontsize=12)
        plt.show()


def orders_table() -> None:
    """Print the same at every rate, beyond the lengths of training and as long."""
    run = recorded.results("when_to_look")
    longest, (size,) = run["longest"], {side["parameters"] for side in run["training"]}
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print(f"reverse, {size:,} numbers: exact answers, median of the seeds (smallest to largest)")
    for steps in budgets():
        print(f"\n{steps:>5,} updates{'':14}{'rate':7}{f'up to {longest}':22}", end="")
        print(f"{longest + 1} to {2 * longest}")
        for order, (label, *_) in ORDERS.items():
            for row in run["rows"]:
                if (row["order"], row["steps"]) == (order, steps):
                    near, far = (recorded.interval(row[where]) for where in ("within", "beyond"))
                    print(f"  {label:25}{row['rate']:<7g}{f'{near:.2f}':22}{far:.2f}")


def late() -> None:
    """The map of the small black cat, as the model made it and one word late, and what moves."""
    (weights, pair), (told, _) = phrase(), phrase(told_noun=True)
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.2, 2.5), layout="constrained")
        for ax, by, title in zip(
            axes, (0, 1), ("as it looked", "stored one word late"), strict=True
        ):
            rows, others = (each.roll(by, 0) for each in (weights, told))
            rows[:by] = others[:by] = 0
            moves = int((rows - others).abs().amax(-1).gt(1e-6).int().argmax())
            words = {"query_tokens": [*pair.target, "<end>"], "key_tokens": list(pair.source)}
            heatmap(rows, vmax=1.0, ax=ax, **words)
            ax.set_title(title, fontsize=10, pad=10)
            ax.set_xlabel("")
            ax.get_yticklabels()[moves].set(color=BLUE, weight="bold")
            ax.set_ylabel("word written", fontsize=9)
            for row, column in pair.sure:
                ax.add_patch(plt.Rectangle(
                    (column - 0.46, row - 0.46), 0.92, 0.92, fill=False, ec=VERMILION, lw=1.6,
                    zorder=4,
                ))  # fmt: skip
        axes[0].images[0].colorbar.remove()
        figure.suptitle(
            "The same weights, one word late: no row meets its box\n"
            "boxed: the source word that the written word translates\n"
            "blue: the row that moves first when petit is read as chat",
            fontsize=11,
        )
        plt.show()


def told() -> None:
    """Print what two translators do when the adjective that they read becomes the noun."""
    links = {(0, 0), (1, 1), (2, 3), (3, 2)}  # as in the small black cat, le petit chat noir
    alike = [p for p in tasks.noun_phrases() if len(p.source) == len(p.target) == 4]
    pairs = [p for p in alike if set(p.sure) == links][::113][:100]
    others = [_told_noun(p) for p in pairs]
    print(f"the third step of {len(pairs)} phrases, the adjective read and then the noun:")
    for name, whose in {"toy_french_additive": "Bahdanau", "toy_french_dot": "Luong"}.items():
        model, *vocabs, _ = recorded.model(name)
        found, joined = [], []
        for each in (pairs, others):
            batch = tasks.collate(each, *vocabs)
            seen = []  # what the last layer is given, a step each, or all steps at once
            hook = model.decoder.readout.register_forward_pre_hook(
                lambda _, given, seen=seen: seen.append(given[0])
            )
            with torch.no_grad():
                logits = model(batch.source, batch.source_lengths, batch.target_in)
            hook.remove()
            joined.append(torch.cat(seen, 1)[:, 2])
            weights = predictions.teacher_forced_weights(model, batch)
            found.append((weights[:, 2].argmax(-1), logits[:, 2].argmax(-1)))
        (look, word), (other, instead) = found
        moved = int(((look == 3) & (other == 2)).sum())
        changed = int((word != instead).sum())
        print(
            f"{whose:9} the look moves from noun to adjective {moved:3}, another word {changed:3}"
        )
        if whose == "Bahdanau":  # its last layer is given the state, the look, and the word
            wide = model.decoder.embedding.embedding_dim
            (a, b), alone = joined, {}
            for path, new, old in (("the new state", b, a), ("the last layer", a, b)):
                with torch.no_grad():
                    mixed = model.decoder.readout(torch.cat([new[:, :-wide], old[:, -wide:]], -1))
                alone[path] = int((word != mixed.argmax(-1)).sum())
            print(
                *(f"{'':9} the lie told to {path} alone: {n}" for path, n in alone.items()),
                sep="\n",
            )


def fed() -> None:
    """Print what input feeding gains and costs on three tasks, at one rate."""
    print("exact answers beyond the lengths of training, seeds 0 to 4; CPU seconds, median")
    for task in ("reverse", "toy_french", "dates"):
        for row in recorded.results(f"by_length_{task}")["rows"]:
            if row["model"] in ("additive", "dot", "dot, input feeding"):
                right = [_beyond(run) for run in row["runs"]]
                seconds = statistics.median(run["cpu_seconds"] for run in row["runs"])
                numbers = " ".join(f"{share:.2f}" for share in right)
                print(f"{task:11} {row['model']:19} {numbers}  {seconds:.0f}")


def _beyond(run: dict) -> float:
    counts = [count for n, count in run["by_length"].items() if int(n) > run["longest"]]
    return sum(count[1] for count in counts) / sum(count[0] for count in counts)


def _told_noun(pair: tasks.Pair) -> tasks.Pair:
    """The same with the noun in place of the adjective: le petit chat noir, le chat chat noir."""
    return tasks.Pair(pair.source, (pair.target[0], pair.target[2], *pair.target[2:]))


def phrase(told_noun: bool = False) -> tuple[torch.Tensor, tasks.Pair]:
    """The weights (5, 4) of a trained Luong decoder that is told the right French, and the pair.

    With `told_noun` it reads the noun in place of the adjective: le chat chat noir.
    """
    model, *vocabs, _ = recorded.model("toy_french_dot")
    (pair,) = (pair for pair in tasks.noun_phrases() if pair.source == ENGLISH)
    if told_noun:
        pair = _told_noun(pair)
    with torch.no_grad():
        weights = predictions.teacher_forced_weights(model, tasks.collate([pair], *vocabs))
    return weights[0], pair
