"""The figures of page 03b: what a model answers when it is lied to, or when a state is hidden."""

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from attnbook import recorded, translators
from attnbook.figures.colours import BLUE, INK, VERMILION
from attnkit.functional import Attended
from attnlab import tasks
from attnlab.rnn import Seq2Seq
from attnlab.tasks import Batches
from attnlab.tasks.vocab import BOS, EOS

LETTERS = 10
BUDGETS = (1200, 4800)
PARTS = (("right", "#1b7f5c", "the right letter"), ("beside", VERMILION, "the letter it points at"))
TOLD = {
    ("truth", "as it is"): "told the truth",
    ("truth", "hidden"): "told the truth,\nwhere it points is hidden",
    ("lie", "as it is"): "told a lie",
    ("lie", "hidden"): "told a lie,\nwhere it points is hidden",
}


def _rows() -> dict[tuple[str, int], dict]:
    """The rows of the experiment by encoder and updates."""
    return {(row["case"], row["steps"]): row for row in recorded.results("pointing")["rows"]}


def two_by_two() -> None:
    """What it writes where its map misses: told the truth or a lie, and one place hidden."""
    rows = _rows()
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.5, 3.2), layout="constrained", sharey=True)
        for ax, steps in zip(axes, BUDGETS, strict=True):
            row = rows["both directions", steps]
            for at, (told, weights) in enumerate(TOLD):
                found, left = row["told"][told][weights], 0.0
                for part, color, label in PARTS:
                    # A letter that comes twice in a row is both: it counts as right.
                    share = min(found[part]["median"], 1 - left)
                    ax.barh(at, share, left=left, color=color, height=0.6,
                            label=None if at else label)  # fmt: skip
                    if share > 0.1:
                        ax.text(left + share / 2, at, f"{share:.0%}", color="white",
                                ha="center", va="center")  # fmt: skip
                    left += share
                ax.barh(at, 1 - left, left=left, color="#9aa3ab", height=0.6,
                        label=None if at else "another")  # fmt: skip
            ax.set_yticks(range(len(TOLD)), TOLD.values())
            ax.set(xlim=(0, 1), ylim=(3.5, -0.5), xticks=(0, 0.5, 1))
            ax.set_xlabel("answers, median of three seeds", fontsize=10)
            ax.set_title(f"{steps:,} updates", loc="left", fontsize=10)
        figure.suptitle("One lie, and it writes what it points at, trained for longer too")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                      fontsize=10)  # fmt: skip
        plt.show()


def lie_table() -> None:
    """Print the numbers of that figure with the other changes, and what a state holds."""
    run, rows = recorded.results("pointing"), _rows()
    found = [rows["both directions", steps] for steps in BUDGETS]
    lines = {
        "misses, of all steps": [row["missed"] for row in found],
        **{
            name: [row["answers"][change]["missed"] for row in found]
            for name, change in (
                ("as it is", "none"),
                ("largest hidden", "hide largest"),
                ("right hidden", "hide right"),
                ("only the largest", "only largest"),
            )
        },
        "told a lie": [row["told"]["lie"]["as it is"]["right"] for row in found],
        "  writes what it points at": [row["told"]["lie"]["as it is"]["beside"] for row in found],
        "told a lie, hidden": [row["told"]["lie"]["hidden"]["right"] for row in found],
        **{
            f"read in {place}": [row["probe"][place] for row in found]
            for place in found[0]["probe"]
        },
    }
    print(recorded.origin(run).replace(" (", "\n(", 1))
    numbers = found[0]["parameters"]
    print(f"both directions, {numbers:,} numbers, 20 letters, {run['tested']} words;")
    print("right answers in the steps whose largest weight misses, and letters that a linear map")
    print("reads in a state:")
    print(f"{'':28}" + "".join(f"{f'{steps:,} updates':24}" for steps in BUDGETS))
    for name, cells in lines.items():
        print(f"{name:28}" + "".join(f"{f'{recorded.interval(cell):.2f}':24}" for cell in cells))
    scaled, plain = unscaled()
    print(f"one model of 1,200 updates, largest hidden: {scaled:.2f}, not scaled up: {plain:.2f}")


@torch.no_grad()
def unscaled(name: str = "reverse_additive", count: int = 300) -> tuple[float, float]:
    """The shares of right answers with the largest weight hidden where it misses: the others
    scaled up, and not."""
    model, *vocabs, _ = recorded.model(name)
    pairs = tasks.reverse(count, min_length=LETTERS, max_length=LETTERS, seed=999)
    (batch,) = Batches(pairs, *vocabs, batch_size=count, shuffle=False)
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_lengths))
    state, right = model.decoder.start(memory), [[], []]
    for step in range(LETTERS):
        given = batch.target_in[:, step, None], state, memory
        plain = model.decoder.run(*given, need_weights=True)
        largest = plain.weights[:, 0].argmax(-1)  # (B,)
        missed = largest != LETTERS - 1 - step
        for found, scaled in zip(right, (True, False), strict=True):

            def hide(_, inputs, attended, largest=largest, scaled=scaled):
                weights = attended.weights.scatter(-1, largest[:, None, None], 0)
                total = weights.sum(-1, keepdim=True) if scaled else 1
                return Attended(weights / total @ inputs[1], weights)

            handle = model.decoder.attention.register_forward_hook(hide)
            said = model.decoder.run(*given, need_weights=True).logits[:, 0].argmax(-1)
            handle.remove()
            found.append((said == batch.target_out[:, step])[missed])
        state = plain.state
    return tuple(torch.cat(found).float().mean().item() for found in right)


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
            name = (
                f"reads {case}: points at a wrong letter in {row['missed']['median']:.0%} of steps"
            )
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


def hidden_states_table(lengths: tuple[int, ...] = (6,), count: int = 100) -> None:
    """Print how often hiding one state changes the French of the cover's GRU."""
    translator = translators.translator("live_translator_additive")
    met = tasks.toy_french(84_000, max_words=12, seed=5000)
    _, others = tasks.split(met, 80_000, 4000, seed=0)
    updates = recorded.results("live_translator")["rows"][0]["steps"]
    print(f"the cover's GRU, {updates:,} updates:")
    print("states whose hiding changes the French, of 100 unseen sentences")
    for length in lengths:
        some = [pair.source for pair in others if len(pair.source) == length][:count]
        ids = torch.tensor([translator.source_vocab.encode(words) for words in some])
        plain = _written(translator.model, ids, torch.full((count,), -1))
        changed = [
            (_written(translator.model, ids, torch.full((count,), place)) != plain).any(1)
            for place in range(length)
        ]
        changed = torch.stack(changed, 1)  # (B, S)
        few = int((changed.sum(1) <= length / 3).sum())
        print(f"  {length} words: {changed.float().mean():.0%} of the states;", end="")
        print(f" a third of them or fewer in {few} of 100")
