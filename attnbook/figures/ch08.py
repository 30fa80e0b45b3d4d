"""The figures of page 08: who reads both ways, and where twelve real heads look."""

from itertools import groupby, permutations

import matplotlib.pyplot as plt
import numpy as np

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREEN, SKY, VERMILION
from attnbook.machines import LampMachine
from attnbook.machines.lamp_machine import DECAY
from attnkit.viz import palette

READERS = {
    "2 heads": ("two heads", BLUE, "o", (7, -4)),
    "1 head, two layers": ("one head, then another", GREEN, "^", (-68, -18)),
    "1 head": ("one head", VERMILION, "s", (7, -2)),
    "1 head, a small network": ("one head, then a small network", SKY, "D", (-112, -15)),
}
"""What the results call a reader; what the figure calls it, its colour and mark, and where its name
stands, in points from the end of its line."""

NARROW = 5.2
"""Inches across a figure whose words are to be read on a telephone."""

PARTS = ("known", "held_out")
"""Sentences of the pairs of commands that training shows, and of new ones."""


def curve(variant: str, part: str) -> list[dict]:
    """A reader's rows in the results by updates, each at the rate whose median is best for `part`,
    of equal ones the one with the best seed."""
    rows = [*recorded.results("heads")["rows"], *_small_network("rows")]
    rows = [row for row in rows if row["variant"] == variant]
    best: dict[int, dict] = {}
    for row in sorted(rows, key=lambda row: [row[part]["both"][end] for end in ("median", "high")]):
        best[row["updates"]] = row
    return [best[updates] for updates in sorted(best)]


def _small_network(entries: str) -> list[dict]:
    """Rows or training of the network after one head, as those of `experiments.heads` are."""
    found = recorded.results("one_head")[entries]
    return [
        entry
        | {"variant": f"1 head, {entry['variant']}"}
        | {part: {"both": entry[part]} for part in PARTS if part in entry}
        for entry in found
        if entry["variant"] == "a small network"
    ]


def readers() -> None:
    """Sentences of new pairs with both commands named correctly, over the updates."""
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(NARROW, 2.4), layout="constrained")
        for name, (label, colour, marker, away) in READERS.items():
            rows = curve(name, "held_out")
            updates = [row["updates"] for row in rows]
            low, middle, high = (
                [100 * row["held_out"]["both"][end] for row in rows]
                for end in ("low", "median", "high")
            )
            ax.plot(updates, middle, marker + "-", color=colour, markersize=5)
            ax.fill_between(updates, low, high, color=colour, alpha=0.12, linewidth=0)
            ax.annotate(
                label, (updates[-1], middle[-1]), away, textcoords="offset points", fontsize=10
            )
        ax.set_xscale("log")
        ax.set_xticks([100, 400, 1600, 6400], ["100", "400", "1,600", "6,400"])
        ax.minorticks_off()
        ax.set(xlabel="updates", ylabel="both correct (%)", ylim=(-17, 105))
        ax.set_yticks([0, 25, 50, 75, 100])
        figure.suptitle("Two heads soon read new pairs; one head does not")
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
        figure, ax = plt.subplots(figsize=(NARROW, 2.95), layout="constrained")
        image = ax.imshow(rows, cmap=palette.weights_map, vmin=0, vmax=1, aspect="auto")
        ax.axhline(len(rows) - 1.5, color="black", linewidth=1.5)
        ax.set_xticks(range(len(tokens)), tokens, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(rows)), [*(f"head {h}" for h in range(len(rows) - 1)), "average"])
        ax.tick_params(length=0, labelsize=9)
        ax.get_xticklabels()[tokens.index("animal")].set_fontweight("bold")
        told = [*enumerate(rows.argmax(-1)), (len(rows) - 1, tokens.index("was"))]
        for i, j in told:
            ax.text(j, i, f"{rows[i, j]:.2f}", fontsize=7.5, ha="center", va="center",
                    color="white" if rows[i, j] > 0.45 else "black")  # fmt: skip
        figure.colorbar(image, pad=0.02, aspect=30, ticks=[0, 0.5, 1]).ax.tick_params(labelsize=9)
        figure.suptitle("Where “it” looks, head by head")
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
    pairs = list(permutations(range(3), 2))
    loud = [np.argmax(FOR_LAMPS @ [*(0.6 * ONE[a] + 0.4 * ONE[b]), 1]) == b for a, b in pairs]
    print(
        f"  0.60 left, 0.40 right, the read-out for the right by hand: {6 + sum(loud)} of 12 lamps"
    )


