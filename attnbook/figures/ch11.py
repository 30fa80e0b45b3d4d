"""Page 11: two texts to ask, and what a cosine, a weight and a first sentence are worth."""

from functools import lru_cache

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn.functional import normalize

from attnbook import recorded
from attnbook.figures.colours import BLUE, MUTED, SKY, VERMILION
from attnbook.machines import WhichSentences
from attnbook.machines.which_sentences import vectors_of
from attnlab import pretrained, tasks

KETTLE = (
    "The kettle in the kitchen has been broken since May. A summarizer chooses a few sentences of "
    "a document. It gives each sentence a score by attention and keeps the best. Nothing is "
    "written anew, so a summary of this kind cannot invent a fact. My neighbour, Dr. Brown, "
    "prefers tea. We measure a summary against one that a person wrote."
)
THREAD = """Ana: Hi all, I hope that you are well!
Ana: Thanks to everybody who came on Sunday.
Ben: It was lovely, and the cake was great.
Ana: We still have to decide when the boat goes into the water.
Cid: I can bring the trailer on the 9th of May.
Ben: The 9th is fine with me.
Dot: Does anybody know who has the key to the shed?
Ben: I gave it to Cid in March.
Cid: I have it, it hangs in my kitchen.
Ana: Then we meet at the shed on the 9th of May at eight.
Dot: The insurance of the boat has to be paid before that, 240 euros.
Ana: I paid it yesterday.
Ben: Perfect, thanks!
Cid: See you all there."""
NAMED = THREAD.replace("gave it", "gave the key").replace("have it,", "have the key,")
"""The thread with *the key* where Ben and Cid say *it*."""
FRANCE = "What is the capital of France?"
BOIL = "Where can I boil water?"
SAMPLES = {
    "The thread": {
        "text": THREAD,
        "question": "Who has the key?",
        "claims": "They meet on the 9th of May. They sold the boat. Cid brings the trailer. "
        "Cid cannot bring the trailer.",
        "k": 5,
    },
    "The kettle": {
        "text": KETTLE,
        "question": FRANCE,
        "claims": "The kettle is broken. The kettle is not broken. A summarizer picks some of the "
        "sentences. The best ones are kept. It was tested on ten thousand newspapers.",
        "k": 2,
    },
}
ASKED = """When do we meet?
How long is the boat?
What does the insurance cost?
Where can I boil water?
Can it make things up?
Who is Dr. Brown?"""
"""Questions beside those of the samples that the page answers before its model has come."""

KINDS = {
    "not said": (VERMILION, "-", "not said"),
    "said": (BLUE, "-", "said in other words"),
    "stressed": (SKY, ":", "… with a “really”"),
    "denied": (VERMILION, "--", "… with a “not”, so false"),
}
"""Colour, line and name of each kind of claim."""

METHODS = {
    "best": "best possible choice",
    "lead": "first sentence",
    "MiniLM": "closest to the whole",
    "random": "drawn at random",
}


@lru_cache
def vectors() -> dict[str, list[float]]:
    """Of all that the page answers before its model has come."""
    texts = [text for sample in SAMPLES.values() for text in (sample["text"], sample["claims"])]
    texts += [sample["question"] for sample in SAMPLES.values()] + [NAMED]
    return vectors_of(pretrained.load("all-MiniLM-L6-v2"), *texts, ASKED)


def machine(**settings) -> WhichSentences:
    """The page's box, on the question that its text does not answer."""
    start = SAMPLES["The kettle"] | {"mode": "ask", "threshold": 0.5} | settings
    return WhichSentences(vectors=vectors(), samples=SAMPLES, **start)


def kinds() -> dict[str, dict]:
    """The rows of the claims by their kind, once and with a sentence of the text twice."""
    return {
        row["kind"]: row
        for name in ("answered", "company")
        for row in recorded.results(name)["rows"]
    }


def rightly(twice: bool, name: str) -> float:
    """How often the claim that is said has the larger cosine, or weight, than one that is not."""
    pairs = (
        recorded.results("company")["parted"]["said twice"]
        if twice
        else recorded.results("answered")["parted"]["said from not said"]
    )
    return pairs[name]["share"]


