"""The figures of 13 and 13b: the race, and what a cache's bytes are."""

import itertools

import matplotlib.pyplot as plt
import torch

from attnbook import recorded
from attnbook.figures.colours import BLUE, GREY, VERMILION
from attnbook.machines import DecodeRace

WAYS = {"with a cache": "with", "everything again": "without"}
"""What the figure calls each, and what the results file does."""

WEIGHTS = 2 * (8.03e9 - 128_256 * 4096)
"""Bytes of Llama 3.1 8B that a step reads, two each: of the table of tokens it reads one row."""
TOKENS, A_TOKEN = 8192, 131_072
"""Of a reader, and the bytes that each leaves in the cache."""
CACHE = TOKENS * A_TOKEN
BYTES, OPERATIONS = 3.35e12, 989e12
"""Of an H100, a second."""
READERS = (1, 8, 16, 32)

SENTENCE = ["these", "women", "did", "not", "sleep", "in", "the", "hotel"]
STYLES = ((BLUE, "s"), (VERMILION, "o"))


def race(**settings) -> DecodeRace:
    """The race with the recorded model and its songs."""
    weights, state = recorded.tensors("songs")
    songs = state["songs"]
    options = {"words": state["vocab"], "heads": state["heads"]}
    return DecodeRace(weights, titles=[*songs], songs=[*songs.values()], **options, **settings)


def old_keys() -> None:
    """Print how far old keys of each layer move when words are added: decoder and encoder."""
    kept = recorded.model("toy_french_transformer")
    model, E = kept.model, kept.model.embed_dim
    source = kept.source_vocab.encode(SENTENCE)
    memory, text = model.encode(torch.tensor([source])), [model.bos]
    watched = {
        "decoder": [layer.self_attention.in_proj for layer in model.decoder.layers],
        "encoder": [layer.attention.in_proj for layer in model.encoder.layers],
    }
    found = {name: [[] for _ in layers] for name, layers in watched.items()}
    hooks = [
        module.register_forward_hook(lambda *call, rows=rows: rows.append(call[2][0, :, E : 2 * E]))
        for name in watched
        for module, rows in zip(watched[name], found[name], strict=True)
    ]
    with torch.no_grad():
        while text[-1] != model.eos and len(text) < 20:
            logits = model.decode(torch.tensor([text]), memory).logits
            text.append(logits[0, -1].argmax().item())
        for n in range(1, len(source) + 1):
            model.encode(torch.tensor([source[:n]]))
    for hook in hooks:
        hook.remove()
    print("         words  keys  new   an old one moved: layer 0, layer 1")
    for name, layers in found.items():
        moved = [
            max((new[: len(old)] - old).abs().max().item() for old, new in itertools.pairwise(keys))
            for keys in layers
        ]
        made = sum(map(len, layers[0]))
        print(f"{name:9}{len(layers[0]):5}{made:6}{len(layers[0]):5}", end="")
        print(f"{moved[0]:27.5f}{moved[1]:9.5f}")


def milliseconds() -> None:
    """Draw what the next token takes in a whole language model, with a cache and without."""
    run = recorded.results("kv_cache")
    rows = run["rows"]
    lengths = [row["length"] for row in rows]
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.6, 2.1), layout="constrained")
        for (name, way), (colour, marker) in zip(WAYS.items(), STYLES, strict=True):
            took = [1e3 * row[way] for row in rows]
            ax.plot(lengths, took, color=colour, marker=marker)
            ax.annotate(
                f"{name}: {took[-1]:,.0f} ms",
                (lengths[-1], took[-1]),
                (-10, 9 if way == "with" else 0),
                textcoords="offset points",
                ha="right",
                color=colour,
            )
        ax.set(xscale="log", yscale="log", xlabel="tokens before it", ylim=(60, 12_000))
        ax.set_ylabel("milliseconds")
        ax.set_xticks(lengths, [f"{n:,}" for n in lengths])
        ax.set_yticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
        figure.suptitle("With a cache, 1,000 tokens hardly slow down the next one")
        plt.show()


def reading(readers: int) -> tuple[float, float]:
    """Milliseconds in which an H100 reads what a step of Llama 3.1 8B needs: weights, caches."""
    return 1e3 * WEIGHTS / BYTES, 1e3 * readers * CACHE / BYTES


def card() -> None:
    """Draw what a step reads by the number of readers, as time: weights once, each one's cache."""
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(5.6, 1.9), layout="constrained")
        for place, readers in enumerate(READERS):
            start = 0.0
            for took, colour in zip(reading(readers), (GREY, BLUE), strict=True):
                ax.barh(place, took, left=start, color=colour, height=0.74)
                inside = took > 1
                ax.annotate(
                    f"{took:.1f}",
                    (start + took / 2 if inside else start + took, place),
                    (0 if inside else 4, 0),
                    textcoords="offset points",
                    ha="center" if inside else "left",
                    va="center",
                    color="white" if inside else "black",
                )
                start += took
        weights, caches = reading(READERS[-1])
        names = (("weights", weights / 2, GREY), ("caches", weights + caches / 2, BLUE))
        for name, at, colour in names:
            ax.text(at, len(READERS) - 0.6, name, ha="center", va="bottom", color=colour)
        ax.set_yticks(range(len(READERS)), [f"{n} reader{'s' * (n > 1)}" for n in READERS])
        ax.set(xlabel="milliseconds of reading in one step", ylim=(-0.5, len(READERS)))
        ax.grid(visible=False)
        figure.suptitle("Readers share the weights, and each brings a cache")
        plt.show()
