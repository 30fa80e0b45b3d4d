"""The figures of chapter 03: accuracy by length, and what a forgotten mask costs."""

from functools import cache

import matplotlib.pyplot as plt
import torch
from torch import nn

from attnbook import recorded
from attnbook.figures.colours import RUST, SEA
from attnlab import metrics, tasks
from attnlab.decoding.predictions import align
from attnlab.tasks import Batches

STYLE = {
    "fixed GRU": {"color": SEA, "marker": "o", "label": "one fixed vector"},
    "additive": {"color": RUST, "marker": "s", "label": "additive attention"},
}
PANELS = {
    "reverse": ("words backwards, 1,200 updates", "letters of the source", (5, 10, 12, 14, 16)),
    "toy_french": ("English to French, 1,000 updates", "words of the source", (3, 5, 8, 10, 16)),
}


def _row(run: dict, model: str) -> dict:
    return next(row for row in run["rows"] if row["model"] == model)


def accuracy_by_length() -> None:
    """Exact answers by length of the source, with attention and with one fixed vector."""
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.1, 2.7), layout="constrained", sharey=True)
        for ax, (task, (title, across, _)) in zip(axes, PANELS.items(), strict=True):
            run = recorded.results(f"by_length_{task}")
            for model, style in STYLE.items():
                lengths = _row(run, model)["by_length"]
                n = [int(length) for length in lengths]
                found = [lengths[length]["exact"] for length in lengths]
                m, low, high = (
                    [100 * one[part] for one in found] for part in ("median", "low", "high")
                )
                ax.plot(n, m, markersize=4, **style)
                ax.fill_between(n, low, high, alpha=0.2, color=style["color"])
            ax.axvline(run["trained_to"], color="grey", linestyle="--")
            ax.set(ylim=(-3, 108), yticks=(0, 50, 100), xlabel=across)
            ax.set_title(title, loc="left", fontsize=10)
        axes[0].set_ylabel("exact answers, %")
        axes[1].text(8.4, 82, "dashed: the longest\nit learned from", color="dimgrey", fontsize=9)
        axes[0].text(0.6, 22, "one fixed\nvector", color=SEA)
        axes[0].text(14.2, 76, "additive\nattention", color=RUST)
        figure.suptitle("Attention reaches further,\nand falls beyond what it has learned from")
        plt.show()


def accuracy_table() -> None:
    """Print where the figure's numbers come from, and some of them."""
    for task, (_, _, lengths) in PANELS.items():
        run = recorded.results(f"by_length_{task}")
        print(recorded.origin(run).replace(" (", "\n  (", 1))
        rows = [_row(run, model) for model in STYLE]
        counts = " and ".join(f"{row['parameters']['median'] / 1000:.0f}" for row in rows)
        print(f"{task}: trained to {run['trained_to']}; thousands of parameters: {counts}")
        seconds = max(one["cpu_seconds"] for row in rows for one in row["runs"])
        print(f"  {rows[0]['steps']:,} updates, at most {seconds:.0f} CPU seconds each")
        print("  length  fixed GRU             additive")
        for n in lengths:
            cells = []
            for row in rows:
                m, low, high = (
                    row["by_length"][str(n)]["exact"][k] for k in ("median", "low", "high")
                )
                cells.append(f"{m:.2f} ({low:.2f} to {high:.2f})")
            print(f"  {n:6}  {cells[0]:20}  {cells[1]}")


def machines_table() -> None:
    """Print how good the small models inside the machines of 03 and 03b are."""
    for row in recorded.results("machine_models")["rows"]:
        rate = row["error_rate"]["median"]
        print(f"{row['task']}, {row['steps']:,} updates: {row['right']:,} of", end=" ")
        print(f"{row['tested']:,} unseen sources right, alignment error {rate:.2f}")


def _forget_mask(module: nn.Module, inputs: tuple, encoded):
    return encoded._replace(mask=torch.ones_like(encoded.mask))


@cache
def _all_unseen() -> list[tasks.Pair]:
    """Sentences of up to 18 words that `toy_french_additive` has not learned from."""
    drawn = tasks.toy_french(30_000, max_words=18, seed=3000)
    pool, rest = tasks.split(drawn, 18_000, 12_000, seed=0)
    known = {pair.source for pair in pool if len(pair.source) <= 8}
    return [pair for pair in rest if pair.source not in known]


def _unseen(length: int) -> list[tasks.Pair]:
    """Those of so many words."""
    return [pair for pair in _all_unseen() if len(pair.source) == length]


@torch.no_grad()
def padding_table(widths: tuple[int, ...] = (3, 6, 12, 18), count: int = 100) -> None:
    """Print how often a translator is right when short sentences are padded, masked and not."""
    model, *vocabs, _ = recorded.model("toy_french_additive")
    short = _unseen(3)[:count]
    (batch,) = Batches(short, *vocabs, batch_size=count, shuffle=False)
    print(f"{count} unseen sentences      right answers          weight on padding,")
    print("of 3 words, padded to     masked      no mask    no mask")
    for width in widths:
        source = nn.functional.pad(batch.source, (0, width - 3))  # (B, width)
        rights = []
        for forget in (False, True):
            hook = model.encoder.register_forward_hook(_forget_mask) if forget else None
            decoded = model.greedy(source, batch.source_lengths, 12, need_weights=True)
            said = [vocabs[1].decode(row) for row in decoded.tokens]
            wanted = [list(short[index].target) for index in batch.index]
            rights.append(sum(map(list.__eq__, said, wanted)) / count)
        hook.remove()
        share = decoded.weights[:, 0, 3:].sum(-1).mean().item()
        print(f"{width:<26}{rights[0]:<12.0%}{rights[1]:<11.0%}{share:.2f}")


def alignment_table() -> None:
    """Print how far the largest weights are from the right links, and what order would get."""
    run = recorded.results("by_length_toy_french")
    found = _row(run, "additive")["error_rate"]
    print(f"alignment error rate, toy_french, five seeds: {recorded.interval(found):.2f}")
    model, *vocabs, _ = recorded.model("toy_french_additive")
    near = [pair for n in range(2, 9) for pair in _unseen(n)[:100]]
    batches = Batches(near, *vocabs, batch_size=200, shuffle=False)
    right = {"sure": [p.sure for p in near], "possible": [p.possible for p in near]}
    rate = metrics.alignment_error_rate(align(model, batches), **right)
    print(f"seed 0, {len(near)} unseen French sentences: {rate:.3f}")
    in_order = [{(t, min(t, len(p.source) - 1)) for t in range(len(p.target))} for p in near]
    rate = metrics.alignment_error_rate(in_order, **right)
    print(f"word by word in order, for comparison: {rate:.3f}")
    print(f"the machine, sentences with “the” first: it looks past it in {past_the(100)} of 100")


@torch.no_grad()
def past_the(count: int) -> int:
    """In how many sentences the machine's first look, for *le*, *la* or *l'*, is not on *the*."""
    model, *vocabs, _ = recorded.model("machine_french")
    drawn = dict.fromkeys(tasks.toy_french(40 * count, max_words=8, seed=3))
    pairs = [p for p in drawn if p.source[0] == "the" and p.target[0] in ("le", "la", "l'")][:count]
    batch = tasks.collate(pairs, *vocabs)
    told = model.greedy(batch.source, batch.source_lengths, 1, need_weights=True)
    return int(told.weights[:, 0].argmax(-1).count_nonzero())
