"""A mask to paint, and three small writers behind it: who sees the answer, and what comes of it."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.machines import recurrent
from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect

PLACES, DRAWS = 8, 100
PAD, START, END = range(3)
SPECIAL = ("<pad>", "<start>", "<end>")
WRITERS = {
    "right": "the causal mask",
    "upside": "the mask upside down",
    "none": "no mask",
}
RULES = {
    "none": ("none", np.ones((PLACES, PLACES), bool)),
    "causal": ("causal", np.tri(PLACES, dtype=bool)),
    "shifted": ("one too far", np.tri(PLACES, k=1, dtype=bool)),
    "upside": ("upside down", ~np.tri(PLACES, dtype=bool)),
}
"""What the page calls each, and its mask (L, L), True where a query may look at a key."""

PARTS = ("word", "position", "query", "key", "value", "mix", "bias")

Network = dict[str, np.ndarray]


class MaskPainter(Machine):
    r"""A sentence, a mask that the reader paints, and the next word of three trained writers.

    A writer is one layer of one head: :math:`x_i = w_i + p_i`, and the logits are :math:`W (x_i +
    M \sum_j a_{ij} V x_j) + b`, with the same W for reading and writing. A query that sees nothing
    gets zeros. The lamp of a row is red when the word that it must name is among its keys. The loss
    of the sentence is given in one pass under the mask, and word by word, with no later key.

    Args:
        writers: the tensors of those trained with the causal mask, with the mask upside down and
            without, by "right", "upside" and "none"; as `experiments.masked_writers` keeps them.
        words: the vocabulary, of which padding, start and end come first.
        sentences: of up to seven known words, to choose from.
        writer: which one reads. A trait, as are the next five: set them and the page follows.
        rule: "none", "causal", "shifted" (causal, one too far) or "upside" (yes and no swapped).
        sentence: its place.
        painted: the cells that the reader has set, in order: twice the cell's number, row by row
            of eight, and one more where it may be seen. They go over the rule.
        at: the cell of the cursor.
        seed: of the sentence that it writes, from 0 to 99.
        title, caption: plain text above and below.

    Raises:
        ValueError: tensors that do not belong to the vocabulary, words that it lacks, a sentence
            that is too long, a setting that does not fit.

    Example:
        >>> from attnbook.figures import ch06
        >>> shown = ch06.painter(writer="none", rule="shifted").compute()
        >>> shown["inView"], shown["written"]
        (5, ['<end>'])
    """

    _kits = (*Machine._kits, "layers")
    _about = "Three models of one layer each, which your browser runs."
    _limits: ClassVar = {
        "writer": lambda _: list(WRITERS),
        "rule": lambda _: list(RULES),
        "sentence": lambda m: (0, len(m.sentences) - 1),
        "painted": None,
        "at": lambda _: (0, PLACES**2 - 1),
        "seed": lambda _: (0, DRAWS - 1),
    }

    words = t.List(t.Unicode()).tag(sync=True)
    shapes = t.List().tag(sync=True)  # [name, shape] of each tensor: "right.word" and so on
    weights = t.Bytes().tag(sync=True)  # all of them, float16
    writers = t.List().tag(sync=True)  # WRITERS: name, what it is called
    rules = t.List().tag(sync=True)  # RULES: name, what it is called, mask
    sentences = t.List().tag(sync=True)
    writer = t.Unicode("right").tag(sync=True)
    rule = t.Unicode("causal").tag(sync=True)
    sentence = t.Int(0).tag(sync=True)
    painted = t.List(t.Int()).tag(sync=True)
    at = t.Int(0).tag(sync=True)
    seed = t.Int(0).tag(sync=True)

    def __init__(
        self,
        writers: Mapping[str, Mapping[str, Tensor]],
        *,
        words: Sequence[str],
        sentences: Sequence[Sequence[str]],
        **rest,
    ):
        tensors = {
            f"{name}.{part}": writers[name][part if part == "bias" else f"{part}.weight"]
            for name in WRITERS
            for part in PARTS
        }
        for name in WRITERS:
            shape = (len(words), len(tensors["right.query"]))
            if (found := tuple(tensors[f"{name}.word"].shape)) != shape:
                checks.fail("writers", f"a table of words {shape}", f"{found}")
        for each in sentences:
            if not 0 < len(each) < PLACES or not set(each) <= set(words):
                checks.fail("sentences", f"1 to {PLACES - 1} known words", " ".join(each))
        super().__init__(
            words=list(words),
            **recurrent.halves(tensors),
            writers=[list(each) for each in WRITERS.items()],
            rules=[[name, called, mask.tolist()] for name, (called, mask) in RULES.items()],
            sentences=[list(each) for each in sentences],
            **rest,
        )

    @t.validate("painted")
    def _cells(self, proposal):
        cells = [one // 2 for one in proposal.value]
        fits = cells == sorted(set(cells)) and all(0 <= one < PLACES**2 for one in cells)
        return expect(proposal, "cells in order, each once", fits)

    def network(self) -> Network:
        """The writer that reads: tensors by name, float64."""
        every = recurrent.unpacked(self.shapes, self.weights)
        return {part: every[f"{self.writer}.{part}"] for part in PARTS}

    def allowed(self) -> np.ndarray:
        """The mask (8, 8) of the rule and of what was painted."""
        mask = RULES[self.rule][1].copy()
        for one in self.painted:
            mask.flat[one // 2] = one % 2
        return mask

    def compute(self) -> dict:
        net, allowed = self.network(), self.allowed()
        read = [START, *(self.words.index(word) for word in self.sentences[self.sentence])]
        n = len(read)
        answers, mask = [*read[1:], END], allowed[:n, :n]
        weights, chances = look(net, read, mask)
        _, honest = look(net, read, mask & np.tri(n, dtype=bool))
        rows = range(n)
        lamps = [2 if i + 1 < n and mask[i, i + 1] else int(mask[i, i + 1 :].any()) for i in rows]
        best = np.argsort(-chances, axis=1, kind="stable")[:, :3]
        chance, alone = chances[rows, answers], honest[rows, answers]
        return {
            "mask": mask.tolist(),
            "weights": weights.tolist(),
            "lamps": lamps,
            "inView": lamps.count(2),
            "best": [[[self.words[k], float(chances[i, k])] for k in best[i]] for i in rows],
            "chance": chance.tolist(),
            "honest": alone.tolist(),
            "usual": float(-np.log(chance).mean()),
            "peekless": float(-np.log(alone).mean()),
            "written": [self.words[k] for k in self._written(net, allowed)],
        }

    def _written(self, net: Network, allowed: np.ndarray) -> list[int]:
        ids = [START]
        while len(ids) <= PLACES and ids[-1] != END:
            n = len(ids)
            chances = look(net, ids, allowed[:n, :n])[1][-1]
            drawn = (97 * self.seed + 31 * (n - 1) + 17) * 0.6180339887498949 % 1
            over = np.flatnonzero(chances.cumsum() > drawn)
            ids.append(int(over[0]) if len(over) else len(chances) - 1)
        return ids[1:]

    def figure(self) -> Figure:
        now = self.compute()
        read = ["<start>", *self.sentences[self.sentence]]
        return heatmap(
            np.array(now["weights"]),
            query_tokens=read,
            key_tokens=read,
            mask=np.array(now["mask"]),
            title=self.title or "Who looks where",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "A mask to paint over a sentence, with the next word that a small trained model says "
            "in each row, and a lamp where its answer is in view."
        )


def look(
    net: Network,
    ids: Sequence[int],
    mask: np.ndarray,
    places: Sequence[int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (L, L) under a mask (L, L), and the chances (L, V) of the word after each.

    `places` are the positions of the words; left out, they are counted from 0.
    """
    x = net["word"][ids] + net["position"][range(len(ids)) if places is None else places]  # (L, E)
    query, key, value = (x @ net[part].T for part in ("query", "key", "value"))
    empty = ~mask.any(1, keepdims=True)
    scores = np.where(mask | empty, query @ key.T / np.sqrt(x.shape[1]), -np.inf)
    weights = np.where(empty, 0.0, softmax(scores))
    out = x + weights @ value @ net["mix"].T
    return weights, softmax(out @ net["word"].T + net["bias"])
