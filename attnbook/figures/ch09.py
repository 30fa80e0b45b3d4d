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
COLOURS = ("#1f4fc4", BLUE, ORANGE, PINK, SKY)


def right() -> dict[str, dict]:
    """Whole translations of a hundred unseen phrases, over seeds, by what is off."""
    return recorded.results("towers")["rows"][-1]["right"]


def one_off() -> None:
    """Draw how many of a hundred phrases come out whole with each box off alone."""
    found = right()
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.6, 5.2), layout="constrained")
        at, ticks = 0, []
        for (group, boxes), colour in zip(GROUPS.items(), COLOURS, strict=True):
            ax.text(-3, at, group, ha="right", va="center", fontsize=10, fontweight="bold")
            at += 1
            for name, box in boxes.items():
                m, low, high = (found[box][part] for part in ("median", "low", "high"))
                ax.barh(at, max(m, 0.6), height=0.72, color=colour)
                ax.plot([low, high], [at, at], color=INK, linewidth=1.5)
                ax.text(high + 2, at, f"{m:.0f}", va="center", fontsize=10)
                ticks.append((at, name))
                at += 1
            at += 0.4
        ax.axvline(found["nothing"]["median"], color="#444", linestyle="--", linewidth=1)
        ax.set(xlim=(0, 108), ylim=(at - 0.6, -0.8), xticks=(0, 50, 100))
        ax.set_yticks([y for y, _ in ticks], [name for _, name in ticks], fontsize=8.5)
        ax.set_xlabel(
            "whole translations of 100 unseen phrases (bar: median; line: three seeds;\n"
            "dashed: everything on)", fontsize=10)  # fmt: skip
        figure.suptitle("One box off in a trained model: streams are missed, single norms are not")
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


def travel(word: str = "big", masculine: str = "grand", feminine: str = "grande") -> dict:
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
        f"of {found['all']:,} noun phrases {found['phrases']} are “the big … NOUN”, of one thing,"
    )
    print("and need grand or grande: which is likelier in the encoder's stream of “big” is right")
    for name, share in found["right"].items():
        print(f"  {name:24} {share:.0%}")
