"""The figures of 10 and 10b: three translators of real sentences, and their scores."""

import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import matplotlib.pyplot as plt
import torch

from attnbook import recorded, translators
from attnbook.figures.colours import BLUE, GREEN, INK, PINK, VERMILION
from attnbook.machines import BeamTree
from attnbook.machines.three_columns import alike
from attnbook.tables import Table
from attnlab import Translator, metrics, tasks

NAMES = {
    "fixed": "one vector",
    "dot": "dot product",
    "additive": "Bahdanau",
    "transformer": "Transformer",
}
"""The models of the results files, and what the pages call them."""

STYLE = {
    "fixed": {"color": VERMILION, "linestyle": ":"},
    "dot": {"color": PINK, "linestyle": "-."},
    "additive": {"color": BLUE, "linestyle": "--"},
    "transformer": {"color": GREEN, "linestyle": "-"},
}
SHOWN = ("fixed", "additive", "transformer")
NARROW = 3.9
"""Inches across a figure whose words are to be read on a telephone."""

MEANING = {
    "il est en retard.": "he is late",
    "il a la cinquantaine bien tassée.": "he is well past fifty",
    "c'est la vérité.": "it is the truth",
    "je n'ai aucune malveillance à son égard.": "I have no ill will towards him",
    "ça ne me dérange pas.": "it does not bother me",
    "tu ferais mieux de le croire.": "you had better believe it",
    "je ne lui fais pas non.": "I do not make him no",
    "je n'en suis pas en tête.": "I am not in the lead of it",
    "199 ans était un ané.": "“ané” is no word",
}
"""What some translations say, for readers without French."""


def rows(data: str = "tatoeba_en-fr", names: Sequence[str] = SHOWN) -> dict[str, dict]:
    """The recorded run of each model."""
    return {name: recorded.results(f"translate_{data}_{name}")["rows"][0] for name in names}


def best_rates() -> dict[tuple[str, int], dict]:
    """By model and updates the row of `equal_updates` at the rate with the highest BLEU."""
    found = {}
    for row in recorded.results("equal_updates")["rows"]:
        rival = found.get(key := (row["model"], row["steps"]), row)
        found[key] = max(row, rival, key=lambda one: one["bleu"]["median"])
    return found


def equal_updates() -> None:
    """Draw BLEU after the most updates over the peak rate: seeds, and lines through medians."""
    rows = recorded.results("equal_updates")["rows"]
    most = max(row["steps"] for row in rows)
    rates = sorted({row["rate"] for row in rows if row["steps"] == most})
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.2, 2.3), layout="constrained")
        for name in SHOWN:
            mine = {
                row["rate"]: row for row in rows if (row["model"], row["steps"]) == (name, most)
            }
            medians = [mine[rate]["bleu"]["median"] for rate in rates]
            ax.plot(range(len(rates)), medians, label=NAMES[name], **STYLE[name])
            for at, rate in enumerate(rates):
                scores = [run["bleu"] for run in mine[rate]["runs"]]
                ax.plot([at] * len(scores), scores, "o", color=STYLE[name]["color"], alpha=0.7)
        ax.set_xticks(range(len(rates)), [str(rate) for rate in rates])
        ax.set(
            xlabel=f"peak learning rate; {most} updates, a dot is a seed",
            ylabel="BLEU, greedy",
            xlim=(-0.2, len(rates) - 0.8),
            ylim=(0, 34),
        )
        ax.set_title("At their best rates, both that look back are ahead", size=11)
        ax.legend(loc="upper center", ncols=3)
        ax.grid(visible=True)
        plt.show()


def equal_table() -> None:
    """Print the runs on equal terms: each rate, and which one is drawn."""
    found, best = recorded.results("equal_updates"), best_rates()
    print(f"medians of 3 seeds; updates of {found['batch']} pairs; * the best rate")
    print(f"{'':13}updates   rate  parameters   loss   BLEU                 CPU seconds")
    for row in found["rows"]:
        name, bleu = row["model"], f"{recorded.interval(row['bleu']):.1f}"
        mark = "*" if best[name, row["steps"]]["rate"] == row["rate"] else " "
        print(
            f"{NAMES[name]:12}{mark}{row['steps']:7}{row['rate']:7}"
            f"{row['runs'][0]['parameters']:12,}{row['valid_loss']['median']:7.2f}   "
            f"{bleu:24}{row['cpu_seconds']['median']:8.0f}"
        )
    print(textwrap.fill(recorded.origin(found), 76, subsequent_indent="  "))


