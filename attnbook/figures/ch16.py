"""The figures of chapter 16, and the maps of page 16b: a head of the trained translator as it is,
and with one bug at a time."""

import math
from collections.abc import Callable
from functools import cache

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.colors import ListedColormap
from torch import Tensor, nn

from attnbook import museum
from attnbook.figures.colours import BLUE, GREY, VERMILION
from attnbook.machines.eye_test import Exhibit
from attnkit import masks
from attnkit.trace import record
from attnlab import Translator, pretrained

HEAD = 3
SENTENCES = ("I don't like cold coffee.", "She does not know why he came home.")
"""The first is looked at; the second is longer, so padding follows the first."""


@cache
def _translator() -> Translator:
    return Translator.load("tatoeba-en-fr")


def walk() -> tuple[dict[str, Tensor], list[str], int]:
    """Weights (L, L) of a head, right and with each bug; its tokens; how many of them are real."""
    translator = _translator()
    first = translator.model.encoder.layers[0].attention
    entering = []
    hook = first.register_forward_pre_hook(lambda _, inputs: entering.append(inputs))
    with record(translator.model) as calls, torch.no_grad():
        short, _ = translator.translate(list(SENTENCES))
        qkv = first.in_proj(entering[0][0])[:1]  # (1, L, 3E)
    hook.remove()
    every = calls[0]["scores"][0]  # (H, L, L), before the mask
    scores, size, heads, real = every[HEAD], every.shape[-1], len(every), len(short.source)
    width = first.head_dim
    tokens = [piece.replace("▁", "") or "▁" for piece in short.source]
    tokens += [f"pad{'₁₂₃₄₅₆'[n]}" for n in range(size - real)]
    padding = masks.padding([real], size)[0].expand(size, size)  # what may be seen

    def shown(scores: Tensor, mask: Tensor = padding, fill: float = -math.inf) -> Tensor:
        return scores.masked_fill(~mask, fill).softmax(-1)  # (L, L)

    torch.manual_seed(0)
    products = scores * math.sqrt(width)  # q·k, unscaled
    window = masks.sliding_window(size, window=3)
    # the layer's heads again, split in two wrong ways from what it was given
    q, k, _ = (part.reshape(heads, size, width) for part in qkv[0].chunk(3, -1))
    by_view = q @ k.mT / math.sqrt(width)  # (H, L, L)
    q, k, _ = qkv[0].unflatten(-1, (heads, 3, width)).permute(2, 1, 0, 3)
    by_head = q @ k.mT / math.sqrt(width)  # (H, L, L)
    maps = {
        "correct": shown(scores),
        "no root": shown(products / width),
        "no scale": shown(products),
        "the model's width": shown(products / math.sqrt(heads * width)),
        "scaled too late": shown(products) / math.sqrt(width),
        "softmax over the queries": scores.masked_fill(~padding, -1e9).softmax(0),
        "mask flipped": shown(scores, ~padding),
        "mask ignored": scores.softmax(-1),
        "mask after the softmax": scores.softmax(-1) * padding,
        "mask over the queries": shown(scores, padding.mT, fill=-1e9),
        "filled with -1e4": shown(scores - 2e4 * padding, fill=-1e4),
        "heads averaged": shown(every).mean(0),
        "heads split by a view": shown(by_view[HEAD]),
        "q, k, v in another order": shown(by_head[HEAD]),
        "weights after dropout": F.dropout(shown(scores), 0.3),
        "window of 3": shown(scores, window & padding),
        "window off by one": shown(scores, masks.sliding_window(size, window=4) & padding),
        "average of an empty row": shown(
            scores, padding & (torch.arange(size) < real)[:, None], fill=-1e9
        ),
    }
    return maps, tokens, real


def decoder(layer: int = 1, head: int = 0) -> tuple[Tensor, list[str]]:
    """Scores (T, T) of a head of the decoder before the mask, and the words that it has read."""
    translator = _translator()
    (found,) = translator.translate([SENTENCES[0]])
    told = ["<bos>", *found.target]
    ids, read = (
        torch.tensor([[vocab.ids[piece] for piece in pieces]])
        for vocab, pieces in (
            (translator.source_vocab, found.source),
            (translator.target_vocab, told),
        )
    )
    with record(translator.model) as calls, torch.no_grad():
        translator.model(ids, None, read)
    before = len(translator.model.encoder.layers)
    scores = calls[before + 2 * layer]["scores"][0, head]
    return scores, [piece.replace("▁", "") or "▁" for piece in told]


