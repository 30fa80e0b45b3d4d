"""Heads to aim, and a lamp for each reading: why two rows of weights see what one cannot."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz import arrays
from attnkit.viz.heatmap import heatmap

COMMANDS = ("hang", "let", "feed")
SIDES = ("left", "right", "absent")
"""Where a command stands in a sentence: before *not*, after it, or not at all."""

DECAY = 0.001
"""Of the read-outs: half of the factor of their squared norm, beside the mean loss."""

STEPS, FAR, SAME, TINY = 60, 30, 1e-6, 1e-12


class LampMachine(Machine):
    r"""All sentences "a not b" of three commands, read by one head or two that the reader aims.

    At *not*, head h gives the command on the left and the one on the right the weights
    softmax(-q_h, q_h). The values are one-hot, so what a head brings back is a mix of two commands.
    Two linear read-outs, one for the left command and one for the right, hear what all heads bring
    and are fitted again for every setting: logistic regression on the six sentences, with weight
    decay. A lamp is lit where a read-out names the right command.

    The sentences differ in the names of the commands alone, and the loss is convex, so the best
    read-out treats all commands alike: a number s_h for each head, with logits s_h times what the
    head brings. Newton's method finds it.

    Args:
        second: whether there is a second head. A trait, as are the next two: set them and the page
            follows.
        head0, head1: ten times the query of each head, from -30 (left) to 30 (right).
        commands: three names.
        title, caption: plain text above and below.

    Raises:
        TypeError: commands that are no strings.
        ValueError: a setting out of range, another number of commands.

    Example:
        >>> machine = LampMachine(head0=-2)
        >>> machine.compute()["lit"], machine.compute()["named"]
        (6, ['left', 'left'])
        >>> machine.second, machine.head1 = True, 2
        >>> machine.compute()["lit"]
        12
    """

    _kits = (*Machine._kits, "layers")
    _about = (
        "Your browser fits both read-outs anew at every move; under each lamp is what one names."
    )
    _limits: ClassVar = {
        "second": None,
        "head0": lambda _: (-FAR, FAR),
        "head1": lambda _: (-FAR, FAR),
    }

    commands = t.List(t.Unicode()).tag(sync=True)
    second = t.Bool(False).tag(sync=True)
    head0 = t.Int(0).tag(sync=True)
    head1 = t.Int(0).tag(sync=True)

    def __init__(
        self,
        *,
        second: bool = False,
        head0: int = 0,
        head1: int = 0,
        commands: Sequence[str] = COMMANDS,
        **texts: str,
    ):
        super().__init__(
            commands=arrays.strings("commands", commands, len(COMMANDS)),
            second=second,
            head0=checks.integer("head0", head0),
            head1=checks.integer("head1", head1),
            **texts,
        )

    def compute(self) -> dict:
        queries = np.array([self.head0, self.head1][: 1 + self.second]) / 10  # (H,)
        weights = softmax(np.stack([-queries, queries], -1))  # (H, 2)
        heard = np.concatenate([weights.T, np.zeros((1, len(queries)))])  # (3, H): by `SIDES`
        fitted = [_fit(heard, side) for side in (0, 1)]
        chances = [softmax(heard @ strength) for strength in fitted]
        named = [_loudest(row) for row in chances]
        right = [name == side for name, side in zip(named, SIDES[:2], strict=True)]
        return {
            "weights": weights.tolist(),
            "strengths": [strength.tolist() for strength in fitted],
            "chances": [row.tolist() for row in chances],
            "named": named,
            "lit": 6 * sum(right),
            "both": 6 * int(all(right)),
        }

    def figure(self) -> Figure:
        weights = np.array(self.compute()["weights"])
        left, right, _ = self.commands
        return heatmap(
            weights,
            query_tokens=[f"head {h}" for h in range(len(weights))],
            key_tokens=[left, right],
            title=self.title or "Where each head looks",
            vmax=1.0,
        )

    def _words(self) -> str:
        brought = "two heads bring" if self.second else "one head brings"
        return (
            "Six orders of two commands around “not”, and a lamp for each command that a "
            f"linear read-out names correctly, from what {brought} back. Aim the heads to light "
            "all twelve."
        )


def _fit(heard: np.ndarray, side: int) -> np.ndarray:
    """The strengths (H,) that make the command on a side likeliest; `heard` (3, H)."""
    strength = np.zeros(heard.shape[1])

    def loss(strength):
        logits = heard @ strength
        most = logits.max()
        sizes = np.log(np.exp(logits - most).sum()) + most
        return sizes - logits[side] + DECAY * strength @ strength

    for _ in range(STEPS):
        chances = softmax(heard @ strength)
        average = chances @ heard
        slope = average - heard[side] + 2 * DECAY * strength
        bend = (heard.T * chances) @ heard - np.outer(average, average)
        step = np.linalg.solve(bend + 2 * DECAY * np.eye(len(strength)), slope)
        while loss(strength - step) > loss(strength) and abs(step).max() > TINY:
            step = step / 2
        strength = strength - step
        if abs(step).max() < TINY:
            break
    return strength


def _loudest(chances: np.ndarray) -> str:
    """The likeliest of `SIDES`; "" where two are alike."""
    order = np.argsort(-chances, kind="stable")
    return "" if chances[order[0]] - chances[order[1]] < SAME else SIDES[order[0]]