ONE = np.eye(3)
FOR_LAMPS = np.array([[0, 3, 0, -2], [-3, 1, 0, -1], [0, 0, -2, -1]])
"""A read-out of 0.6 and 0.4 that names the command on the right in four of six orders: a row for
each command, with its bias last."""


def readers_table() -> None:
    """Print what is behind the figure, and what was measured beside it."""
    run = recorded.results("heads")
    task, bound = run["task"], run["bound"]
    print(recorded.origin(run))
    print(f"{task['commands']} commands, {task['sentences']:,} sentences,", end=" ")
    print(f"{task['held_out']:,} of them of new pairs;")
    print("both named correctly, median and range of the seeds, each at the best rate of its grid")
    print(f"{'':28} weights seeds updates  trained pairs   new pairs")
    training = [*run["training"], *_small_network("training")]
    for name in (entry["variant"] for entry in training):
        for known, new in zip(curve(name, "known"), curve(name, "held_out"), strict=True):
            found = new["held_out"]["both"]
            print(f"{name:28} {new['parameters']:7,} {found['n']:5} {new['updates']:7,}", end="  ")
            print(f"{_cell(known['known']['both']):15} {_cell(found)}")
    print("learning rates:")
    for rates, entries in groupby(training, lambda entry: tuple(entry["rates"])):
        names = "; ".join(entry["variant"] for entry in entries)
        print(f"  {', '.join(f'{rate:g}' for rate in rates)}: {names}")
    print(f"no single head of the first kind reads more than {bound['pairs']} of", end=" ")
    print(f"{task['pairs']} pairs both ways: {bound['share']:.0%}")
    layers = [row for row in recorded.results("one_head")["rows"] if "without" in row]
    print("1 head, two layers, trained again at 0.01; new pairs with parts of the first layer off:")
    for row in layers:
        left = ", ".join(f"{off} {_cell(found)}" for off, found in row["without"].items())
        print(f"  after {row['updates']:,}: off: {left}")
        looks = ", ".join(f"{name} {found['low']:.2f}" for name, found in row["looks"].items())
        print(f"    least weight of the seeds: {looks}")
    print("heads that can be turned off, each alone, with 99% of the answers left, by seed,")
    print(f"after {OFF['updates']} updates at a rate of {OFF['rate']}:")
    for name in ("2 heads", "4 heads", "8 heads"):
        off = [[100 * left for *_, left in seed] for seed in switched_off(name)["off"]]
        least, most = min(map(min, off)), max(map(min, off))
        print(f"  {name}: {sorted(spare(name))} of {name[0]};", end=" ")
        print(f"without the one that costs most {least:.0f} to {most:.0f}% of the new pairs")


OFF = {"updates": 400, "rate": 0.01}
"""Of the readers whose heads are turned off one by one."""


def switched_off(variant: str) -> dict:
    """The row of a reader whose heads were turned off."""
    same = {"variant": variant, **OFF}
    return next(row for row in recorded.results("heads")["rows"] if same.items() <= row.items())


def spare(variant: str) -> list[int]:
    """By seed, the heads without which alone 99% of the median of right answers are left."""
    row = switched_off(variant)
    enough = 0.99 * row["held_out"]["both"]["median"]
    return [sum(left >= enough for *_, left in seed) for seed in row["off"]]


def twelve_table() -> None:
    """Print the largest weight of *it* in each head, and the average of the twelve rows."""
    found, (tokens, rows) = recorded.results("real_sentence"), rows_of_it()
    print(f"{found['command']} ({found['date']}): layer {found['layer']} of {found['model']}")
    for head, row in enumerate(rows[:-1]):
        animal = row[tokens.index("animal")]
        print(f"  head {head:2}: {row.max():.2f} on {tokens[row.argmax()]},", end=" ")
        print(f"{animal:.2f} on animal")
    was = rows[-1][tokens.index("was")]
    print(f"  average: {rows[-1].max():.2f} on {tokens[rows[-1].argmax()]}, {was:.2f} on was")
    like = found["like_it"]
    print(f"such sentences: no head most on the animal: {like['none']} of {like['sentences']}")
    print(f"  the average most on [CLS]: {like['first']} of {like['sentences']}")
