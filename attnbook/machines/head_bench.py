"""One head of a published model on eight sentences: which of four explanations fits it?"""

import base64
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook import recorded
from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap

LAYERS, HEADS, COUNTS = 6, 12, (1, 2, 4, 8)
PROPERTIES = ("referent", "alive", "subject", "farther")


class HeadBench(Machine):
    r"""Weights of "it" on two nouns, by sentence, and what each of four properties adds.

    Four frames with two endings each make eight sentences of an animate noun and a place. With
    :math:`d_k` the weight on the animate noun less that on the place, and :math:`s_k` 1 where a
    property is the animate noun's and -1 where it is the place's, its effect is the mean of
    :math:`s_k d_k` over the sentences on show. Two properties whose signs are the same in all of
    those cannot be told apart. Beside it stand the medians of many more items, for every head.

    Args:
        looks: weights (nouns, 8, 2, layers * heads), from 0 to 1, of sixteen bits.
        frames: of each its text, with places for words in braces, whether the animate noun is the
            subject, and whether it is the farther noun.
        nouns: of each choice the animate noun, the place, and a verb in two forms.
        ends: two adjectives, of an animate noun and of a place.
        medians: effects (layers * heads, 4) in many items, in the order of `PROPERTIES`.
        right: the share of those sentences with more weight on the noun that is meant.
        item: which nouns, by place. A trait, as are the next four: set it and the page follows.
        layer, head: from 0.
        tiles: the property whose medians the tiles show.
        count: sentences on show: 1, 2, 4 or 8.
        title, caption: plain text above and below.

    Raises:
        ValueError: the sizes do not fit, or a setting is out of range.

    Example:
        >>> bench = HeadBench.recorded(count=8)
        >>> now = bench.compute()
        >>> now["texts"][2]
        "The street wasn't crossed by the animal because it was too tired."
        >>> [round(effect, 2) for effect in now["effects"]]
        [0.11, -0.06, 0.47, -0.02]
    """

    _about = "Weights of all-MiniLM-L6-v2, recorded."
    _limits: ClassVar = {
        "item": lambda self: list(range(len(self.nouns))),
        "layer": lambda _: (0, LAYERS - 1),
        "head": lambda _: (0, HEADS - 1),
        "tiles": lambda _: list(PROPERTIES),
        "count": lambda _: list(COUNTS),
    }

    frames = t.List().tag(sync=True)
    nouns = t.List().tag(sync=True)
    ends = t.List().tag(sync=True)
    looks = t.Bytes().tag(sync=True)
    medians = t.List().tag(sync=True)
    right = t.List().tag(sync=True)
    item = t.Int(0).tag(sync=True)
    layer = t.Int(3).tag(sync=True)
    head = t.Int(1).tag(sync=True)
    tiles = t.Unicode("referent").tag(sync=True)
    count = t.Int(1).tag(sync=True)

    def __init__(
        self,
        looks: np.ndarray,
        *,
        frames: Sequence,
        nouns: Sequence,
        ends: Sequence,
        medians: Sequence,
        right: Sequence,
        **rest,
    ):
        shape = (len(nouns), 2 * len(frames), 2, LAYERS * HEADS)
        if looks.shape != shape:
            checks.fail("looks", f"shape {shape}", str(looks.shape))
        super().__init__(
            looks=np.round(looks * 65535).astype("<u2").tobytes(),
            frames=[list(frame) for frame in frames],
            nouns=[list(words) for words in nouns],
            ends=list(ends),
            medians=[list(row) for row in medians],
            right=list(right),
            **rest,
        )

    @classmethod
    def recorded(cls, **rest) -> Self:
        """The bench of `experiments.reference`, with settings, title and caption."""
        run = recorded.results("reference")
        page, names = run["page"], ("meant", "animate", "subject", "farther")
        whole = np.frombuffer(base64.b64decode(page["looks"]), "<u2")
        nouns, ends, frames = (page[name] for name in ("nouns", "ends", "frames"))
        whole = whole.reshape(len(nouns), len(ends), 2 * len(frames), 2, -1)
        return cls(
            whole[:, 0] / 65535,
            frames=frames,
            nouns=nouns,
            ends=ends[0],
            medians=[[row["effects"][name]["median"] for name in names] for row in run["rows"]],
            right=[row["right"] for row in run["rows"]],
            **rest,
        )

    def sentences(self) -> list[tuple[str, list[int]]]:
        """The eight sentences of the present nouns, with the signs of each."""
        words = dict(zip("apvd", self.nouns[self.item], strict=True))
        return [
            (
                text.format(**words, x=x),
                [1 if is_it else -1 for is_it in (not place, True, subject, farther)],
            )
            for text, subject, farther in self.frames
            for place, x in enumerate(self.ends)
        ]

    def compute(self) -> dict:
        texts, signs = zip(*self.sentences()[: self.count], strict=True)
        kept = np.frombuffer(self.looks, "<u2") / 65535
        kept = kept.reshape(len(self.nouns), 2 * len(self.frames), 2, -1)
        place = self.layer * HEADS + self.head
        weights = kept[self.item, : self.count, :, place]  # (count, 2)
        more, columns = weights[:, 0] - weights[:, 1], np.array(signs).T  # (4, count)
        return {
            "texts": list(texts),
            "weights": weights.tolist(),
            "more": more.tolist(),
            "effects": (columns @ more / self.count).tolist(),
            "alike": [columns.tolist().index(column) for column in columns.tolist()],
            "medians": self.medians[place],
            "right": self.right[place],
            "shades": [row[PROPERTIES.index(self.tiles)] for row in self.medians],
        }

    def figure(self) -> Figure:
        now = self.compute()
        return heatmap(
            np.array(now["weights"]),
            query_tokens=now["texts"],
            key_tokens=self.nouns[self.item][:2],
            title=self.title or f"Layer {self.layer}, head {self.head}: weights of “it”",
            vmax=1.0,
        )

    def _words(self) -> str:
        (animate, place), (layer, head) = self.nouns[self.item][:2], (self.layer, self.head)
        return (
            f"A bench for attention heads: the weights of “it” on “{animate}” and “{place}” in "
            f"up to eight sentences, in layer {layer}, head {head}, and how much more weight a "
            "noun gets for being the referent, alive, the subject, or farther away."
        )