def sure() -> None:
    """Draw the largest cosine and weight, said and not; once, and with that sentence twice."""
    rows, edges = kinds(), [n / 20 for n in range(21)]
    pairs = (("said", "not said"), ("said twice", "not said, a stranger twice"))
    with plt.style.context("attnbook.style"):
        figure, panels = plt.subplots(
            2, 2, figsize=(5.4, 3.3), layout="constrained", sharex=True, sharey=True
        )
        for twice, (line, pair) in enumerate(zip(panels, pairs, strict=True)):
            for ax, name in zip(line, ("cosine", "weight"), strict=True):
                for kind, like in zip(pair, ("said", "not said"), strict=True):
                    counts, _ = np.histogram(rows[kind][name], edges)
                    ax.stairs(counts / counts.max(), edges, fill=True, alpha=0.55,
                              color=KINDS[like][0])  # fmt: skip
                ax.set(xlim=(0, 1), xticks=[0, 0.5, 1], yticks=[], ylim=(0, 1.28))
                share = round(100 * rightly(twice, name))
                ax.set_title(f"{name}: right {share} times in 100", fontsize=10)
            line[0].set_ylabel(("there once", "there twice")[twice])
        for ax, name in zip(panels[1], ("cosine", "weight"), strict=True):
            ax.set_xlabel(f"largest {name}")
        far = ((0.25, "center"), (0.98, "right"))
        places = (far, ((0.4, "center"), far[1]), far, ((0.44, "right"), (0.51, "left")))
        for ax, spots in zip(panels.flat, places, strict=True):
            for (x, side), kind in zip(spots, ("not said", "said"), strict=True):
                ax.text(x, 1.06, kind, ha=side, fontsize=9, color=KINDS[kind][0])
        figure.suptitle("Said once, both can tell; said twice, only the cosine")
        plt.show()


def flagged(kind: str, threshold: float) -> float:
    """The share of these claims whose largest cosine is below the threshold."""
    found = kinds()[kind]["cosine"]
    return sum(cosine < threshold for cosine in found) / len(found)


def curve() -> None:
    """Draw what a threshold flags of each kind of claim."""
    at, rows = [n / 100 for n in range(101)], kinds()
    places = {"not said": (0.27, 88, "right"), "denied": (0.765, 79, "right"),
              "stressed": (0.94, 52, "left"), "said": (0.9, 16, "left")}  # fmt: skip
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.4, 2.5), layout="constrained")
        for kind, (colour, line, label) in KINDS.items():
            shares = [100 * flagged(kind, threshold) for threshold in at]
            ax.plot(at, shares, color=colour, ls=line)
            x, y, side = places[kind]
            words = f"{label.replace(', ', chr(10))}\n({rows[kind]['claims']} claims)"
            ink = BLUE if colour == SKY else colour
            ax.text(x, y, words, color=ink, ha=side, va="center", fontsize=9)
        ax.axvline(0.5, color=MUTED, lw=1, ls=":")
        ax.text(0.49, 45, "machine’s\nthreshold", color=MUTED, ha="right", va="center", fontsize=9)
        ax.set(xlabel="threshold for the largest cosine", ylabel="flagged, percent", xlim=(0, 1.25))
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
        figure.suptitle("At 0.5 it flags what is not said, and hardly a “not”")
        plt.show()


def first() -> None:
    """Draw the ROUGE-1 of one chosen sentence, by who chose it."""
    rows = {row["method"]: row["rouge1"] for row in recorded.results("docstrings")["rows"]}
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.4, 1.8), layout="constrained")
        for place, name in enumerate(METHODS):
            mean, *ends = (100 * rows[name][key] for key in ("mean", "low", "high"))
            colour = BLUE if name == "MiniLM" else MUTED
            ax.plot(ends, [place, place], color=colour)
            ax.plot(mean, place, "o", color=colour)
            ax.annotate(f"{mean:.1f}", (mean, place), (0, 6), textcoords="offset points",
                        ha="center", fontsize=9)  # fmt: skip
        ax.set(xlabel="ROUGE-1 with the hidden line, of 100", xlim=(0, 32), ylim=(3.4, -0.7))
        ax.set_yticks(range(len(METHODS)), METHODS.values(), fontsize=9)
        figure.suptitle("The first sentence shares more than the closest")
        plt.show()


def _shares(found: dict) -> str:
    """How often the said one has the larger number, by what is compared."""
    return ", ".join(
        f"{what} {found[what]['share']:.2f} ({found[what]['low']:.2f} to {found[what]['high']:.2f})"
        for what in ("cosine", "weight", "words")
        if what in found
    )


