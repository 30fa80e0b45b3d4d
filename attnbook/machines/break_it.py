"""A layer of attention to break, line by line: its maps, and what tests and checks say of it."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
import traitlets as t
from matplotlib.figure import Figure

from attnbook import broken_layer
from attnbook.broken_layer import BREAKABLE, HEADS, LINES, SIZE
from attnbook.machines.base import Machine, softmax
from attnbook.museum import USUAL
from attnkit.viz import arrays
from attnkit.viz.heatmap import heatmap

NAMES = ("pad", "pad", "a", "big", "cat", "sat")
PADDING = 2
LOWEST = float(np.finfo(np.float32).min)


class BreakIt(Machine):
    """A causal attention layer of two heads, of which ten lines can be broken.

    Two lines can be broken at a time. The page computes the layer's weights and its output for a
    sequence that is padded on the left. What three usual tests and nine checks of `attnkit.testing`
    say of it was recorded for every combination (`attnbook.broken_layer`).

    Args:
        names: of the places; the first two are padding.
        first, second: the names of the lines that are broken, or "". Traits: set them and the page
            follows.
        title, caption: plain text above and below.

    Example:
        >>> machine = BreakIt(first="scale")
        >>> [machine.lamps[place] for place in machine.compute()["red"]]
        ['compared with correct code', 'assert_scale']
    """

    _kits = (*Machine._kits, "layers")
    _about = "Your browser computes the maps. The lamps were recorded from the code on show."
    _limits: ClassVar = {
        name: lambda _: ["", *(line.name for line in BREAKABLE)] for name in ("first", "second")
    }

    names = t.List(t.Unicode()).tag(sync=True)
    lines = t.List().tag(sync=True)  # right, wrong, the setting, the exhibit, the slip
    qkv = t.List().tag(sync=True)  # (L, 3 E)
    mix = t.List().tag(sync=True)  # the last projection, (E, E)
    lamps = t.List(t.Unicode()).tag(sync=True)  # usual tests, then checks
    words = t.List(t.Unicode()).tag(sync=True)  # all that is said, once
    rows = t.Dict().tag(sync=True)  # by the names of broken lines: the place of each lamp's words
    first = t.Unicode("").tag(sync=True)
    second = t.Unicode("").tag(sync=True)

    def __init__(self, names: Sequence[str] = NAMES, **rest):
        names = arrays.strings("names", names, len(NAMES))
        layer, recorded = broken_layer.build(), broken_layer.recorded()
        generator = torch.Generator().manual_seed(3)
        x = 2 * torch.randn(len(names), HEADS * SIZE, generator=generator)
        with torch.no_grad():
            qkv = layer.qkv(x).double().numpy().round(3)
        super().__init__(
            names=names,
            lines=[list(line) for line in LINES],
            qkv=qkv.tolist(),
            mix=layer.out.weight.detach().double().numpy().round(3).tolist(),
            lamps=[*USUAL, *broken_layer.CHECKS],
            words=recorded["words"],
            rows=recorded["rows"],
            **rest,
        )

    def run(self, *broken: str) -> tuple[np.ndarray, np.ndarray]:
        """Weights (H, L, L) and output (L, E), without the bias of the last projection."""
        n = len(self.names)
        parts = np.split(np.array(self.qkv), 3, -1)
        if "split" in broken:
            query, key, value = (part.reshape(HEADS, n, SIZE) for part in parts)
        else:
            query, key, value = (part.reshape(n, HEADS, SIZE).swapaxes(0, 1) for part in parts)
        scores = query @ key.swapaxes(1, 2) / (1 if "scale" in broken else SIZE**0.5)
        real = np.arange(n) >= PADDING
        seen = np.tri(n, k=int("causal" in broken), dtype=bool)
        seen = seen & (real[:, None] if "axis" in broken else real)
        if "kept" not in broken:
            scores = np.where(seen, scores, -1e9 if "fill" in broken else LOWEST)
        columns = scores.swapaxes(1, 2)
        weights = (
            softmax(columns).swapaxes(1, 2) if "axis_of_softmax" in broken else softmax(scores)
        )
        if "empty" not in broken:
            weights = weights * seen
        output = (weights @ value).swapaxes(0, 1).reshape(n, -1) @ np.array(self.mix).T
        return weights.mean(0, keepdims=True) if "mean" in broken else weights, output

    def compute(self) -> dict:
        broken = [line.name for line in BREAKABLE if line.name in (self.first, self.second)]
        row = self.rows[" ".join(broken)]
        right, expected = self.run()
        weights, output = self.run(*broken)
        moved = np.linalg.norm(output - expected, axis=-1)
        return {
            "right": right.tolist(),
            "weights": weights.tolist(),
            "broken": broken,
            "moved": None if "dropout" in broken else moved.tolist(),
            "said": row,
            "red": [n for n, place in enumerate(row) if self._is_red(place)],
        }

    def _is_red(self, place: int) -> bool:
        return place > 0 and not self.words[place].startswith(broken_layer.CANNOT)

    def figure(self) -> Figure:
        return heatmap(
            np.array(self.compute()["weights"])[0],
            query_tokens=self.names,
            key_tokens=self.names,
            title=self.title or "One head of a layer to break",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "Ten lines of an attention layer, each of which can be broken; the maps of its heads "
            "before and after, and a lamp for each of three usual tests and nine checks."
        )
