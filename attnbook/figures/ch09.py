"""The figure of chapter 09: what a trained Transformer still says with one box off."""

import matplotlib.pyplot as plt

from attnbook import recorded
from attnbook.figures.colours import BLUE, INK, ORANGE, PINK, SKY
from attnbook.machines import recurrent, towers
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
SUMS = ("before the attention", "after the attention", "after the feed-forward")
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
        figure, ax = plt.subplots(figsize=(5.8, 3.2), layout="constrained")
        for at, (_, group, boxes) in enumerate(bars()):
            medians = [found[box]["median"] for box in boxes]
            low = min(found[box]["low"] for box in boxes)
            high = max(found[box]["high"] for box in boxes)
            ax.barh(at, max(*medians, 0.6), height=0.72, color=COLOURS[group])
            ax.plot([low, high], [at, at], color=INK, linewidth=1.5)
            ends = sorted({f"{m:.0f}" for m in (min(medians), max(medians))}, key=int)
            x = 103 if high > 80 else high + 2
            ax.text(x, at, " to ".join(ends), va="center", fontsize=10)
        ax.axvline(found["nothing"]["median"], color="#444", linestyle="--", linewidth=1)
        ax.set(xlim=(0, 120), ylim=(len(bars()) - 0.4, -0.6), xticks=(0, 50, 100))
        ax.set_yticks(range(len(bars())), [name for name, *_ in bars()], fontsize=10)
        ax.set_xlabel(
            "whole translations of 100 unseen phrases\n(bar: median of three models; "
            "line: all three,\nand all norms or streams; dashed: everything on)",
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


def travel(word: str = "old", masculine: str = "vieux", feminine: str = "vieille") -> dict:
    """Which of two forms the stream of an adjective would rather say, at each sum of the encoder.

    Returns:
        How many phrases there are; how many of them are "the `word` NOUN" or "the `word` COLOUR
        NOUN", of one thing, and need one of the two forms; and for each sum the share of those at
        which the right one is likelier.
    """
    kept = recorded.model("machine_towers")
    net = towers.Net(recurrent.unpacked(**recurrent.halves(kept.model.state_dict())), 4)
    forms = [kept.target_vocab.encode([form])[0] for form in (masculine, feminine)]
    found, phrases = [], list(tasks.noun_phrases())
    for pair in phrases:
        if pair.source[:2] != ("the", word) or pair.target[0] not in ("le", "la"):
            continue
        needed = [form in pair.target for form in (masculine, feminine)]
        if sum(needed) == 1:
            sums = towers.encode(net, kept.source_vocab.encode(list(pair.source)))
            said = [towers.heard(net, x)[1, forms].argmax() == needed.index(True) for x in sums]
            found.append(said)
    shares = [sum(column) / len(found) for column in zip(*found, strict=True)]
    right_form = dict(zip(SUMS, shares, strict=True))
    return {"all": len(phrases), "phrases": len(found), "right": right_form}


def travel_table() -> None:
    """Print that."""
    found = travel()
    print(
        f"of {found['all']:,} noun phrases {found['phrases']} are “the old … NOUN”, of one thing,"
    )
    print("and need vieux or vieille: which is likelier in the encoder's stream of “old” is right")
    for name, share in found["right"].items():
        print(f"  {name:24} {share:.0%}")
