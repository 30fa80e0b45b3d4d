"""The figures of chapter 03: accuracy by length, and what a forgotten mask costs."""

from functools import cache, partial

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from attnbook import recorded
from attnbook.figures.colours import GREY, RUST, SEA
from attnlab import metrics, tasks
from attnlab.rnn.encoder import Encoded
from attnlab.tasks import Batches, french_lexicon

STYLE = {
    "fixed GRU": {"color": SEA, "marker": "o"},
    "additive": {"color": RUST, "marker": "s"},
}
# Of French only: each has what attention has, but for one thing.
CONTROLS = {
    "fixed GRU, every step": {"color": SEA, "marker": "o", "markerfacecolor": "none"},
    "additive, no tanh": {"color": GREY, "marker": "v", "linestyle": ":"},
}
# Of words backwards, in the table alone.
OTHERS = ("fixed LSTM", "dot, input feeding")
PANELS = {
    "reverse": ("words backwards, 1,200 updates", "letters of the source", (5, 10, 12, 14, 16)),
    "toy_french": ("English to French, 1,000 updates", "words of the source", (3, 4, 5, 7, 8, 10)),
}


def _row(run: dict, model: str) -> dict:
    return next(row for row in run["rows"] if row["model"] == model)


def accuracy_by_length() -> None:
    """Exact answers by length of the source: attention, one fixed vector, and two controls."""
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(6.1, 2.7), layout="constrained", sharey=True)
        for ax, (task, (title, across, _)) in zip(axes, PANELS.items(), strict=True):
            run = recorded.results(f"by_length_{task}")
            lines = [(_row(run, model), style) for model, style in STYLE.items()]
            if task == "toy_french":
                controls = recorded.results("look_controls")
                lines += [(_row(controls, model), style) for model, style in CONTROLS.items()]
            for row, style in lines:
                n = [int(length) for length in row["by_length"]]
                found = [one["exact"] for one in row["by_length"].values()]
                m, low, high = (
                    [100 * one[part] for one in found] for part in ("median", "low", "high")
                )
                ax.plot(n, m, markersize=4, **style)
                ax.fill_between(n, low, high, alpha=0.2, color=style["color"])
            ax.axvline(run["trained_to"], color="grey", linestyle="--")
            ax.set(ylim=(-3, 108), yticks=(0, 50, 100), xlabel=across)
            ax.set_title(title, loc="left", fontsize=10)
        axes[0].set_ylabel("exact answers, %")
        axes[1].text(8.4, 88, "dashed: the longest\nit learned from", color="dimgrey", fontsize=9)
        axes[1].text(11.2, 44, "○ vector at every step\n▼ no tanh", color="dimgrey", fontsize=9)
        axes[0].text(0.6, 22, "one fixed\nvector", color=SEA)
        axes[0].text(14.2, 76, "additive\nattention", color=RUST)
        figure.suptitle("Attention reaches further,\nand falls beyond what it has learned from")
        plt.show()


def _print_lengths(rows: list[dict], lengths: tuple[int, ...]) -> None:
    print("  length  " + "".join(f"{row['model']:23}" for row in rows).rstrip())
    for n in lengths:
        found = [row["by_length"][str(n)]["exact"] for row in rows]
        cells = [f"{one['median']:.2f} ({one['low']:.2f} to {one['high']:.2f})" for one in found]
        print(f"  {n:6}  " + "".join(f"{cell:23}" for cell in cells).rstrip())


def accuracy_table() -> None:
    """Print where the figure's numbers come from, and some of them."""
    for task, (_, _, lengths) in PANELS.items():
        files = [(f"by_length_{task}", (*STYLE, *(OTHERS if task == "reverse" else ())))]
        if task == "toy_french":
            files.append(("look_controls", CONTROLS))
        for file, models in files:
            run = recorded.results(file)
            print(recorded.origin(run).replace(" (", "\n  (", 1))
            rows = [_row(run, model) for model in models]
            counts = " and ".join(f"{row['parameters']['median'] / 1000:.0f}" for row in rows)
            print(f"{task}: trained to {run['trained_to']}; thousands of parameters: {counts}")
            seconds = max(one["cpu_seconds"] for row in rows for one in row["runs"])
            print(f"  {rows[0]['steps']:,} updates, at most {seconds:.0f} CPU seconds each")
            _print_lengths(rows, lengths)


def machines_table() -> None:
    """Print how good the small models inside the machines of 03 and 03b are."""
    for row in recorded.results("machine_models")["rows"]:
        rate = row["error_rate"]["median"]
        print(f"{row['task']}, {row['steps']:,} updates: {row['right']:,} of", end=" ")
        print(f"{row['tested']:,} unseen sources right, alignment error {rate:.2f}")


