"""The figures of page 03b: what a model answers when it is lied to, or when a state is hidden."""

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from attnbook import recorded, translators
from attnbook.figures.colours import BLUE, INK, VERMILION
from attnlab import tasks
from attnlab.rnn import Seq2Seq
from attnlab.tasks.vocab import BOS, EOS

BUDGETS = (1200, 4800)
PARTS = (("right", "#1b7f5c", "the right letter"), ("last", VERMILION, "the last letter again"))
TOLD = {
    ("missed", "truth", "hidden"): "told the truth,\nwhere it points is hidden",
    ("missed", "lie", "as it is"): "told a lie",
    ("missed", "lie", "hidden"): "told a lie,\nwhere it points is hidden",
    ("missed", "answer", "as it is"): "told that it has written\nthe right letter",
    ("met", "lie", "as it is"): "the control: told a lie,\nwhere the map is right",
}


def _rows() -> dict[tuple[str, int], dict]:
    """The rows of the experiment by encoder and updates."""
    return {(row["case"], row["steps"]): row for row in recorded.results("pointing")["rows"]}


def two_by_two() -> None:
    """What it writes where its map misses: told the truth or a lie, and one place hidden; and told
    a lie where its map does not miss."""
    rows = _rows()
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.5, 3.7), layout="constrained", sharey=True)
        for ax, steps in zip(axes, BUDGETS, strict=True):
            row = rows["both directions", steps]
            for at, (where, told, weights) in enumerate(TOLD):
                found, left = row["told"][where][told][weights], 0.0
                for part, color, label in PARTS:
                    share = min(found[part]["median"], 1 - left)  # medians need not sum to 1
                    ax.barh(at, share, left=left, color=color, height=0.6,
                            label=None if at else label)  # fmt: skip
                    if share > 0.15:
                        ax.text(left + share / 2, at, f"{share:.0%}", color="white",
                                ha="center", va="center")  # fmt: skip
                    left += share
            ax.set_yticks(range(len(TOLD)), TOLD.values())
            ax.set(xlim=(0, 1), ylim=(4.5, -0.5), xticks=(0, 0.5, 1))
            ax.set_xlabel("answers, median of three seeds", fontsize=10)
            ax.set_title(f"{steps:,} updates", loc="left", fontsize=10)
        figure.suptitle("Where the map misses, a lie brings the last letter back")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2,
                      fontsize=10)  # fmt: skip
        plt.show()


def lie_table() -> None:
    """Print the numbers of that figure with the other changes, and what a state holds."""
    run, rows = recorded.results("pointing"), _rows()
    found = [rows["both directions", steps] for steps in BUDGETS]
    lies = [row["told"] for row in found]
    lines = {
        "misses, of all steps": [row["missed"] for row in found],
        **{
            name: [row["answers"][change]["missed"] for row in found]
            for name, change in (
                ("as it is", "none"),
                ("largest hidden", "hide largest"),
                ("  not scaled up", "zero largest"),
                ("right hidden", "hide right"),
                ("only the largest", "only largest"),
            )
        },
        "told a lie": [told["missed"]["lie"]["as it is"]["right"] for told in lies],
        "  writes the last again": [told["missed"]["lie"]["as it is"]["last"] for told in lies],
        "told a lie, hidden": [told["missed"]["lie"]["hidden"]["right"] for told in lies],
        "told the right letter": [told["missed"]["answer"]["as it is"]["right"] for told in lies],
        "  the last again": [told["missed"]["answer"]["as it is"]["last"] for told in lies],
        "map right, told a lie": [told["met"]["lie"]["as it is"]["right"] for told in lies],
        "  right one told": [told["met"]["answer"]["as it is"]["last"] for told in lies],
        **{
            f"read in {place}": [row["probe"][place] for row in found]
            for place in found[0]["probe"]
        },
        "any words: misses": [row["as_drawn"]["missed"] for row in found],
        "  on the same letter": [row["as_drawn"]["same_symbol"] for row in found],
    }
    print(recorded.origin(run).replace(" (", "\n(", 1))
    numbers = found[0]["parameters"]
    print(f"both directions, {numbers:,} numbers, 20 letters, {run['tested']} words;")
    print("ten different letters each; right answers in the steps whose largest weight misses, and")
    print("letters that a linear map reads in a state:")
    print(f"{'':28}" + "".join(f"{f'{steps:,} updates':24}" for steps in BUDGETS))
    for name, cells in lines.items():
        print(f"{name:28}" + "".join(f"{f'{recorded.interval(cell):.2f}':24}" for cell in cells))


