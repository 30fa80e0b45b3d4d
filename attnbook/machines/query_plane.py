"""A query to drag in the plane: weights and output follow, and keys that learn."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import Picture
from attnkit.viz.widget import expect

STEPS, RATE, EDGE = 99, 2.0, 2.0
"""The most steps that keys learn for, how far one takes them, and where the plane ends for them."""


class QueryPlane(Machine):
    r"""Keys as arrows in a plane, a query to drag, the weights and the output.

    .. math::

        \mathrm{weights} = \mathrm{softmax}(\mathrm{scale} \cdot q^\top W K^\top), \qquad
        \mathrm{output} = \mathrm{weights}\, V

    where W is the identity until the query is turned: then it is `matrix`, and the score is Luong
    et al.'s *general* (2015). The output is an average, so it stays within the hull of the values.

    With a target the keys can learn: gradient descent on half the squared distance of output and
    target, in units of the values' range, moves key j by
    :math:`-2 (o - t)\, w_j (v_j - o)\, \mathrm{scale}\, q`. What they have learned they keep, when
    the query moves and when the lookup is hard: then the best key's value is the output, and no key
    has a slope to learn by.

    Args:
        key: (S, 2).
        value: (S, 1), drawn on a line, or (S, 2), drawn among the keys; the keys when left out.
        query: (2,); a trait: set it and the page follows, drag it and it follows.
        names: S strings.
        scale: what the dot products are multiplied by.
        matrix: (2, 2), or None for a plane without the choice of turning the query.
        turned: whether the query meets the matrix first; a trait, as are the next two.
        lessons: what the keys have learned: (x, y, n) for n steps with the query (x, y), one
            after the other, up to 99 steps.
        hard: whether the best key gets all the weight.
        target: what the output should be, for values on a line; None for keys that stay.
        title, caption: plain text above and below.

    Raises:
        TypeError: an array that holds no real numbers, names that are no strings.
        ValueError: shapes that do not fit, `scale` not above 0, `turned` without a matrix,
            `lessons` or `hard` without a target, a target for values in the plane.

    Example:
        >>> plane = QueryPlane([[1, 0], [0, 1]], [[10], [20]], query=[0, 0], names=["a", "b"])
        >>> plane.weights(), plane.output()
        (array([0.5, 0.5]), array([15.]))
    """

    _kits = (*Machine._kits, "layers")
    _about = "Weights and output are computed in your browser: softmax of the dot products."
    _limits: ClassVar = {
        "query": None,
        "turned": None,
        "lessons": None,
        "hard": lambda m: [False, True] if m.target is not None else [False],
    }

    key = t.List(t.List(t.Float())).tag(sync=True)
    value = t.List(t.List(t.Float())).tag(sync=True)
    query = t.List(t.Float()).tag(sync=True)
    names = t.List(t.Unicode()).tag(sync=True)
    scale = t.Float(1.0).tag(sync=True)
    matrix = t.List(t.List(t.Float()), allow_none=True, default_value=None).tag(sync=True)
    target = t.Float(allow_none=True, default_value=None).tag(sync=True)
    turned = t.Bool(False).tag(sync=True)
    lessons = t.List(t.List(t.Float())).tag(sync=True)
    hard = t.Bool(False).tag(sync=True)

    def __init__(
        self,
        key: inputs.Array,
        value: inputs.Array | None = None,
        *,
        query: Sequence[float],
        names: Sequence[str],
        scale: float = 1.0,
        matrix: inputs.Array | None = None,
        turned: bool = False,
        lessons: Sequence[Sequence[float]] = (),
        hard: bool = False,
        target: float | None = None,
        **texts: str,
    ):
        key = inputs.floats("key", key)
        if key.ndim != 2 or key.shape[1] != 2 or not len(key):
            checks.fail("key", "shape (S, 2)", f"{key.shape}")
        value = key if value is None else inputs.floats("value", value)
        if value.shape not in ((len(key), 1), (len(key), 2)):
            checks.fail("value", f"shape ({len(key)}, 1) or ({len(key)}, 2)", f"{value.shape}")
        if matrix is not None:
            matrix = inputs.floats("matrix", matrix)
            if matrix.shape != (2, 2):
                checks.fail("matrix", "shape (2, 2)", f"{matrix.shape}")
            matrix = matrix.tolist()
        if target is not None:
            target = checks.number("target", target)
            if value.shape[1] == 2:
                checks.fail("target", "None, since the values lie in the plane", str(target))
        super().__init__(
            target=target,
            lessons=[inputs.floats("lessons", one).tolist() for one in lessons],
            hard=checks.flag("hard", hard),
            key=key.tolist(),
            value=value.tolist(),
            query=inputs.floats("query", query).tolist(),
            names=inputs.strings("names", names, len(key)),
            scale=checks.positive("scale", scale),
            matrix=matrix,
            turned=checks.flag("turned", turned),
            **texts,
        )

    @t.validate("query")
    def _valid_query(self, proposal):
        fits = len(proposal.value) == 2 and np.isfinite(proposal.value).all()
        return expect(proposal, "2 finite numbers", fits)

    @t.validate("turned")
    def _valid_turned(self, proposal):
        fits = self.matrix is not None or not proposal.value
        return expect(proposal, "False, since there is no matrix", fits)

    @t.validate("lessons")
    def _valid_lessons(self, proposal):
        most = STEPS if self.target is not None else 0
        whole = all(
            len(one) == 3 and np.isfinite(one).all() and one[2] >= 1 and one[2] % 1 == 0
            for one in proposal.value
        )
        fits = whole and sum(one[2] for one in proposal.value) <= most
        return expect(proposal, f"(x, y, steps), up to {most} steps in all", fits)

    def asked(self) -> np.ndarray:
        """The query as it meets the keys, float64 (2,): turned by the matrix, or as it is."""
        query = np.array(self.query)
        return query @ np.array(self.matrix) if self.turned else query

    def learned(self) -> np.ndarray:
        """The keys, float64 (S, 2), after all lessons."""
        keys = np.array(self.key)
        for x, y, steps in self.lessons:
            for _ in range(int(steps)):
                keys = np.clip(keys + self._step(keys, np.array([x, y])), -EDGE, EDGE)
        return keys

    def pull(self) -> np.ndarray:
        """How far the next step would take each key, float64 (S, 2): nowhere in a hard lookup."""
        keys = self.learned()
        return np.zeros_like(keys) if self.hard else self._step(keys, self.asked())

    def _step(self, keys: np.ndarray, query: np.ndarray) -> np.ndarray:
        if self.target is None:
            return np.zeros_like(keys)
        value = np.array(self.value)[:, 0]
        weights = softmax(self.scale * keys @ query)
        output, wide = weights @ value, np.ptp(value) or 1.0
        pulls = weights * (value - output) * (self.target - output) / wide**2  # (S,)
        return RATE * self.scale * pulls[:, None] * query

    def scores(self) -> np.ndarray:
        """The scores of the keys, float64 (S,)."""
        return self.scale * self.learned() @ self.asked()

    def weights(self) -> np.ndarray:
        """The weights of the keys, float64 (S,)."""
        scores = self.scores()
        return np.eye(len(scores))[scores.argmax()] if self.hard else softmax(scores)

    def output(self) -> np.ndarray:
        """The average of the values, float64 (Ev,)."""
        return self.weights() @ np.array(self.value)

    def compute(self) -> dict:
        names = ("asked", "scores", "weights", "output", "pull")
        found = {name: getattr(self, name)().tolist() for name in names}
        return found | {"keys": self.learned().tolist()}

    def figure(self) -> Figure:
        figure = Picture(figsize=(4.6, 4.2), layout="constrained")
        ax = figure.subplots()
        arrow = {"arrowstyle": "->", "linewidth": 2}
        for name, key, weight in zip(self.names, self.learned(), self.weights(), strict=True):
            ax.annotate("", key, (0, 0), arrowprops=arrow | {"color": "#86157a"})
            ax.annotate(f"{name} {weight:.2f}", key, fontsize=9, ha="center", va="bottom")
        ax.annotate("", self.asked(), (0, 0), arrowprops=arrow | {"color": "#b34700"})
        ax.annotate("query", self.asked(), fontsize=9, color="#b34700")
        reach = 1.25 * max(np.abs(self.key).max(), np.abs(self.asked()).max())
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set_title(self.title or "A query among its keys", parse_math=False, fontsize=11)
        return figure

    def _words(self) -> str:
        return (
            f"{len(self.names)} keys as arrows in a plane, {', '.join(self.names)}, and a query "
            f"that can be dragged; beside them the weights and the output."
        )
