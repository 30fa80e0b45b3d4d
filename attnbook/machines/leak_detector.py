"""A layer to be found out: wiggle one input, and see which outputs move, library by library."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.viz import arrays
from attnkit.viz.heatmap import heatmap

LIBRARIES = {
    "attnkit": "attnkit",
    "sdpa": "PyTorch’s function",
    "mha": "PyTorch’s module",
    "keras": "Keras 3",
}
GIVEN = {
    "look": "True: may look",
    "hide": "True: hidden",
    "ones": "1.0 look, 0.0 hidden",
    "added": "0 look, −∞ hidden",
}
LAYERS = {
    "before": "as it should be",
    "after": "masked after the softmax",
    "first": "two layers, one masked",
    "normed": "normed over the words",
}
"""What a reader may choose, and what the page calls it."""

FEATURES, STILL = 4, 1e-9
WIGGLE = 0.8 * np.array([1, -1, 1, -1])
"""What is added to the input that is wiggled."""

NAMES = ("the", "cat", "sat", "on", "a", "mat")


class LeakDetector(Machine):
    """A small causal attention, handed its mask in the form and to the library of one's choice.

    Its inputs and projections are random and fixed. The mask is always the causal one; what a
    library takes it for decides who sees whom. PyTorch's function, Keras and `attnkit` look where a
    mask is true, PyTorch's modules hide there; PyTorch adds floats to the scores; Keras takes
    whatever is not 0 for true. A row that sees nothing is the average of all values in Keras, which
    makes it zeros where its weights are asked for, and zeros elsewhere: PyTorch's module is called
    with `need_weights=False`, as in training.

    Args:
        names: of the inputs.
        library: "attnkit", "sdpa", "mha" or "keras". A trait, as are the next three: set them and
            the page follows.
        given: the mask as booleans that say "look" or "hide", as "ones" and zeros, or "added".
        layer: "before" the softmax masked, "after" it, the "first" of two layers masked, or the
            inputs "normed" over the words first.
        word: the input that is wiggled.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> LeakDetector(library="sdpa", given="look").compute()["leaks"]
        0
        >>> LeakDetector(library="mha", given="look").compute()["leaks"]
        15
    """

    _kits = (*Machine._kits, "layers")
    _about = "A real attention of four features with random weights, which your browser computes."
    _limits: ClassVar = {
        "library": lambda _: list(LIBRARIES),
        "given": lambda _: list(GIVEN),
        "layer": lambda _: list(LAYERS),
        "word": lambda m: (0, len(m.names) - 1),
    }

    names = t.List(t.Unicode()).tag(sync=True)
    choices = t.List().tag(sync=True)  # of libraries, forms and layers: [name, what it is called]
    x = t.List().tag(sync=True)  # (L, E)
    matrices = t.List().tag(sync=True)  # of two layers query, key and value, (2, 3, E, E)
    library = t.Unicode("sdpa").tag(sync=True)
    given = t.Unicode("look").tag(sync=True)
    layer = t.Unicode("before").tag(sync=True)
    word = t.Int(0).tag(sync=True)

    def __init__(self, names: Sequence[str] = NAMES, **rest):
        names, draw = arrays.strings("names", names), np.random.default_rng(6)
        x = draw.normal(size=(len(names), FEATURES)).round(2)
        matrices = (1.2 * draw.normal(size=(2, 3, FEATURES, FEATURES)) / FEATURES**0.5).round(2)
        matrices = matrices.swapaxes(-1, -2)  # a row makes a feature, as in nn.Linear
        rest = {"word": len(names) - 1} | rest
        super().__init__(
            names=names,
            choices=[[*map(list, each.items())] for each in (LIBRARIES, GIVEN, LAYERS)],
            x=x.tolist(),
            matrices=matrices.tolist(),
            **rest,
        )

    def handed(self) -> np.ndarray:
        """The causal mask (L, L) in the form that the library is given."""
        may = np.tri(len(self.names), dtype=bool)
        if self.given == "added":
            return np.where(may, 0.0, -np.inf)
        return {"look": may, "hide": ~may, "ones": may.astype(float)}[self.given]

    def added(self) -> np.ndarray:
        """What the library adds to the scores, (L, L)."""
        mask = self.handed()
        if self.library in ("sdpa", "mha") and mask.dtype != bool:
            return mask
        seen = mask == 0 if self.library == "mha" else mask != 0
        return np.where(seen, 0.0, -np.inf)

    def run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (L, L) of the layer that has the mask, and the layer's outputs (L, E)."""
        added, matrices = self.added(), np.array(self.matrices)
        if self.layer == "normed":
            x = (x - x.mean(0)) / x.std(0, ddof=1)
        weights, output = self._attend(x, matrices[0], added, after=self.layer == "after")
        if self.layer == "first":
            output = self._attend(output, matrices[1], np.zeros_like(added))[1]
        return weights, output

    def _attend(self, x, matrices, added, *, after=False):
        query, key, value = (x @ matrix.T for matrix in matrices)
        scores = query @ key.T / FEATURES**0.5
        if after:
            weights = softmax(scores) * (added > -1e4)
        else:
            empty = np.isneginf(added).all(1, keepdims=True)
            summed = scores + np.where(empty, 0.0, added)
            nothing = 1 / len(x) if self.library == "keras" else 0.0
            weights = np.where(empty, nothing, softmax(summed))
        return weights, weights @ value

    def compute(self) -> dict:
        none = {"seen": [], "weights": [], "now": [], "before": [], "output": [], "reach": []}
        if self.library == "attnkit" and self.handed().dtype != bool:
            return {"refused": True, **none, "leaks": 0}
        x, n = np.array(self.x), len(self.names)
        weights, before = self.run(x)
        moved = []
        for place in range(n):
            wiggled = x.copy()
            wiggled[place] += WIGGLE
            moved.append(self.run(wiggled))
        outputs = np.stack([output for _, output in moved], 1)
        reach = np.linalg.norm(outputs - before[:, None], axis=-1)  # (L, S)
        above = ~np.tri(n, dtype=bool)
        return {
            "refused": False,
            "seen": (self.added() > -1e4).tolist(),
            "weights": weights.tolist(),
            "now": moved[self.word][0].tolist(),  # the weights, once the word is wiggled
            "before": before.tolist(),
            "output": moved[self.word][1].tolist(),
            "reach": reach.tolist(),
            "leaks": int((reach[above] > STILL).sum()),
        }

    def figure(self) -> Figure:
        n = len(self.names)
        reach = self.compute()["reach"] or [[0.0] * n] * n
        return heatmap(
            np.array(reach),
            query_tokens=self.names,
            key_tokens=self.names,
            title=self.title or "Which input moves which output",
        )

    def _words(self) -> str:
        return (
            "Six inputs of a small causal attention; one of them is wiggled, and the outputs that "
            "move are marked, those before it as leaks."
        )