def numbers() -> None:
    """Print what is behind the figures."""
    run, rows = recorded.results("answered"), kinds()
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print(f"{run['pairs']} pairs, texts of {run['sentences']} sentences")
    for kind, row in rows.items():
        told = [f"{kind:9} {row['claims']} claims"]
        for name in ("cosine", "weight"):
            ranked = sorted(row[name])
            low, middle, high = (ranked[int(p * (len(ranked) - 1))] for p in (0.05, 0.5, 0.95))
            told.append(f"{name} {middle:.2f} (90% from {low:.2f} to {high:.2f})")
        print(", ".join(told))
    over = sum(v > 0.5 for v in rows["not said"]["weight"]) / rows["not said"]["claims"]
    print(f"not said, and a weight over 0.5: {over:.0%}")
    for kind in KINDS:
        print(f"flagged at 0.5, {kind}: {100 * flagged(kind, 0.5):.1f}%")
    for names, found in run["parted"].items():
        print(f"{names}, told apart:", _shares(found))
    print("python -m experiments.company")
    again = recorded.results("company")
    for names, found in again["parted"].items():
        print(f"{names}, from not said, a stranger twice:", _shares(found))
    for row in again["crowds"]:
        print(f"said from not said, {row['sentences']} sentences:", _shares(row))
    mixed = again["mixed"]
    print(f"said in {mixed['said']} from not said in {mixed['not said']}:", _shares(mixed))
    real = recorded.results("docstrings")
    print(recorded.origin(real).replace(" (", "\n(", 1))
    print(f"{real['documents']} docstrings")
    for row in real["rows"]:
        values = [100 * row[kind]["mean"] for kind in ("rouge1", "rouge2", "rougeL")]
        print(f"{row['method']:7} ROUGE-1, -2, -L", *(f"{value:.1f}" for value in values))
    (ahead,) = (row["from_lead"] for row in real["rows"] if row["method"] == "MiniLM")
    mean, low, high = (100 * ahead[key] for key in ("mean", "low", "high"))
    print(f"MiniLM less lead: {mean:.1f} ({low:.1f} to {high:.1f})")


@torch.no_grad()
def by_layer() -> None:
    """Print how close a question is to each sentence when the reader's last layers are left out."""
    reader = pretrained.load("all-MiniLM-L6-v2")
    sentences = tasks.split_sentences(KETTLE)
    read = [reader.read(text) for text in (BOIL, *sentences)]
    print(f"{BOIL} Cosines of the means of its tokens with those of")
    print(*(f"{n}: {text}" for n, text in enumerate(sentences)), sep="\n")
    print("layers", *(f"{n:6}" for n in range(len(sentences))))
    for layer in range(1 + len(read[0].weights)):
        means = torch.stack([normalize(one.states[layer].mean(0), dim=-1) for one in read])
        print(f"{layer:6}", *(f"{cosine:6.2f}" for cosine in means[1:] @ means[0]))
    looks = read[0].weights[-1].mean((0, 1))  # (L,), mean over the heads and over all that ask
    named = (f"{token} {x:.2f}" for token, x in zip(read[0].tokens, looks, strict=True))
    print("last layer, mean weight on", *named, sep="  ")


def chooser() -> None:
    """Draw how many choices of a trained summarizer are right, on five kinds of documents."""
    rows = {(row["layers"], row["updates"]): row for row in recorded.results("summaries")["rows"]}
    shown = (
        (rows[0, 960], "each alone", VERMILION, "s"),
        (rows[1, 960], "compared", BLUE, "o"),
    )
    tests = list(rows[1, 960]["precision"])
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
        for offset, (row, label, colour, marker) in enumerate(shown):
            for place, name in enumerate(tests):
                seeds = [one["precision"][name] for one in row["runs"]]
                y = [place + 0.3 * offset - 0.15] * len(seeds)
                ax.plot(
                    seeds, y, marker, color=colour, alpha=0.7, label=label if not place else None
                )
        ax.set_yticks(range(len(tests)), tests)
        ax.set(xlabel="share of its choices that are right, five seeds", xlim=(0, 1.03))
        ax.invert_yaxis()
        ax.legend(fontsize=9, loc="lower left")
        ax.set_title(
            "After 960 updates comparing finds all,\nbut not without habits or with new names"
        )
        plt.show()


def chooser_table() -> None:
    """Print what is behind that figure, with what is chosen at random or first."""
    run = recorded.results("summaries")
    rows = {(row["layers"], row["updates"]): row for row in run["rows"]}
    print(recorded.origin(run).replace(" (", "\n(", 1))
    print("share of right choices: median (smallest to largest) of five seeds")
    for name in ("random", "lead"):
        print(f"{name:12} {recorded.interval(run[name]['precision']):.2f}")
    for (layers, updates), row in sorted(rows.items()):
        print(f"{'compared' if layers else 'each alone'}, {updates} updates")
        for test, right in row["precision"].items():
            ends = f"({right['low']:.2f} to {right['high']:.2f})"
            print(f"  {test:18} {right['median']:.2f} {ends}")