def captions() -> None:
    """Draw BLEU by the length of the source, on captions from German."""
    described = rows("multi30k_de-en")
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(NARROW, 1.85), layout="constrained")
        for name, row in described.items():
            parts = row["beam"]["by_length"]
            scores = [part["bleu"] for part in parts.values()]
            ax.plot(list(parts), scores, marker="o", **STYLE[name])
            side = 1 if name == "transformer" else -1
            at = (0.5, (scores[0] + scores[1]) / 2)
            ax.annotate(NAMES[name], at, (0, 5 * side), textcoords="offset points", ha="center",
                        va="bottom" if side > 0 else "top", size=10,
                        color=STYLE[name]["color"])  # fmt: skip
        counts = ", ".join(str(part["sentences"]) for part in parts.values())
        ax.set(
            xlabel=f"words and marks; {counts} captions",
            ylabel="BLEU, beam of 5",
            ylim=(0, 58),
        )
        ax.set_title("On long captions one vector loses most", size=11)
        ax.grid(visible=True)
        plt.show()


def scores_table() -> None:
    """Print the runs on Tatoeba: what each had, and what it reached."""
    found = rows(names=tuple(NAMES))
    print(f"{'':13}epochs  updates   rate  parameters   BLEU greedy   beam   chrF")
    for name, row in found.items():
        print(
            f"{NAMES[name]:13}{row['epochs']:6}{row['updates']:9,}{row['rate']:7}"
            f"{row['parameters']:12,}{row['greedy']['bleu']:14.1f}{row['beam']['bleu']:7.1f}"
            f"{row['beam']['chrf']:7.1f}"
        )
    for name in ("additive", "transformer"):
        row, sizes = found[name], found[name]["options"]
        print(
            f"{NAMES[name]}: {row['pieces']:,} pieces, batches of {row['batch_size']}, warm-up of "
            f"{row['warm_up']:,} updates,\n  features: {sizes['embed_dim']}, {sizes['hidden_dim']}"
        )
    print()
    for name in ("fixed", "additive", "transformer"):
        rounded = found[name]["eight_bits"]["bleu"] - found[name]["greedy"]["bleu"]
        print(f"rounded to eight bits, {NAMES[name]}: {rounded:+.2f} BLEU")
    for name in NAMES:
        run = recorded.results(f"translate_tatoeba_en-fr_{name}")
        print(textwrap.fill(recorded.origin(run), 76, subsequent_indent="  "))


def captions_table() -> None:
    """Print the runs on captions."""
    for pair in ("de-en", "en-de"):
        names = SHOWN if pair == "de-en" else ("transformer",)
        for name, row in rows(f"multi30k_{pair}", names).items():
            way = "German to English" if pair == "de-en" else "English to German"
            print(
                f"{way}, {NAMES[name]:12}{row['epochs']:3} epochs{row['parameters']:11,} parameters"
                f"   BLEU greedy {row['greedy']['bleu']:.1f}, beam {row['beam']['bleu']:.1f}"
            )
    parts = {name: row["beam"]["by_length"] for name, row in rows("multi30k_de-en").items()}
    for name, by_length in parts.items():
        scores = [part["bleu"] for part in by_length.values()]
        print(f"longest against shortest, {NAMES[name]:12} {scores[-1] / scores[0]:.0%}")


@cache
def models() -> dict[str, Translator]:
    """The translators that come with attnkit, and Bahdanau's without its choice."""
    found = {name: Translator.load(folder) for name, folder in translators.REAL_MODELS.items()}
    found = {"Transformer": found["Transformer"], "Bahdanau": found["Bahdanau's GRU"]}
    return found | {"equal weights": alike(found["Bahdanau"])} | translators.one_vector()


@cache
def test() -> tuple[list[str], list[list[str]]]:
    """The sentences of the test, and all right translations of each."""
    return tasks.references(tasks.tatoeba("test"))


