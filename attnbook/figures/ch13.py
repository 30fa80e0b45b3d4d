"""The figures of 13 and 13b: the race, and what a cache's bytes are."""

import itertools

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.colours import BLUE, VERMILION
from attnbook.machines import DecodeRace

WAYS = (
    ("with a cache", "with a cache", "with"),
    ("everything again", "every prefix again", "without"),
)
"""What the figure calls each, and what the two results files do."""

SENTENCE = ["these", "women", "did", "not", "sleep", "in", "the", "hotel"]
STYLES = ((BLUE, "s"), (VERMILION, "o"))


def race(**settings) -> DecodeRace:
    """The race with the recorded model and its songs."""
    weights, state = recorded.tensors("songs")
    songs = state["songs"]
    options = {"words": state["vocab"], "heads": state["heads"]}
    return DecodeRace(weights, titles=[*songs], songs=[*songs.values()], **options, **settings)


def old_keys() -> None:
    """Print how far old keys of the last layer move when words are added: decoder and encoder."""
    kept = recorded.model("toy_french_transformer")
    model, E = kept.model, kept.model.embed_dim
    source = kept.source_vocab.encode(SENTENCE)
    memory, text = model.encode(torch.tensor([source])), [model.bos]
    watched = {"decoder": model.decoder.layers[-1].self_attention.in_proj}
    watched["encoder"] = model.encoder.layers[-1].attention.in_proj
    found = {name: [] for name in watched}
    hooks = [
        module.register_forward_hook(
            lambda *call, rows=found[name]: rows.append(call[2][0, :, E : 2 * E])
        )
        for name, module in watched.items()
    ]
    with torch.no_grad():
        while text[-1] != model.eos and len(text) < 20:
            logits = model.decode(torch.tensor([text]), memory).logits
            text.append(logits[0, -1].argmax().item())
        for n in range(1, len(source) + 1):
            model.encode(torch.tensor([source[:n]]))
    for hook in hooks:
        hook.remove()
    print("keys of the last layer       words   keys made   new   an old one moved by up to")
    for name, keys in found.items():
        pairs = itertools.pairwise(keys)
        moved = max((new[: len(old)] - old).abs().max().item() for old, new in pairs)
        made = sum(map(len, keys))
        print(f"{name:26}{len(keys):8}{made:12}{len(keys):6}{moved:28.5f}")


def milliseconds() -> None:
    """Draw what a word takes with a cache and without: one layer, and a whole language model."""
    layer, model = recorded.results("bench-cpu")["decoding"], recorded.results("kv_cache")
    lengths = [int(n) for n in layer["lengths"]]
    rows = model["rows"]
    with plt.style.context("attnbook.style"):
        figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.6), layout="constrained")
        for (name, form, way), (colour, marker) in zip(WAYS, STYLES, strict=True):
            each = [layer["lengths"][str(n)][form]["ms"] / n for n in lengths]
            axes[0].plot(lengths, each, color=colour, marker=marker, label=name)
            seconds = [1e3 * row[way] for row in rows]
            axes[1].plot([row["length"] for row in rows], seconds, color=colour, marker=marker)
        axes[0].set_title("one layer of 256 features:\nmean of a text's words", fontsize=10)
        axes[1].set_title(f"{model['model']}:\nthe next token", fontsize=10)
        axes[0].legend()
        for ax, xlabel in zip(axes, ("words of the text", "tokens before it"), strict=True):
            ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="milliseconds a word")
            ticks = lengths if ax is axes[0] else [row["length"] for row in rows]
            ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
            ax.minorticks_off()
            ax.grid(alpha=0.3)
        axes[1].set_ylabel("milliseconds")
        figure.suptitle("With a cache a word costs little more; without, more and more")
        plt.show()


def readers() -> None:
    """Draw a step of a language model by the number of readers: all of it, and for each."""
    run = recorded.results("readers")
    rows = run["rows"]
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.6, 2.4), layout="constrained")
        counts = [row["readers"] for row in rows]
        step = [1e3 * row["seconds"]["median"] for row in rows]
        each = [ms / n for ms, n in zip(step, counts, strict=True)]
        ax.plot(counts, step, color=VERMILION, marker="o", label="a step, for all readers")
        ax.plot(counts, each, color=BLUE, marker="s", label="the same, divided by readers")
        ax.set(xscale="log", yscale="log", xlabel="readers, each with 256 tokens in its cache")
        ax.set_ylabel("milliseconds")
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        ax.legend()
        figure.suptitle("Readers share the weights, so a word for each gets cheaper")
        plt.show()
