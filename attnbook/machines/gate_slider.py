"""A gate that the reader drags: how much of the first word a recurrent state still holds."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays
from attnkit.viz.heatmap import plain_axes

BIASES = (-2.0, 7.0)
"""From a gate of 0.12 to one of 0.999."""

FLOAT_DIGITS = 24
"""Binary places that a float32 between 1/2 and 1 has."""

NOISE = 0.001
"""The noise that chapter 01 puts on the state; it hides what is smaller."""


class GateSlider(Machine):
    r"""One recurrent unit that reads a bit with each word, and a slider for its gate.

    .. math::

        h_j = z\, h_{j-1} + (1 - z)\, x_j, \qquad z = \sigma(\mathrm{bias}), \quad h_0 = 0

    is the update of a GRU (Cho et al. 2014) whose candidate is the input and whose gate stays the
    same. The page shows the weight of each word in the state, the state's binary digits, and
    which of them change when the first word's bit is flipped.

    Args:
        words: strings, at least 2; the first is the one to be remembered.
        inputs: a bit, 0 or 1, for each word.
        bias: of the gate, from -2 to 7. A trait, as are the next two: set them and the page
            follows.
        step: how many words have been read, from 1.
        flipped: whether the first word's bit is the other one.
        title, caption: plain text above and below.

    Raises:
        TypeError: `words` are no strings, `bias` is no number.
        ValueError: fewer than 2 words, a number of inputs that is not that of the words, an input
            that is no bit, a setting out of range.

    Example:
        >>> slider = GateSlider(["one", "two", "three"], [1, 0, 1], bias=0.0, step=3)
        >>> slider.gate, slider.states().tolist()
        (0.5, [0.5, 0.25, 0.625])
        >>> slider.kept(), slider.moved()
        (0.25, 0.125)
    """

    _about = (
        "Nothing here is trained. Your browser computes the state of one unit, in float32, twice: "
        "with the first word's bit as it is, and flipped."
    )
    _limits: ClassVar = {
        "bias": lambda _: BIASES,
        "step": lambda m: (1, len(m.words)),
        "flipped": None,
    }

    words = t.List(t.Unicode()).tag(sync=True)
    inputs = t.List(t.Int()).tag(sync=True)
    bias = t.Float(0.0).tag(sync=True)
    step = t.Int(1).tag(sync=True)
    flipped = t.Bool(False).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str],
        inputs: Sequence[int],
        *,
        bias: float = 0.0,
        step: int | None = None,
        flipped: bool = False,
        **texts: str,
    ):
        words = arrays.strings("words", words)
        if len(words) < 2:
            checks.fail("words", "at least 2 strings", str(len(words)))
        if len(inputs) != len(words):
            checks.fail("inputs", f"{len(words)} bits, one a word", str(len(inputs)))
        super().__init__(
            words=words,
            inputs=[
                checks.integer(f"inputs[{place}]", bit, minimum=0, maximum=1)
                for place, bit in enumerate(inputs)
            ],
            bias=checks.number("bias", bias),
            step=len(words) if step is None else step,
            flipped=flipped,
            **texts,
        )

    @property
    def gate(self) -> float:
        """z, as a float32 holds it."""
        return float(np.float32(1 / (1 + math.exp(-self.bias))))

    def states(self, flipped: bool = False) -> np.ndarray:
        """The state after each word, float32 (L,); with the first word's bit `flipped`."""
        z = np.float32(self.gate)
        state, found = np.float32(0), []
        for place, bit in enumerate(self.inputs):
            bit = np.float32(1 - bit if flipped and place == 0 else bit)
            state = z * state + (np.float32(1) - z) * bit
            found.append(state)
        return np.array(found)

    def weights(self) -> np.ndarray:
        """Of each word read so far its weight in the state, float64 (step,)."""
        return (1 - self.gate) * self.gate ** np.arange(self.step)[::-1]

    def kept(self) -> float:
        """What is left of the first word after `step` words: z to the number of words since."""
        return self.gate ** (self.step - 1)

    def half_life(self) -> float:
        """Words after which half of what was written is left."""
        return math.log(2) / -math.log(self.gate)

    def moved(self) -> float:
        """How far the state after `step` words moves with the first bit; 0 when it is lost."""
        there, back = (self.states(flipped)[self.step - 1] for flipped in (False, True))
        return abs(float(there) - float(back))

    def compute(self) -> dict:
        return {
            "gate": self.gate,
            "states": self.states(self.flipped).tolist(),
            "others": self.states(not self.flipped).tolist(),
            "weights": self.weights().tolist(),
            "left": self.kept(),
            "half": self.half_life(),
            "moved": self.moved(),
        }

    def figure(self) -> Figure:
        figure, ax = plain_axes((7.2, 3.2), self.title or "What is left of each word")
        ax.bar(range(self.step), self.weights(), color="#1f4fc4")
        for height, name in ((NOISE, f"noise of {NOISE}"), (2.0**-FLOAT_DIGITS, "float32")):
            ax.axhline(height, color="black", linestyle="--", linewidth=0.8)
            ax.text(len(self.words) - 0.5, height, name, ha="right", va="bottom", fontsize=8)
        ax.set_xticks(range(len(self.words)), self.words, rotation=60, ha="right", fontsize=8)
        ax.set(yscale="log", ylim=(2.0**-30, 1), ylabel="weight in the state")
        return figure

    def _words(self) -> str:
        return (
            f"The weight of each of {len(self.words)} words in the state of one recurrent unit, "
            f"on a logarithmic axis, for a gate that can be moved."
        )