@cache
def said(name: str) -> tuple[str, ...]:
    """What a model makes of the test, greedily."""
    torch.set_num_threads(1)  # sums in one order
    return tuple(one.text for one in models()[name].translate(test()[0], batch_size=128))


def without_choice() -> None:
    """Print what equal weights for all words cost Bahdanau's model."""
    sources, references = test()
    print(f"BLEU, {len(sources):,} unseen sentences, greedy, models as in the page")
    for name in ("One vector", "equal weights", "Bahdanau", "Transformer"):
        score = metrics.bleu(hypotheses=said(name), references=references, lowercase=True)
        print(f"  {name:14} {score.score:.1f}")
    longer = rows()["fixed"]["eight_bits"]["bleu"]
    print(f"  One vector, another run, of 14 epochs, rounded alike {longer:.1f}")


def control_scores() -> dict[str, float]:
    """BLEU of Bahdanau's model without its choice, one vector after as many epochs, and Bahdanau's
    as it is: all of eight bits, as in the page."""
    _, references = test()

    def score(name: str) -> float:
        return metrics.bleu(hypotheses=said(name), references=references, lowercase=True).score

    return {
        "weights made equal": score("equal weights"),
        "never had attention": rows()["fixed"]["eight_bits"]["bleu"],
        "with attention": score("Bahdanau"),
    }


def control() -> None:
    """Draw what a model loses that is robbed of its choice, and what one has that never had it."""
    found = control_scores()
    shades = (INK, STYLE["fixed"]["color"], STYLE["additive"]["color"])
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(NARROW, 1.65), layout="constrained")
        bars = ax.barh(list(found), list(found.values()), color=shades)
        ax.bar_label(bars, fmt="%.1f", padding=4)
        ax.set(xlim=(0, 45))
        ax.set_xlabel("BLEU, greedy; 14 epochs, one run each", x=0.3)
        title = "Robbed of its choice, a model falls below\none that was trained without attention"
        ax.set_title(title, size=11)
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        plt.show()


def where() -> Table:
    """Which model the page shows where, how long it was trained, and its BLEU."""
    _, references = test()

    def score(name: str) -> str:
        found = metrics.bleu(hypotheses=said(name), references=references, lowercase=True)
        return f"{found.score:.1f}"

    longer = rows()["fixed"]
    places = {
        "One vector": "the machine, the judged hundred",
        "Bahdanau": "the machine, the bars, the judged hundred",
        "Transformer": "the machine, the judged hundred, the three worst",
    }
    lines = [(name, place, str(EPOCHS[name]), score(name)) for name, place in places.items()]
    again = ("One vector, trained longer", "the bars", str(longer["epochs"]),
             f"{longer['eight_bits']['bleu']:.1f}")  # fmt: skip
    return Table(["model", "where on this page", "epochs", "BLEU, greedy"],
                 [lines[0], again, *lines[1:]])  # fmt: skip


GRADES = {"meaning": "Is the meaning kept?", "french": "Is the French right?"}
BEST = {"meaning": "kept", "french": "right"}
SHADES = (BLUE, "#9CC9E8", "#E3E3E3")
"""The best grade, the middle one, and the worst."""


EPOCHS = {"One vector": 11, "Bahdanau": 14, "Transformer": 27}
"""How long the models of the page were trained."""


def judged() -> None:
    """Draw how many of a hundred translations got each grade, by the first judge."""
    found = recorded.results("judged")["rows"]
    names = [f"{row['model']}, {EPOCHS[row['model']]} epochs" for row in found]
    with plt.style.context("attnbook.style"):
        fig, axes = plt.subplots(2, 1, figsize=(NARROW, 2.5), sharex=True, layout="constrained")
        for ax, (part, question) in zip(axes, GRADES.items(), strict=True):
            left = [0] * len(found)
            for grade, shade in zip(found[0][part][0], SHADES, strict=True):
                counts = [row[part][0][grade] for row in found]
                bars = ax.barh(names, counts, left=left, color=shade, label=grade)
                ink = "white" if shade == SHADES[0] else INK
                ax.bar_label(bars, label_type="center", color=ink, size=9)
                left = [before + count for before, count in zip(left, counts, strict=True)]
            ax.set(xlim=(0, 100))
            ax.invert_yaxis()
            ax.set_title(question, size=10, loc="left", x=-0.8)
            ax.tick_params(axis="y", length=0)
            ax.legend(ncols=3, loc="lower right", bbox_to_anchor=(1.04, 0.96), handlelength=0.7,
                      columnspacing=0.7, handletextpad=0.3, frameon=False, fontsize=9)  # fmt: skip
        axes[1].set(xlabel="sentences of 100")
        fig.suptitle("With one vector the meaning goes, not the French", size=11)
        plt.show()