def encoders_table() -> None:
    """Print what is behind the figure of the three encoders."""
    run = recorded.results("pointing")
    print(recorded.origin(run))
    print("encoder           largest weight misses; of those right with this hidden:")
    print(f"{'':40}largest weight       right place")
    for row in (row for row in run["rows"] if row["steps"] == BUDGETS[0]):
        hidden = (row["answers"][c]["missed"] for c in ("hide largest", "hide right"))
        told = [f"{recorded.interval(cell):.2f}" for cell in (row["missed"], *hidden)]
        print(f"{row['case']:18}{told[0]:22}{told[1]:21}{told[2]}")


def encoders() -> None:
    """Right answers where the map misses, with two places hidden, by encoder."""
    rows = _rows()
    hide = {
        "hide largest": ("the place it points at is hidden", BLUE),
        "hide right": ("the right place is hidden", VERMILION),
    }
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 3.6), layout="constrained")
        for at, case in enumerate(("both directions", "forward only", "backward only")):
            row = rows[case, BUDGETS[0]]
            missed = row["missed"]["median"]
            share = f"{missed:.{int(missed < 0.01)}%}"
            name = f"reads {case}: points at a wrong letter in {share} of steps"
            ax.text(0.01, 3 * at - 0.85, name, fontsize=10, va="center")
            for place, (change, (label, color)) in enumerate(hide.items()):
                found, y = row["answers"][change]["missed"], 3 * at + 0.8 * place
                m, low, high = (found[part] for part in ("median", "low", "high"))
                ax.barh(y, m, height=0.66, color=color, label=None if at else label)
                ax.plot([low, high], [y, y], color=INK, linewidth=1.5)
                ax.text(high + 0.02, y, f"{m:.0%}", va="center")
        ax.set(xlim=(0, 1.14), ylim=(7.4, -1.5), xticks=(0, 0.5, 1), yticks=())
        ax.set_xlabel("right answers in those steps, three seeds of 1,200 updates")
        figure.suptitle("A map that misses means two things; hiding a place tells which")
        figure.legend(loc="outside lower center", ncols=2, fontsize=10)
        plt.show()


def negation_table() -> None:
    """Print how often the cover's models negate with "not" hidden, and without it."""
    found = recorded.results("negation")
    print("of sentences with “not”, negated in French: median of three draws")
    print("(smallest to largest)")
    for row in found["rows"]:
        told = [
            f"{case} {x['median']:.0f} ({x['low']:.0f} to {x['high']:.0f}) of {row['sentences']}"
            for case, x in row["negated"].items()
            if case != "as it is"
        ]
        print(f"  {row['model']:27} {', '.join(told)}")


@torch.no_grad()
def _written(model: Seq2Seq, ids: Tensor, hidden: Tensor) -> Tensor:
    """Greedy translations (B, 30) with one state (B,) hidden from the attention; -1: none."""
    encoded = model.encoder(ids)
    mask = encoded.mask & (torch.arange(ids.shape[1]) != hidden[:, None])[:, None]  # (B, 1, S)
    memory = model.decoder.prepare(encoded._replace(mask=mask))
    state, word = model.decoder.start(memory), torch.full((len(ids), 1), BOS)
    ended, out = torch.zeros_like(word, dtype=torch.bool), []
    for _ in range(30):
        step = model.decoder.run(word, state, memory, need_weights=True)
        state, word = step.state, step.logits.argmax(-1)
        word = word.masked_fill(ended, EOS)
        ended = ended | (word == EOS)
        out.append(word)
    return torch.cat(out, 1)


def _changed(model: Seq2Seq, ids: Tensor) -> Tensor:
    """Whether hiding a state changes what is written, for each state (B, S)."""
    plain, *others = (
        _written(model, ids, torch.full(ids.shape[:1], place)) for place in range(-1, ids.shape[1])
    )
    return torch.stack([(one != plain).any(1) for one in others], 1)


def hidden_states_table(lengths: tuple[int, ...] = (6,), count: int = 100) -> None:
    """Print how often hiding one state changes the French of the cover's GRU."""
    translator = translators.translator("live_translator_additive")
    met = tasks.toy_french(84_000, max_words=12, seed=5000)
    _, others = tasks.split(met, 80_000, 4000, seed=0)
    updates = recorded.results("live_translator")["rows"][0]["steps"]
    print(f"the cover's GRU, {updates:,} updates:")
    words = ["the", "black", "cat", "did", "not", "sleep"]
    changed = _changed(translator.model, torch.tensor([translator.source_vocab.encode(words)]))
    print("states whose hiding changes the French:")
    print(f"  {' '.join(words)}: {changed.sum()} of {changed.numel()}")
    print("and of 100 unseen sentences")
    for length in lengths:
        some = [pair.source for pair in others if len(pair.source) == length][:count]
        ids = torch.tensor([translator.source_vocab.encode(one) for one in some])
        changed = _changed(translator.model, ids)
        few = int((changed.sum(1) <= length / 3).sum())
        print(f"  {length} words: {changed.float().mean():.0%} of the states;", end="")
        print(f" a third of them or fewer in {few} of 100")