def _forget_mask(encoder: nn.Module, inputs: tuple, encoded: Encoded) -> Encoded:
    return encoded._replace(mask=torch.ones_like(encoded.mask))


def _forget_packing(encoder: nn.Module, inputs: tuple, encoded: Encoded) -> Encoded:
    """What a plain `nn.GRU` gives: it reads the padding as well, backwards before the words."""
    outputs, last = encoder.rnn(encoder.embedding(inputs[0]))  # (B, S, F), (2, B, F / 2)
    return encoded._replace(outputs=outputs, state=torch.cat((*last,), -1)[:, None])


def _hide(at: Tensor, encoder: nn.Module, inputs: tuple, encoded: Encoded) -> Encoded:
    return encoded._replace(mask=encoded.mask.scatter(-1, at[:, None, None], False))


@cache
def _unseen() -> list[tasks.Pair]:
    """Sentences that the machine's model, by `machine_models`, has not learned from."""
    drawn = tasks.toy_french(32_000, max_words=8, seed=6000)
    return tasks.split(drawn, 30_000, 2_000)[1]


@torch.no_grad()
def padding_table(widths: tuple[int, ...] = (3, 6, 18)) -> None:
    """Print how often the machine is right on short sentences, padded, by what is forgotten."""
    model, *vocabs, _ = recorded.model("machine_french")
    short = [pair for pair in _unseen() if len(pair.source) == 3]
    (batch,) = Batches(short, *vocabs, batch_size=len(short), shuffle=False)
    print(f"{len(short)} unseen sentences     packed,   packed,   not packed,")
    print("of 3 words, padded to    masked    no mask   masked")
    for width in widths:
        source = nn.functional.pad(batch.source, (0, width - 3))  # (B, width)
        cells = []
        for forget in (None, _forget_mask, _forget_packing):
            hook = model.encoder.register_forward_hook(forget) if forget else None
            decoded = model.greedy(source, batch.source_lengths, 12)
            said = [vocabs[1].decode(row) for row in decoded.tokens]
            wanted = [list(short[index].target) for index in batch.index]
            cells.append(f"{sum(map(list.__eq__, said, wanted)) / len(short):.0%}")
            if hook:
                hook.remove()
        print(f"{width:<25}{cells[0]:<10}{cells[1]:<10}{cells[2]}")


def alignment_table() -> None:
    """Print how far the largest weights are from the right links, and what order would get."""
    run = recorded.results("by_length_toy_french")
    found = _row(run, "additive")["error_rate"]
    print(f"alignment error rate, toy_french, five seeds: {recorded.interval(found):.2f}")
    near = _unseen()
    right = {"sure": [p.sure for p in near], "possible": [p.possible for p in near]}
    in_order = [{(t, min(t, len(p.source) - 1)) for t in range(len(p.target))} for p in near]
    rate = metrics.alignment_error_rate(in_order, **right)
    print(f"word by word in order, for comparison: {rate:.2f}")


@torch.no_grad()
def hidden_noun_table() -> None:
    """Print where the machine looks first, and whether it needs the noun, for *the* and for *a*."""
    model, *vocabs, _ = recorded.model("machine_french")
    nouns = {noun.english for noun in french_lexicon.NOUNS}
    print("the first look, in unseen    past the   at the   right    right, the")
    print("sentences that begin with    article    noun     first    noun hidden")
    for article, french in {"the": ("le", "la", "l'"), "a": ("un", "une")}.items():
        pairs = [p for p in _unseen() if p.source[0] == article and p.target[0] in french]
        at = torch.tensor([next(j for j, w in enumerate(p.source) if w in nouns) for p in pairs])
        batch, rights = tasks.collate(pairs, *vocabs), []

        for hidden in (False, True):
            hook = model.encoder.register_forward_hook(partial(_hide, at)) if hidden else None
            told = model.greedy(batch.source, batch.source_lengths, 1, need_weights=True)
            rights.append((told.tokens[:, 0] == batch.target_out[:, 0]).double().mean().item())
            if hook:
                hook.remove()
            else:
                look = told.weights[:, 0].argmax(-1)  # (B,)
        past, noun = (look > 0).double().mean(), (look == at).double().mean()
        print(f"{article} ({len(pairs)})".ljust(29), end="")
        print(f"{past:<11.0%}{noun:<9.0%}{rights[0]:<9.0%}{rights[1]:.0%}")