def judged_table() -> Table:
    """The hundred sentences, with a mark on what both judges would take as it is."""
    found = recorded.results("judged")["rows"]
    header = ("English", *(row["model"] for row in found))
    lines = zip(*(row["translations"] for row in found), strict=True)
    return Table(header, [(line[0]["source"], *map(_marked, line)) for line in lines])


def _marked(one: dict) -> str:
    both = all(verdict == [*BEST.values()] for verdict in one["verdicts"])
    return f"{'✓ ' if both else ''}{one['said']}"


def judged_counts() -> None:
    """Print how many of the hundred each judge would take, and the grades."""
    found = recorded.results("judged")
    alike_in_form = {
        (one["source"], one["said"]): len(
            {grades[1] == BEST["french"] for grades in one["verdicts"]}
        )
        for row in found["rows"]
        for one in row["translations"]
    }
    print(f"of {found['translations']} translations the judges agree on")
    print(f"  whether to take it as it is        {found['judges_agree']}")
    print(f"  whether the French is right        {[*alike_in_form.values()].count(1)}\n")
    print("                taken as it is   meaning kept     French right     (judge 1, judge 2)")
    for row in found["rows"]:
        kept, right = ([judge[grade] for judge in row[part]] for part, grade in BEST.items())
        pairs = "".join(f"{a:>8}, {b:<7}" for a, b in (row["taken"], kept, right))
        print(f"{row['model']:14}{pairs.rstrip()}")


def worst(most: int = 5) -> Table:
    """The greedy translations of the Transformer that agree least with any reference, by chrF, of
    sentences of six words and marks or more."""
    sources, references = test()
    found = said("Transformer")

    def agreement(row: int) -> float:
        pair = {"hypotheses": [found[row]], "references": [references[row]]}
        return metrics.chrf(**pair, lowercase=True).score

    long = [row for row, text in enumerate(sources) if len(tasks.tokenize(text)) >= 6]
    chosen = sorted(long, key=lambda row: (agreement(row), row))[:most]

    def glossed(text: str) -> str:
        return f"{text} ({MEANING[text]})" if text in MEANING else text

    read = [
        [sources[row], glossed(found[row]), glossed(references[row][0].lower())] for row in chosen
    ]
    return Table(["English", "the Transformer", "a person"], read)


def two_sentences() -> None:
    """Print what models make of two sentences at once, against one by one."""
    sources, references = test()
    train = tasks.tatoeba("train")
    lengths = [len(tasks.tokenize(text)) for text in sources]
    inner = re.compile(r"(?<!Mr)(?<!Mrs)(?<!Dr)[.?!]\W+[A-Z]")
    several = sum(bool(inner.search(english)) for english, _ in train)
    print(f"training: {several} of {len(train):,} texts have two sentences\n")
    print("chrF of two sentences   apart   together")
    for shortest, longest in ((1, 4), (7, 99)):
        kept = [row for row, n in enumerate(lengths) if shortest <= n <= longest]
        half = len(kept) // 2
        pairs = list(zip(kept[:half], kept[half : 2 * half], strict=True))
        join = partial(_joined, pairs=pairs)
        together = [len(tasks.tokenize(text)) for text in join(sources)]
        print(f"{min(together)} to {max(together)} words and marks")
        right = join([texts[0] for texts in references])
        for name in ("Bahdanau", "Transformer"):
            both = [one.text for one in models()[name].translate(join(sources))]
            given = (join(said(name)), both)
            scores = [
                metrics.chrf(hypotheses=one, references=right, lowercase=True).score
                for one in given
            ]
            print(f"  {name:22}{scores[0]:.1f}    {scores[1]:.1f}")


