"""The figures of chapter 17: maps of SmolLM2, where it rests its weight, what it loses without."""

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.colours import MUTED, SEA, VERMILION
from attnkit import AttentionExplorer, masks
from attnlab import pretrained

BLUE, ORANGE, GREY = SEA, VERMILION, MUTED
KEPT = {
    "all": "all tokens",
    "first 1": "window + first token",
    "tokens 8 to 11": "window + tokens 8–11",
    "nothing": "window alone",
}
"""What the results call a cache, and what the figure calls it."""
PLACES = {
    "plain": "0, 1, 2, ...",
    "moved by 7,000": "from 7,000 on",
    "spread by 2": "twice as far apart",
    "spread by 8": "8 times as far apart",
    "none": "none at all",
    "halves": "wrong pairs (below)",
}
"""What the results call the positions that a text was given, and what the table calls them."""

TEXT = "The animal didn't cross the street because it was too tired. The animal didn't cross the"
HEADS = ((18, 6), (16, 0), (13, 8), (20, 4))
RESTS, BLIND = 3, 7  # the head that rests, and the token that is blindfolded: "because"
TOUR = (
    {"say": "Layer 20, head 4 rests on the first token.", "head": RESTS},
    {"say": "Layer 16, head 0 looks at the token before, whatever it is.", "head": 1},
    {
        "say": "Layer 18, head 6: the last “the” looks at “street”, which came after “the” before.",
        "head": 0,
        "pinned": [0, 18, 6],
    },
    {"say": "Layer 13, head 8: “it” gives “animal” 0.75.", "head": 2, "pinned": [2, 8, 1]},
    {"say": "Layer 20, head 4 again, as it is ...", "head": RESTS, "pinned": [RESTS, 13, 0]},
    {
        "say": "... and with “because” blindfolded: it sees itself alone, and is now a second "
        "token to rest on.",
        "head": RESTS + 1,
        "pinned": [RESTS + 1, 13, BLIND],
    },
)


def five_maps() -> AttentionExplorer:
    """Four heads of SmolLM2 on a sentence that begins again, and one with a token blindfolded."""
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
    shown = [*(reading.weights[place] for place in HEADS), blind[HEADS[RESTS]]]
    names = [f"layer {layer}, head {head}" for layer, head in HEADS]
    return AttentionExplorer.from_frames(
        {length: torch.stack(shown)},
        tokens=[token.strip() for token in reading.tokens],
        mask="causal",
        controls=["head", "view"],
        head_names=[*names, f"{names[RESTS]}, “because” blindfolded"],
        tour=list(TOUR),
        anchor="explorer-17-1",
        title="Five maps of SmolLM2",
    )


def sinks() -> None:
    """Draw the weight on the first token and on one in the middle by layer, plain and with the
    middle one blindfolded; and the perplexities of caches that drop the beginning."""
    run, dropped = recorded.results("sinks"), recorded.results("dropped")
    rows = {row["case"]: row["layers"] for row in run["rows"]}
    with plt.style.context("attnbook.style"):
        _, axes = plt.subplots(2, 1, figsize=(6.4, 4.7), height_ratios=(3, 2),
                                    layout="constrained")  # fmt: skip
        top, low = axes
        for case, style in (("plain", "-"), ("blindfold", "--")):
            for place, colour in (("on_first", BLUE), ("on_place", ORANGE)):
                found = rows[case][place]
                layers = range(len(found))
                top.plot(layers, [one["median"] for one in found], style, color=colour)
                top.fill_between(layers, [one["low"] for one in found],
                                 [one["high"] for one in found], color=colour, alpha=0.12,
                                 linewidth=0)  # fmt: skip
        top.set(xlabel="layer", ylabel="share of all weight", ylim=(-0.02, 0.8), xlim=(-0.5, 29.5))
        top.set_title("Blindfold token 48, and it is a second sink")
        for x, y, words, colour in (
            (23, 0.73, "on the first token", BLUE),
            (12.3, 0.64, "dashed: token 48\nblindfolded", GREY),
            (23, 0.05, "on token 48", ORANGE),
        ):
            top.text(x, y, words, color=colour, ha="center", fontsize=10)
        names = list(KEPT.values())
        for size, colour, marker in ((64, BLUE, "o"), (256, ORANGE, "s")):
            found = {row["kept"]: row["perplexity"] for row in dropped["rows"]
                     if row["window"] == size}  # fmt: skip
            values = [found[name] for name in KEPT]
            low.plot(values, range(len(names)), marker, color=colour, label=f"window of {size}")
        low.set_yticks(range(len(names)), names)
        low.set(xscale="log", xlabel="perplexity (lower is better)", ylim=(-0.6, 3.6))
        low.set_xticks(ticks := [25, 50, 100, 200, 400], map(str, ticks))
        low.minorticks_off()
        low.invert_yaxis()
        low.legend(loc="upper right", frameon=False)
        low.set_title("Keep the first token, and the window costs little")
        plt.show()


def places() -> None:
    """Print the mean loss on fifty texts, their tokens numbered in six ways."""
    rows = recorded.results("turned")["rows"]
    print("places                  loss   more")
    for row in rows:
        more = row["mean"] - rows[0]["mean"]
        print(f"{PLACES[row['positions']]:20} {row['mean']:7.4f} {more:6.2f}")


def induction() -> None:
    """Draw the loss of a list's second saying against how many heads are off, by which."""
    run = recorded.results("induction")
    rows = {row["off"]: row["second"] for row in run["rows"] if row["part"] == "off"}
    first = next(row["first"]["median"] for row in run["rows"] if row["off"] == "plain")
    counts = sorted(int(name.split()[1]) for name in rows if name.startswith("best"))
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
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
        ax.text(3, 9.3, "the best induction heads", color=ORANGE, ha="right", fontsize=10)
        ax.text(4, 1.2, "others of the same layers", color=BLUE, ha="right", fontsize=10)
        ax.axhline(first, color=GREY, linestyle=":", linewidth=1)
        ax.text(0, first - 0.2, "the first time", color=GREY, va="top", fontsize=10)
        ax.set_xticks(range(len(counts) + 1), ["none", *map(str, counts)])
        ax.set(xlabel="heads switched off, of 270", ylabel="loss the second time (nats)",
               ylim=(0, 16))  # fmt: skip
        ax.set_title("Eight heads do nearly all of it")
        plt.show()
