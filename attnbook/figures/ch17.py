"""The figures of chapter 17: maps of SmolLM2, where it rests, what it loses without some heads."""

import math

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.colours import MUTED, SEA, VERMILION
from attnkit import AttentionExplorer, masks
from attnlab import pretrained

BLUE, ORANGE, GREY = SEA, VERMILION, MUTED
TEXT = "The animal didn't cross the street because it was too tired. The animal didn't cross the"
HEADS = ((20, 4), (16, 0), (18, 6), (13, 8))
PIECES = 49_152  # of its vocabulary: a blind guess costs their logarithm
BLIND = 7  # the token that is blindfolded: "because"
TOUR = (
    {"say": "Layer 20, head 4: whichever token looks, it looks at the first.", "head": 0},
    {
        "say": "The same head. Only “because” has changed: it sees nothing but itself. Now it is "
        "a second token that others look at.",
        "head": 1,
        "pinned": [1, 13, BLIND],
    },
    {"say": "Layer 16, head 0 looks at the token before, whatever it is.", "head": 2},
    {
        "say": "Layer 18, head 6: the last “the” looks at “street”, which came after “the” before.",
        "head": 3,
        "pinned": [3, 18, 6],
    },
    {"say": "Layer 13, head 8: “it” gives “animal” 0.75.", "head": 4, "pinned": [4, 8, 1]},
)


def five_maps() -> AttentionExplorer:
    """Four heads of SmolLM2 on a sentence that begins again, one also with a token blindfolded."""
    reader = pretrained.load("SmolLM2-135M-Instruct")
    reading = reader.read(TEXT, need_weights=True)
    length = len(reading.tokens)
    alone = masks.causal(length)
    alone[BLIND] = torch.arange(length) == BLIND
    model, tokens = reader.model, reader.batch([TEXT])[0]
    with torch.no_grad():
        blind = model.stack.states(
            model.embedding(tokens), mask=alone, rotate=model.positions.rotate
        ).weights[0]  # (layers, H, L, L)
    first, *others = (reading.weights[place] for place in HEADS)
    name, *names = (f"layer {layer}, head {head}" for layer, head in HEADS)
    return AttentionExplorer.from_frames(
        {length: torch.stack([first, blind[HEADS[0]], *others])},
        tokens=[token.strip() for token in reading.tokens],
        mask="causal",
        controls=["head"],
        head_names=[name, f"{name}, blindfold", *names],
        head_label="Map",
        tour=list(TOUR),
        anchor="explorer-17-1",
        title="Five maps of SmolLM2",
    )


def sinks() -> None:
    """Draw the weight on the first token and on one in the middle by layer, plain and with the
    middle one blindfolded."""
    rows = {row["case"]: row["layers"] for row in recorded.results("sinks")["rows"]}
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.2, 2.6), layout="constrained")
        for case, style in (("plain", "-"), ("blindfold", "--")):
            for place, colour in (("on_first", BLUE), ("on_place", ORANGE)):
                found = rows[case][place]
                layers = range(len(found))
                ax.plot(layers, [one["median"] for one in found], style, color=colour)
                ax.fill_between(layers, [one["low"] for one in found],
                                [one["high"] for one in found], color=colour, alpha=0.12,
                                linewidth=0)  # fmt: skip
        ax.set(xlabel="layer", ylabel="share of the weight", ylim=(-0.02, 0.8), xlim=(-0.5, 29.5))
        ax.set_title("Blindfold token 48, and it is a second sink")
        for x, y, words, colour in (
            (0, 0.7, "solid: nothing changed", GREY),
            (0, 0.6, "dashed: token 48 blindfolded", GREY),
            (24, 0.7, "first token", BLUE),
            (18.5, 0.05, "token 48", ORANGE),
        ):
            ax.text(x, y, words, color=colour, fontsize=10)
        plt.show()


def induction() -> None:
    """Draw the loss of a list's second saying against how many heads are off, by which."""
    run = recorded.results("induction")
    rows = {row["off"]: row["second"] for row in run["rows"] if row["part"] == "off"}
    first = next(row["first"]["median"] for row in run["rows"] if row["off"] == "plain")
    counts = sorted(int(name.split()[1]) for name in rows if name.startswith("best"))
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.2, 2.5), layout="constrained")
        for kind, colour, marker in (
            ("best", ORANGE, "o"),
            ("others", BLUE, "s"),
        ):
            found = [rows["plain"], *(rows[f"{kind} {count}"] for count in counts)]
            places = range(len(found))
            middle = [one["median"] for one in found]
            below = [one["median"] - one["low"] for one in found]
            above = [one["high"] - one["median"] for one in found]
            ax.errorbar(places, middle, yerr=(below, above), marker=marker, color=colour,
                        capsize=3)  # fmt: skip
        ax.text(3.05, 9.2, "the best induction heads off", color=ORANGE, ha="right", fontsize=10)
        ax.text(4, 1.2, "others of the same layers off", color=BLUE, ha="right", fontsize=10)
        ax.axhline(first, color=GREY, linestyle=":", linewidth=1)
        ax.text(0, first + 0.2, "loss the first time", color=GREY, va="bottom", fontsize=10)
        ax.axhline(math.log(PIECES), color=GREY, linestyle=":", linewidth=1)
        ax.text(0, math.log(PIECES) + 0.2, "a blind guess", color=GREY, va="bottom", fontsize=10)
        ax.set_xticks(range(len(counts) + 1), ["none", *map(str, counts)])
        ax.set(xlabel="heads switched off, of 270", ylabel="loss the second time (nats)",
               ylim=(0, 17))  # fmt: skip
        ax.set_title("Without eight heads, a repeated list is almost new")
        plt.show()