def _joined(texts: Sequence[str], pairs: list[tuple[int, int]]) -> list[str]:
    return [f"{texts[one]} {texts[two]}" for one, two in pairs]


SEARCHED = {
    "Her old cat is still alive.": "son vieux chat est encore en vie.",
    "Where was the princess?": "où était la princesse?",
    "Don't do anything stupid, OK?": "ne fais rien de stupide, d'accord?",
}
"""Test sentences that a wider beam changes, each with one of its right translations."""

BEAM_MEANINGS = {
    "son vieil est encore en vie.": "her old is still alive",
    "son âge est encore en vie.": "her age is still alive",
    "son vieux chat est encore en vie.": "her old cat is still alive",
    "où était le princes?": "where was the princes?",
    "où était la princesse?": "where was the princess?",
    "ne fais rien de stupide, d'accord?": "do nothing stupid, OK?",
    "ne fais rien, d'accord?": "do nothing, OK?",
    "ne fais rien d'accord, d'accord?": "do nothing OK, OK?",
}
"""What the best of a beam says, back in English, by one of the authors."""


def beam_tree(**options: Any) -> BeamTree:
    """The machine that searches with the Transformer of the page.

    Args:
        options: arguments of `BeamTree`, in place of those that are set here.

    Example:
        >>> beam_tree(width=2).compute()["found"][0]["text"]
        'son âge est encore en vie.'
    """
    given = {"sentences": [*SEARCHED], "people": [*SEARCHED.values()], "width": 3}
    given["meanings"] = BEAM_MEANINGS
    tree = BeamTree(models()["Transformer"], **given | options)
    if "box" not in options:
        tree.box = next(at for at, node in enumerate(tree.trees[0]) if node[1] == "▁vieux")
    return tree


def searches(ahead: Sequence[float]) -> None:
    """Draw what a beam gains for the Transformer, and what the Transformer gains over Bahdanau's
    model with either search, with how far the choice of sentences moves it.

    Args:
        ahead: by how much the Transformer is ahead of Bahdanau's model, greedily, and the lowest
            and the highest of its interval.
    """
    found = recorded.results("resampled")
    shown = [row for row in found["rows"] if row["model"] == "transformer"]
    shown += [row for row in found["transformer_over_additive"] if row["search"] == "beam"]
    bars = [(row["difference"], *row["interval_95"]) for row in shown]
    bars.insert(2, tuple(ahead))
    names = [
        *(f"a beam of five, penalty {row['length_penalty']}" for row in shown[:2]),
        "the Transformer for Bahdanau’s, both greedy",
        "the same, both with a beam of five",
    ]
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(NARROW, 2.1), layout="constrained")
        for at, (gain, low, high) in enumerate(bars):
            shade = BLUE if low > 0 else VERMILION
            ax.plot((low, high), (at, at), color=shade, lw=8, solid_capstyle="butt", alpha=0.45)
            ax.plot((0, 0), (at - 0.22, at + 0.22), color=INK, lw=1)
            ax.plot(gain, at, "o", color=shade)
            said = f"{gain:+.1f}   ({low:+.1f} to {high:+.1f})".replace("-", "−")
            x, side = (high + 0.3, "left") if high < 5 else (low - 0.3, "right")
            ax.text(x, at, said, ha=side, va="center", size=9.5)
            ax.text(-1, at - 0.46, names[at], va="center", size=9.5)
        ax.spines["left"].set_visible(False)
        ax.set(xlim=(-1, 13.6), ylim=(len(bars) - 0.6, -0.8), xticks=(0, 5, 10), yticks=())
        ax.set_xlabel("BLEU gained, with 95% intervals", size=10)
        ax.set_title("One gain may be luck: its interval holds 0", size=11)
        plt.show()


def searched_sentences() -> None:
    """Print what a beam does to each model's translations of the test and to their BLEU, and the
    runs."""
    found = recorded.results("resampled")
    print(f"{found['sentences']:,} test sentences, a beam of 5")
    print("                 penalty   changed   a person's, word for word   BLEU")
    for row in found["rows"]:
        low, high = row["interval_95"]
        print(
            f"  {NAMES[row['model']]:12} {row['length_penalty']:9} {row['changed']:9}"
            f"   {row['gained']:2} more, {row['lost']:2} no longer"
            f"      {row['greedy']:.1f} {row['difference']:+.1f} ({low:+.1f} to {high:+.1f})"
        )
    print("the Transformer's BLEU less Bahdanau's:")
    for row in found["transformer_over_additive"]:
        low, high = row["interval_95"]
        print(f"  both {row['search']:6} {row['difference']:+.1f} ({low:+.1f} to {high:+.1f})")
    print(f"intervals: the middle 95% of {found['draws']:,} draws of the sentences")
    print(textwrap.fill(recorded.origin(found), 76, subsequent_indent="  "))