@cache
def healthy() -> dict[str, tuple[Tensor, Tensor]]:
    """Weights and mask (L, L) of every head of the encoder and of the decoder's self-attention."""
    translator, found = _translator(), {}
    with record(translator.model) as calls, torch.no_grad():
        short, _ = translator.translate(list(SENTENCES))
    for layer in range(len(translator.model.encoder.layers)):
        every = calls[layer]["weights"][0]
        visible = masks.padding([len(short.source)], every.shape[-1])[0].expand(every[0].shape)
        for head, weights in enumerate(every):
            found[f"encoder {layer}.{head}"] = weights, visible
            scores, told = decoder(layer, head)
            causal = masks.causal(len(told))
            found[f"decoder {layer}.{head}"] = (
                scores.masked_fill(~causal, -math.inf).softmax(-1),
                causal,
            )
    return found


ENCODER = "A head of an encoder. The last two tokens are padding, which nobody should use."
DECODER = (
    "A head of a decoder that writes French: each word may look at itself and at those before it."
)
MARKED = "A head of an encoder whose sentences begin with [CLS] and end with [SEP]. No padding."
WINDOW = (
    "A head that may look at its own word and at the two before it. The last two tokens are "
    "padding."
)
RESTING = (4, 5)
"""Layer and head of MiniLM whose rows all rest on [CLS]."""


@torch.no_grad()
def sink() -> tuple[Tensor, list[str]]:
    """Weights (L, L) of a head of the published MiniLM that rests on one token; its tokens."""
    reading = pretrained.load("all-MiniLM-L6-v2").read(SENTENCES[0])
    return reading.weights[RESTING], list(reading.tokens)


def without_root(name: str) -> Tensor:
    """Weights (L, L) of one of the encoder's heads, had its products been divided by d."""
    weights, _ = healthy()[name]
    width = _translator().model.encoder.layers[0].attention.head_dim
    return (weights.log() / math.sqrt(width)).softmax(-1)  # what is hidden stays at -inf


def quiz() -> list[Exhibit]:
    """The ten maps of page 16b, in its order."""
    maps, tokens, _ = walk()
    right = {name: weights for name, (weights, _) in healthy().items()}
    scores, told = decoder(1, 0)
    leaking = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(1), -math.inf)
    resting, marked = sink()
    maps |= right | {
        "one place too far": leaking.softmax(-1),
        "no root": without_root("encoder 1.1"),
        "sink": resting,
    }
    sums = dict(zip(tokens, maps["softmax over the queries"].sum(-1).tolist(), strict=True))
    most, least = max(sums, key=sums.get), min(sums, key=sums.get)

    def of(key: str, said: str, name: str, broken: bool, because: str) -> Exhibit:
        names = {DECODER: told, MARKED: marked}.get(said, tokens)
        return Exhibit(maps[key].tolist(), names, said, name, broken, because)

    return [
        of("mask ignored", ENCODER, "mask ignored", True,
           "The padding gets weight. The line was scores.masked_fill(~mask, -inf), which returns a "
           "new tensor that nobody kept."),
        of("decoder 2.3", DECODER, "a head that looks a few words back", False,
           "Odd, and right: nothing above the diagonal, and every row sums to 1."),
        of("no root", ENCODER, "no root", True,
           "Every row is more even than it should be. But nothing in the map is impossible, so no "
           "eye can tell."),
        of("encoder 1.3", ENCODER, "a head that looks at several words", False,
           "It spreads its rows, as some heads do, and nothing lies where it must not."),
        of("one place too far", DECODER, "one place too far", True,
           "Look above the diagonal: most words look at the one that they are about to write."),
        of("mask after the softmax", ENCODER, "mask after the softmax", True,
           "Some rows are nearly empty: the padding took its share, and then it was wiped out."),
        of("sink", MARKED, "a sink", False,
           "Each row puts most of its weight on [CLS]. It looks like a forgotten scale, but this "
           "head rests there."),
        of("softmax over the queries", ENCODER, "softmax over the queries", True,
           f"The columns sum to 1, the rows do not: that of {most} sums to {sums[most]:.2f}, that "
           f"of {least} to {sums[least]:.2f}."),
        of("window of 3", WINDOW, "a window", False,
           "A narrow band is what a window looks like."),
        of("heads split by a view", ENCODER, "heads split by a view", True,
           "This head was given some words whole, not a part of each. But nothing in its map is "
           "impossible, so no eye can tell."),
    ]  # fmt: skip


class _NextDigit(nn.Module):
    """One layer of one head, which predicts each digit from those before it."""

    def __init__(self, attend: Callable[..., tuple[Tensor, Tensor]]):
        super().__init__()
        self.attend = attend
        self.digit, self.place = nn.Embedding(10, 32), nn.Embedding(12, 32)
        self.project, self.out = nn.Linear(32, 96), nn.Linear(32, 10)

    def forward(self, digits: Tensor) -> Tensor:  # (B, L) -> (B, L, 10)
        x = self.digit(digits) + self.place(torch.arange(digits.shape[1]))
        query, key, value = self.project(x)[:, None].chunk(3, -1)
        mask = masks.causal(digits.shape[1])
        return self.out(self.attend(query, key, value, mask)[0][:, 0])


