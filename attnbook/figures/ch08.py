"""The figures of page 08: who reads both ways, and where twelve real heads look."""

import matplotlib.pyplot as plt
import numpy as np

from attnbook import recorded
from attnbook.machines import LampMachine
from attnbook.machines.lamp_machine import DECAY
from attnkit.viz import palette

READERS = {
    "2 heads": "two heads",
    "1 head": "one head",
    "1 head, a third of the rate": "one head, its best rate of three",
    "1 head, four times the updates": "one head, 1,600 updates",
    "1 head, four times as wide": "one head, four times as wide",
    "1 head, two layers": "one head, then another",
    "1 head, places in the values": "one head, positions in the values",
}
"""What the results call a reader, and what the figure calls it."""

PARTS = (
    ("known", "pairs it was trained on", "#777777", "o"),
    ("held_out", "new pairs", "#0072B2", "s"),
)


def _rows() -> dict[str, dict]:
    return {row["variant"]: row for row in recorded.results("heads")["rows"]}


def readers() -> None:
    """Sentences with both commands named correctly, by reader, of old and of new pairs."""
    rows = _rows()
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.8, 3.3), layout="constrained")
        for (part, label, colour, marker), up in zip(PARTS, (-0.14, 0.14), strict=True):
            found = [rows[name][part]["both"] for name in READERS]
            low, middle, high = (
                [100 * one[end] for one in found] for end in ("low", "median", "high")
            )
            y = np.arange(len(READERS)) + up
            ax.hlines(y, low, high, color=colour, linewidth=2)
            ax.plot(middle, y, marker, color=colour, markersize=6, label=label)
        ax.set_yticks(range(len(READERS)), READERS.values())
        ax.axhline(4.5, color="grey", linewidth=0.8, linestyle="--")
        ax.set(ylim=(6.5, -0.5), xlim=(-3, 103))
        ax.set_xlabel("both commands named correctly (%), median and range of six seeds")
        ax.grid(axis="x", alpha=0.3)
        figure.suptitle("Two heads read both ways in 400 updates; one does not in 1,600")
        figure.legend(loc="outside lower center", ncols=2)
        plt.show()


def rows_of_it() -> tuple[list[str], np.ndarray]:
    """The tokens of the sentence, and the rows of *it* in twelve heads with their mean (13, S)."""
    found = recorded.results("real_sentence")
    tokens = found["tokens"]
    weights = np.array([row["weights"][tokens.index(found["word"])] for row in found["rows"]])
    return tokens, np.concatenate([weights, weights.mean(0, keepdims=True)])


def twelve() -> None:
    """Where *it* looks in the twelve heads of a layer, and in their average."""
    tokens, rows = rows_of_it()
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(7.2, 3.5), layout="constrained")
        image = ax.imshow(rows, cmap=palette.weights_map, vmin=0, vmax=1, aspect="auto")
        ax.axhline(len(rows) - 1.5, color="black", linewidth=1.5)
        ax.set_xticks(range(len(tokens)), tokens, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(rows)), [*(f"head {h}" for h in range(len(rows) - 1)), "average"])
        ax.tick_params(length=0, labelsize=9)
        figure.colorbar(image, label="weight of “it”")
        figure.suptitle("Four heads look at a word, eight at [CLS]; the average hides the four")
        plt.show()


def _cell(found: dict) -> str:
    middle, low, high = (100 * found[end] for end in ("median", "low", "high"))
    return f"{middle:.0f}% ({low:.0f}-{high:.0f})"


def lamps_table() -> None:
    """Print what the machine shows for the settings that the text names."""
    print(f"weight decay of the read-outs: {DECAY}")
    for aims in ((-20,), (20,), (-2,), (-1,), (0,), (-2, -2), (-2, -1), (-2, 2)):
        heads = dict(zip(("head0", "head1"), aims, strict=False))
        found = LampMachine(second=len(aims) > 1, **heads).compute()
        looks = "; ".join(f"{left:.2f} left, {right:.2f} right" for left, right in found["weights"])
        print(f"  {looks}: {found['lit']} of 12 lamps, {found['both']} of 6 sentences")


def readers_table() -> None:
    """Print what is behind the figure, and what was measured beside it."""
    run, rows = recorded.results("heads"), _rows()
    task, bound = run["task"], run["bound"]
    print(recorded.origin(run))
    print(f"{task['commands']} commands, {task['sentences']:,} sentences,", end=" ")
    print(f"{task['held_out']:,} of them of new pairs; median of six seeds (range)")
    print("after 400 updates where nothing else is said (four times as many are 1,600)")
    print(f"both named correctly{'':18} weights  trained pairs   new pairs")
    for name, row in rows.items():
        known, new = (_cell(row[part]["both"]) for part in ("known", "held_out"))
        print(f"{name:38} {row['parameters']:6,}  {known:14}  {new}")
    print(f"no single head of the first kind reads more than {bound['pairs']} of", end=" ")
    print(f"{task['pairs']} pairs both ways: {bound['share']:.0%}")
    print("heads that can go, one after another, with 99% of the answers left, by seed:")
    for name in ("2 heads", "4 heads", "8 heads"):
        print(f"  {name}: {sorted(rows[name]['spare'])} of {name[0]};", end=" ")
        print(f"without the one that costs most {_cell(rows[name]['without_worst'])}")


def twelve_table() -> None:
    """Print the largest weight of *it* in each head, and the average of the twelve rows."""
    found, (tokens, rows) = recorded.results("real_sentence"), rows_of_it()
    print(f"{found['command']} ({found['date']}): layer {found['layer']} of {found['model']}")
    for head, row in enumerate(rows[:-1]):
        animal = row[tokens.index("animal")]
        print(f"  head {head:2}: {row.max():.2f} on {tokens[row.argmax()]},", end=" ")
        print(f"{animal:.2f} on animal")
    print(f"  average: {rows[-1].max():.2f} on {tokens[rows[-1].argmax()]}")