def cat_scores() -> None:
    """Print the probabilities of the first two sentences of the beam, and what a penalty of 0.6
    makes of their logarithms."""
    for one in beam_tree().compute()["found"][:2]:
        print(
            f"{one['text']:34} {math.exp(one['total']):.3f}: {one['total']:.2f} / "
            f"{one['total'] / one['score']:.2f} = {one['score']:.2f}"
        )


def _plain(text: str) -> str:
    """A person's sentence as the translators write theirs."""
    return tasks.detokenize(tasks.tokenize(text))


def six_scores() -> None:
    """Print one list of translations scored in six ways, and the signature of the first."""
    _, references = test()
    found = list(said("Transformer"))
    firsts = [texts[0] for texts in references]
    subwords = models()["Transformer"].target_vocab

    def pieces(text: str) -> str:
        return " ".join(subwords.pieces(tasks.tokenize(text)))

    cut = [pieces(text) for text in found], [[pieces(one) for one in texts] for texts in references]
    plain = {"lowercase": True}
    ways = [
        ("as here", found, references, plain, ""),
        ("case kept", found, references, {}, "writes no capitals"),
        ("no tokenizer", found, references, plain | {"tokenize": "none"}, "“chat.” ≠ “chat”"),
        ("one reference", found, firsts, plain, "fewer answers"),
        ("  and swapped", firsts, found, plain, "the two exchanged"),
        ("pieces", *cut, plain, "half words count"),
    ]
    signature = ""
    for name, ours, theirs, options, why in ways:
        scored = metrics.bleu(hypotheses=ours, references=theirs, **options)
        print(f"{name:13} {scored.score:.1f}  {why}".rstrip())
        signature = signature or scored.signature
    names = signature.split("|")
    print("signature", "|".join(names[:3]) + "|\n ", "|".join(names[3:]))


def pieces_scored() -> None:
    """Print a sentence as text and as pieces, and its BLEU against a reference cut alike."""
    vocab = models()["Transformer"].target_vocab
    for show in (str, lambda text: " ".join(vocab.pieces(tasks.tokenize(text)))):
        said, right = map(show, ("il a vu ces hôtels.", "il a vu ces hôtels-là."))
        score = metrics.bleu(hypotheses=[said], references=[right]).score
        print(f"{score:.1f}  {said}")


def lengths() -> None:
    """Print how many pieces, words and characters a sentence of the test has, and what is
    unknown."""
    sources, _ = test()
    train = tasks.tatoeba("train")
    learned = [tasks.tokenize(text) for text in sorted({english for english, _ in train})]
    counts: dict[str, int] = {}
    for word in itertools.chain.from_iterable(learned):
        counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    unseen = [tasks.tokenize(text) for text in sources]
    total = sum(map(len, unseen))
    print(f"{len(train):,} pairs, {len(ranked):,} English words")
    print("words kept    unknown words   sentences with one")
    for kept in (1000, 4000, len(ranked)):
        known = set(ranked[:kept])
        missing = [sum(word not in known for word in words) for words in unseen]
        share = sum(map(bool, missing)) / len(unseen)
        print(f"{kept:10,}    {sum(missing) / total:13.1%}   {share:.0%}")
    subwords = models()["Transformer"].source_vocab
    pieces = [subwords.pieces(words) for words in unseen]
    unknown = sum(piece not in subwords.ids for row in pieces for piece in row)
    print(f"\n{len(subwords):,} pieces of both languages: {unknown} unknown")
    for name, length in (
        ("words", total),
        ("pieces", sum(map(len, pieces))),
        ("characters", sum(map(len, sources))),
    ):
        print(f"  {name:10} {length / len(unseen):5.1f} a sentence")