@cache
def losses(
    attend: Callable[..., tuple[Tensor, Tensor]], updates: int = 250
) -> tuple[list[float], list[float]]:
    """The loss of a model of random digits, whose best is ln 10: in training, update by update, and
    at each place of fresh digits."""
    torch.manual_seed(0)
    model, found = _NextDigit(attend), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
    for _ in range(updates):
        digits = torch.randint(10, (64, 12))
        loss = F.cross_entropy(model(digits[:, :-1]).flatten(0, 1), digits[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    fresh = torch.randint(10, (2000, 12))
    with torch.no_grad():
        each = F.cross_entropy(model(fresh[:, :-1]).mT, fresh[:, 1:], reduction="none")
    return found, each.mean(0).tolist()


def leak() -> None:
    """The loss of a model whose mask is ignored, beside that of the same model mended."""
    curves = {
        "mask ignored": (losses(museum.mask_ignored)[0], VERMILION),
        "mended": (losses(museum.right)[0], BLUE),
    }
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(5.8, 1.9))
        for name, (found, colour) in curves.items():
            ax.plot(found, color=colour, label=name)
            ax.text(252, found[-1], name, color=colour, va="center")
        ax.plot([0, 250], [math.log(10)] * 2, color=GREY, ls=":")
        ax.text(60, math.log(10) + 0.1, "ln 10: nobody can do better", color=GREY, fontsize=9)
        ax.set(xlabel="update", ylabel="training loss", xlim=(0, 340), ylim=(0, 2.8))
        ax.set_xticks([0, 50, 100, 150, 200, 250])
        ax.set_title("A loss that is too good is a leak")
        plt.show()


def caught() -> dict[str, int]:
    """How many exhibits each test catches: the three usual ones, ten checks, and a comparison on
    inputs such as theirs."""
    usual, matrix = museum.usual().values(), museum.matrix().values()
    found = {
        name: sum(not passed[place] for passed in usual) for place, name in enumerate(museum.USUAL)
    }
    found["ten checks"] = sum(any(row[check] for check in museum.TEN) for row in matrix)
    found["compared, on such inputs"] = sum(not passed for passed in museum.richly().values())
    return found


def tests() -> None:
    """A bar for each test: how many of the exhibits it catches."""
    found, total = caught(), len(museum.exhibits())
    with plt.style.context("attnbook.style"):
        _, ax = plt.subplots(figsize=(4.85, 1.95))
        colours = [VERMILION] * len(museum.USUAL) + [BLUE, VERMILION]
        ax.barh(list(found), list(found.values()), color=colours)
        for place, number in enumerate(found.values()):
            ax.text(number + 0.5, place, str(number), va="center")
        ax.set(xlabel=f"bugs caught, of {total}", xlim=(0, total + 4))
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        ax.set_title("Shapes and sums see almost no bug")
        plt.show()


def matrix() -> None:
    """Every exhibit by every check: blue where the check catches it, grey where it does not."""
    found = museum.matrix()
    sums = {c: sum(row[c] is True for row in found.values()) for c in next(iter(found.values()))}
    order = sorted(sums, key=lambda check: -sums[check])
    cells = torch.tensor(
        [[math.nan if row[c] is None else float(row[c]) for c in order] for row in found.values()]
    )
    with plt.style.context("attnbook.style"):
        figure, ax = plt.subplots(figsize=(6.1, 11.8), layout="constrained")
        figure.suptitle("Every bug is caught, and no check catches half of them")
        ax.imshow(cells, cmap=ListedColormap(["#dddddd", BLUE]), vmin=0, vmax=1, aspect="auto")
        ax.xaxis.tick_top()
        names = [check.replace("assert_", "").replace("_", " ") for check in order]
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=10)
        ax.set_yticks(range(len(found)), list(found), fontsize=10)
        ax.set_xticks([n - 0.5 for n in range(len(names))], minor=True)
        ax.set_yticks([n - 0.5 for n in range(len(found))], minor=True)
        ax.grid(visible=False)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="both", length=0)
        first = 0
        for room, size in museum.ROOMS.items():
            if first:
                ax.axhline(first - 0.5, color="#222222", lw=1)
            middle = first + size / 2 - 0.5
            ax.text(len(order) - 0.2, middle, room, rotation=270, va="center", fontsize=10)
            first += size
        for place, check in enumerate(order):
            ax.text(place, first - 0.1, str(sums[check]), ha="center", va="center", fontsize=9)
        for side in ax.spines.values():
            side.set_visible(False)
        plt.show()
