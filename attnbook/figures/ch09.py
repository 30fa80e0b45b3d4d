"""The figure of chapter 09: what a trained Transformer still says with one box off."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLUE, INK, ORANGE, PINK, SKY
from attnlab import tasks

GROUPS = {
    "attention": {
        "encoder": "eAttention", "decoder, to itself": "dSelf", "decoder, to the English": "dCross",
    },
    "feed-forward": {"encoder": "eForward", "decoder": "dForward"},
    "positions": {"encoder": "ePlaces", "decoder": "dPlaces"},
    "stream past a part": {
        "encoder, attention": "eLine1", "encoder, feed-forward": "eLine2",
        "decoder, attention to itself": "dLine1", "decoder, attention to the English": "dLine2",
        "decoder, feed-forward": "dLine3",
    },
    "norm": {
        "encoder, 1st": "eNorm1", "encoder, 2nd": "eNorm2", "encoder, last": "eNorm3",
        "decoder, 1st": "dNorm1", "decoder, 2nd": "dNorm2", "decoder, 3rd": "dNorm3",
        "decoder, last": "dNorm4",
    },
}  # fmt: skip
COLOURS = {"attention": "#1f4fc4", "feed-forward": BLUE, "positions": ORANGE,
           "stream past a part": PINK, "norm": SKY}  # fmt: skip


def right() -> dict[str, dict]:
    """Whole translations of a hundred unseen phrases, over seeds, by what is off."""
    return recorded.results("towers")["rows"][-1]["right"]


def bars() -> list[tuple[str, str, list[str]]]:
    """The rows of the figure: the name, the group, and what is off. Streams share a row, and so do
    norms: one of them is off at a time."""
    said = {"attention": "attention", "feed-forward": "feed-forward", "positions": "position"}
    rows = [(f"{what}: {name}", group, [box]) for group, what in said.items()
            for name, box in GROUPS[group].items()]  # fmt: skip
    rows.append(("any one norm, of seven", "norm", list(GROUPS["norm"].values())))
    rows.append(("all seven norms", "norm", ["all norms"]))
    streams = "stream past a part"
    return [*rows, ("any one stream, of five, cut", streams, list(GROUPS[streams].values()))]


def one_off() -> None:
    """Draw how many of a hundred phrases come out whole with each box off alone."""
    found = right()
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.8, 3.0), layout="constrained")
        for at, (_, group, boxes) in enumerate(bars()):
            medians = [found[box]["median"] for box in boxes]
            low = min(found[box]["low"] for box in boxes)
            high = max(found[box]["high"] for box in boxes)
            ax.barh(at, max(*medians, 0.6), height=0.72, color=COLOURS[group])
            ax.plot([low, high], [at, at], color=INK, linewidth=1.5)
            ends = [f"{m:.0f}" for m in dict.fromkeys((min(medians), max(medians)))]
            spread = f" ({low:.0f} to {high:.0f})" if low < high else ""
            ax.text(high + 2, at, " to ".join(ends) + spread, va="center", fontsize=10)
        ax.set(xlim=(0, 160), ylim=(len(bars()) - 0.4, -0.6), xticks=(0, 50, 100))
        ax.set_yticks(range(len(bars())), [name for name, *_ in bars()], fontsize=10)
        ax.set_xlabel(
            "whole translations of 100 new phrases:\nmedian (and range) of three models",
            fontsize=10,
        )
        figure.suptitle("One box off: a single norm is hardly missed")
        plt.show()


def one_off_table() -> None:
    """Print what is behind the figure."""
    run, found = recorded.results("towers"), right()
    row, names = run["rows"][-1], {box: f"{group}: {name}" for group, boxes in GROUPS.items()
                                  for name, box in boxes.items()}  # fmt: skip
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print(f"{row['parameters']:,} numbers, {row['steps']:,} updates; whole translations of 100")
    print("unseen phrases, median (smallest to largest) of three seeds")
    for box, cell in found.items():
        name = {"nothing": "everything on"}.get(box, names.get(box, box))
        print(f"{name:56} {cell['median']:3.0f} ({cell['low']:.0f} to {cell['high']:.0f})")


def old_table() -> None:
    """Print which lines to "old" in the encoder's attention the French for it hangs on."""
    runs = recorded.results("towers")["rows"][-1]["runs"]
    print(
        f"of {sum(1 for _ in tasks.noun_phrases()):,} noun phrases, those with “the old” that need"
    )
    print("need a form other than vieux, and how many get it in each of the three models:")
    for cut in runs[0]["old"]:
        forms = [
            [cell for form, cell in run["old"][cut].items() if form != "vieux"] for run in runs
        ]
        got = [sum(cell["written"] for cell in cells) for cells in forms]
        of = sum(cell["needed"] for cell in forms[0])
        print(f"  line cut: {cut:12} {', '.join(map(str, got))} of {of}")
    sizes = [size for run in runs for size in run["sizes"]]
    print(f"root mean square of what a norm is given: {min(sizes):.1f} to {max(sizes):.1f}")
