"""The canteen: seven days as arrows to drag, each of which should look at the next."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SCORES = ("dot", "general", "two")
EDGE, MOST = 2.0, 60
"""How long an arrow can be, and the most updates of training."""

RATE, DIAL = 0.5, 0.1
"""The learning rates of the arrows and of the angle."""

TOMORROW = np.roll(np.eye(7), 1, 1)


def around(lengths: Sequence[float], degrees: float, first: float = 90.0) -> list[list[float]]:
    """Seven arrows, each `degrees` further round the clock than the one before.

    Example:
        >>> around([1.0] * 7, 90)[:3]
        [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]]
    """
    angles = np.radians(first - degrees * np.arange(7))
    arrows = np.array(lengths)[:, None] * np.stack([np.cos(angles), np.sin(angles)], -1)
    return (arrows.round(4) + 0.0).tolist()


RING = around([1.27] * 7, 360 / 7)
"""Where training ends with one table: a regular heptagon."""

SIX = around([EDGE * 1.3 ** (day - 6) for day in range(7)], 36)
"""A spiral with which six days are served: each arrow is a little longer than the one before."""

ASKING = around([1.0] * 7, 360 / 7, 110)
"""Each leans a little towards yesterday, so that training has all the work to do."""


class Canteen(Machine):
    r"""Seven days in a plane; each day asks for the next, and gets a softmax of scores.

    A day is a vector, listed as a key. With one table it is the query, too: the score is
    :math:`a^\top b`. With one matrix the query is the vector turned by an angle, Luong et al.'s
    *general* (2015) with a rotation as W. With two tables each day has a second vector that asks.
    Training is gradient descent on the cross-entropy of tomorrow, averaged over the week.

    Args:
        score: "dot", "general" or "two". A trait, as are the next four: set them and the page
            follows, drag an arrow and they follow.
        days: (7, 2), the arrows as they are listed, each at most 2 long.
        asking: (7, 2), those that ask when there are two tables.
        turn: by how many degrees the matrix turns, clockwise.
        learned: how many updates of training follow, from 0 to 60.
        title, caption: plain text above and below.

    Raises:
        ValueError: a setting that is none of these.

    Example:
        >>> machine = Canteen()
        >>> sum(machine.compute()["served"])
        0
        >>> machine.score, machine.turn = "general", 51
        >>> sum(machine.compute()["served"])
        7
    """

    _kits = (*Machine._kits, "layers")
    _about = "Scores, weights and training are computed in your browser."
    _limits: ClassVar = {
        "score": lambda _: list(SCORES),
        "days": None,
        "asking": None,
        "turn": lambda _: (-180, 180),
        "learned": lambda _: (0, MOST),
    }

    names = t.List(t.Unicode(), list(DAYS)).tag(sync=True)
    six = t.List(t.List(t.Float()), SIX).tag(sync=True)
    score = t.Unicode("dot").tag(sync=True)
    days = t.List(t.List(t.Float())).tag(sync=True)
    asking = t.List(t.List(t.Float())).tag(sync=True)
    turn = t.Int(0).tag(sync=True)
    learned = t.Int(0).tag(sync=True)

    def __init__(
        self,
        *,
        score: str = "dot",
        days: Sequence[Sequence[float]] = RING,
        asking: Sequence[Sequence[float]] = ASKING,
        turn: int = 0,
        learned: int = 0,
        **texts: str,
    ):
        turn, learned = checks.integer("turn", turn), checks.integer("learned", learned)
        week, own = ([list(one) for one in vectors] for vectors in (days, asking))
        super().__init__(score=score, days=week, asking=own, turn=turn, learned=learned, **texts)

    @t.validate("days", "asking")
    def _a_week(self, proposal):
        value = proposal.value
        fits = len(value) == 7 and all(
            len(one) == 2 and math.hypot(*one) <= EDGE + 0.01 for one in value
        )
        return expect(proposal, f"seven arrows (x, y) of at most {EDGE:g}", fits)

    def compute(self) -> dict:
        keys, own, angle = np.array(self.days), np.array(self.asking), math.radians(self.turn)
        for _ in range(self.learned):
            keys, own, angle = _learn(self.score, keys, own, angle)
        asked = _asked(self.score, keys, own, angle)
        scores = asked @ keys.T
        weights = softmax(scores)
        others = np.where(TOMORROW > 0, -np.inf, scores).max(-1)
        wanted = (scores * TOMORROW).sum(-1)
        return {
            "keys": keys.tolist(),
            "own": own.tolist(),
            "turned": math.degrees(angle),
            "asked": asked.tolist(),
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "served": (wanted > others).tolist(),
            "loss": float(-np.log((weights * TOMORROW).sum(-1)).mean()),
        }

    def figure(self) -> Figure:
        return heatmap(
            np.array(self.compute()["weights"]),
            query_tokens=[f"{day}?" for day in self.names],
            key_tokens=self.names,
            title=self.title or "Each day should look at the next",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "Seven days as arrows to drag, and the weights that each day gives to all seven: it "
            "should look at the next one. One table, one matrix or two tables can be chosen."
        )


def _rotation(angle: float) -> np.ndarray:
    """(2, 2): a row times it is turned clockwise."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def _asked(score: str, keys: np.ndarray, own: np.ndarray, angle: float) -> np.ndarray:
    """The queries, (7, 2)."""
    return {"dot": keys, "two": own, "general": keys @ _rotation(angle)}[score]


def _learn(
    score: str, keys: np.ndarray, own: np.ndarray, angle: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """One step of gradient descent; arrows that would be too long are held at the edge."""
    asked = _asked(score, keys, own, angle)
    pull = (softmax(asked @ keys.T) - TOMORROW) / 7
    of_query, of_key = pull @ keys, pull.T @ asked
    if score == "two":
        return _held(keys - RATE * of_key), _held(own - RATE * of_query), angle
    if score == "dot":
        return _held(keys - RATE * (of_key + of_query)), own, angle
    back = of_query @ _rotation(-angle)
    # A quarter of a circle further is the derivative of a turn.
    turn = float((keys @ _rotation(angle + math.pi / 2) * of_query).sum())
    return _held(keys - RATE * (of_key + back)), own, angle - DIAL * turn


def _held(vectors: np.ndarray) -> np.ndarray:
    far = np.maximum(np.hypot(*vectors.T) / EDGE, 1)
    return vectors / far[:, None]
