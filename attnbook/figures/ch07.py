"""The figures of chapter 07: who obeys, and what a search model makes of order."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLUE, INK
from attnbook.tables import Table

NAMES = {
    "none": "nothing",
    "last": "nothing, last word",
    "causal": "causal mask",
    "sinusoidal": "sinusoidal",
    "learned": "learned",
    "rotary": "rotary",
    "alibi": "ALiBi",
}


UPDATES, CEILING = 800, 28 / 32  # ALiBi has one answer for both of each four mirrored pairs


def obeyed() -> None:
    """The share of new sentences that each model obeys."""
    rows = recorded.results("orders")["rows"]
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 2.05), layout="constrained")
        for y, kind in enumerate(NAMES):
            (row,) = (row for row in rows if (row["kind"], row["updates"]) == (kind, UPDATES))
            found = row["right"]["held out"]
            ax.barh(y, found["median"], height=0.6, color=BLUE, alpha=0.5)
            ends = [found["low"], found["high"]]
            ax.plot(ends, [y, y], color=INK, linewidth=1.8, marker="|", markersize=9)
            ax.text(1.03, y, f"{found['median']:.0%}", va="center", fontsize=9)
        ax.plot([CEILING] * 2, [y - 0.4, y + 0.4], color="grey", linewidth=1, linestyle="--")
        ax.text(CEILING + 0.01, y, "ceiling", va="center", fontsize=8)
        ax.axvline(0.5, color="grey", linewidth=1, linestyle="--")
        ax.set_yticks(range(len(NAMES)), NAMES.values())
        ax.set(xlim=(0, 1.14), ylim=(len(NAMES) - 0.5, -0.5))
        ax.set_xticks([0, 0.5, 1], ["0", "half", "all"])
        ax.set_xlabel(f"new ones obeyed ({UPDATES} updates, three seeds: median, range)")
        figure.suptitle("Asked at “not” with nothing for the order, half are obeyed")
        plt.show()


def obeyed_table() -> None:
    """Print what is behind that figure, for each number of updates."""
    run = recorded.results("orders")
    print(recorded.origin(run))
    print(f"{'':20}updates  {'learned':18}{'held out':18}mirrored")
    for row in run["rows"]:
        cells = [
            "{median:.2f} ({low:.2f}-{high:.2f})".format(**row["right"][part])
            for part in ("learned", "held out", "mirrored")
        ]
        print(f"{NAMES[row['kind']]:20}{row['updates']:7}  {'  '.join(cells)}")


def minilm_table() -> Table:
    """What all-MiniLM-L6-v2 makes of order, with its table of positions and without."""
    run = recorded.results("word_order")
    rows = [
        [
            row["table"],
            f"{row['alike']['turned round']:.2f}",
            "all tie"
            if row["passive"]["tie"] == run["events"]
            else f"{row['passive']['nearer to its own']} of {run['events']}",
        ]
        for row in run["rows"]
    ]
    first = run["rows"][0]
    by, verbs = first["passive"]["nearer by"], first["passive"]["own by verb"]
    few, many = min(verbs, key=verbs.get), max(verbs, key=verbs.get)
    return Table(
        ["table of positions", "likeness of the two", "tells who bites whom"],
        rows,
        caption="Likeness (cosine) of dog bites man and man bites dog; with cat eats fish "
        f"{first['alike']['another event']:.2f}. Of {run['events']} pairs like the dog bites the "
        f"man: median {first['exchanged']['median']:.2f}.\n"
        f"Who bites whom: the wrong one leads by {-by['median']:.3f} (median); the right one wins "
        f"{verbs[few]} of {run['events'] // len(verbs)} with “{few}”, {verbs[many]} with “{many}”.",
    )
