"""Tiles to shuffle: what self-attention makes of each word, by kind of position."""

import base64
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect

KINDS = ("none", "causal", "sinusoidal", "learned", "rotary", "alibi")
LONGEST = 7
"""The positions that have a learned vector."""

SLOPE, BASE = 0.5, 10000.0
"""What ALiBi takes off for each position of distance, and what sets the speed of a turn or wave."""


class OrderMachine(Machine):
    r"""The words of a sentence as tiles; order and positions are the reader's.

    One layer of self-attention with one head, in eval mode,

    .. math:: o = \mathrm{softmax}(q k^\top / \sqrt E + b)\, v

    and an answer read at one word. "none" has neither positions nor a mask, "causal" only the mask;
    "sinusoidal" and "learned" add a vector to the embeddings, "rotary" turns queries and keys,
    "alibi" has b = -`|i - j|` / 2. Each kind has a model of its own. Under each tile is its weight
    at the word read, and its output beside what that is in the order of `words`.

    Args:
        words: the tiles, at most 7, in the order that others are compared with.
        kept: what `results("orders")["kept"]` holds: "words" and "deeds" by name, "width", and in
            "models" for each kind the numbers that `experiments.orders.packed` put together.
        read: the word at which the answer is read.
        kind: of positions, one of `KINDS`; a trait, as is the next.
        order: for each position the number of its tile.
        title, caption: plain text above and below.

    Raises:
        ValueError: words that the models do not know, a setting out of range.

    Example:
        >>> from attnbook import recorded
        >>> words, kept = ["hang", "them", "not", "sit"], recorded.results("orders")["kept"]
        >>> machine = OrderMachine(words, kept, order=[3, 2, 1, 0])
        >>> max(machine.compute()["moved"]) < 1e-9  # without positions nothing changes
        True
    """

    _kits = (*Machine._kits, "layers")
    _about = "Six small trained models, one for each button; your browser computes all of it."
    _limits: ClassVar = {"kind": lambda _: list(KINDS), "order": None}

    words = t.List(t.Unicode()).tag(sync=True)
    deeds = t.List(t.Unicode()).tag(sync=True)
    width = t.Int().tag(sync=True)
    read = t.Int().tag(sync=True)  # the number of a tile
    numbers = t.List(t.Bytes()).tag(sync=True)  # of each kind, float32
    kind = t.Unicode("none").tag(sync=True)
    order = t.List(t.Int()).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str],
        kept: dict,
        *,
        read: str = "not",
        kind: str = "none",
        order: Sequence[int] | None = None,
        **texts: str,
    ):
        words = inputs.strings("words", words, len(words))
        known = list(kept["words"])
        for word in (*words, read):
            checks.choice("words", word, tuple(known))
        rows = [known.index(word) for word in words]
        super().__init__(
            words=words,
            deeds=list(kept["deeds"]),
            width=kept["width"],
            read=words.index(read),
            numbers=[_unpacked(kept, name, rows) for name in KINDS],
            kind=kind,
            order=list(range(len(words)) if order is None else order),
            **texts,
        )

    @t.validate("order")
    def _valid_order(self, proposal):
        fits = sorted(proposal.value) == list(range(len(self.words)))
        return expect(proposal, f"each of 0 to {len(self.words) - 1} once", fits)

    def layer(self, order: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Weights (L, L) by position, and outputs (L, E) by tile, of the tiles in an order."""
        model, (size, wide) = self._model(), (len(self.words), self.width)
        place = np.arange(size)
        x = model["words"][list(order)]
        angles = place[:, None] / BASE ** (np.arange(0, wide, 2) / wide)  # (L, E / 2)
        if self.kind == "sinusoidal":
            x = x + np.stack((np.sin(angles), np.cos(angles)), -1).reshape(size, wide)
        if self.kind == "learned":
            x = x + model["places"][:size]
        query, key, value = (x @ model[name] for name in ("query", "key", "value"))
        if self.kind == "rotary":
            query, key = _turned(query, angles), _turned(key, angles)
        scores = query @ key.T / wide**0.5
        behind = place[:, None] - place
        if self.kind == "alibi":
            scores = scores - SLOPE * np.abs(behind)
        if self.kind == "causal":
            scores = np.where(behind < 0, -np.inf, scores)
        weights = softmax(scores)
        outputs = np.empty_like(x)
        outputs[list(order)] = weights @ value
        return weights, outputs

    def compute(self) -> dict:
        model = self._model()
        weights, outputs = self.layer(self.order)
        _, before = self.layer(range(len(self.words)))
        chances = softmax(outputs[self.read] @ model["answers"] + model["biases"])
        return {
            "weights": weights.tolist(),
            "outputs": outputs.tolist(),
            "before": before.tolist(),
            "moved": np.abs(outputs - before).max(-1).tolist(),
            "chances": chances.tolist(),
        }

    def _model(self) -> dict[str, np.ndarray]:
        """The matrices of the present kind, float64."""
        wide, size, deeds = self.width, len(self.words), len(self.deeds)
        shapes = {"words": (size, wide)} | dict.fromkeys(("query", "key", "value"), (wide, wide))
        if self.kind == "learned":
            shapes["places"] = (LONGEST, wide)
        shapes |= {"answers": (wide, deeds), "biases": (deeds,)}
        flat, found = np.frombuffer(self.numbers[KINDS.index(self.kind)], np.float32), {}
        for name, shape in shapes.items():
            found[name], flat = np.split(flat, [int(np.prod(shape))])
            found[name] = found[name].reshape(shape).astype(float)
        return found

    def figure(self) -> Figure:
        tokens = [self.words[tile] for tile in self.order]
        return heatmap(
            np.array(self.compute()["weights"]),
            query_tokens=tokens,
            key_tokens=tokens,
            title=self.title or "Who looks at whom",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            f"The tiles {', '.join(self.words)}, to be moved about, the output of self-attention "
            f"for each, and what a small model then does; {len(KINDS)} kinds of position."
        )


def _turned(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Rows of x (L, E), each pair of features turned by its angle (L, E / 2)."""
    cos, sin, even, odd = np.cos(angles), np.sin(angles), x[:, ::2], x[:, 1::2]
    return np.stack((even * cos - odd * sin, even * sin + odd * cos), -1).reshape(x.shape)


def _unpacked(kept: dict, kind: str, rows: list[int]) -> bytes:
    """The numbers of a model as float32, of its words only those of the tiles."""
    flat = np.frombuffer(base64.b64decode(kept["models"][kind]), np.float16)
    words, rest = np.split(flat, [len(kept["words"]) * kept["width"]])
    chosen = words.reshape(-1, kept["width"])[rows]
    return np.concatenate([chosen.ravel(), rest]).astype(np.float32).tobytes()
