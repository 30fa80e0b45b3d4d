"""Queries and keys that grow until rows of attention are one-hot, and what holds them back."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap

CAP = 5.0
REMEDIES = ("none", "norm", "cap")
WORDS = ("the", "cat", "naps", "here", "and", "purrs")
QUERIES = (
    (-0.7, -0.6, 0.8, -0.3), (0.3, 1.4, 0.2, 0.2), (-0.2, -1.4, 2.0, 1.0),
    (1.7, 0.5, 0.1, 1.1), (-0.7, -0.1, -1.8, 0.3), (-0.5, -0.6, 0.8, 1.7),
)  # fmt: skip
KEYS = (
    (0.6, -0.8, 1.6, -1.4), (-0.4, 0.5, 0.6, 0.0), (0.3, -0.3, 1.1, -0.9),
    (0.6, -0.2, 0.9, 1.2), (0.1, 1.7, 1.0, 0.8), (1.2, -0.7, 0.5, -0.6),
)  # fmt: skip
"""Random vectors of one decimal; that of *and* is turned away from all keys."""


class CollapseMachine(Machine):
    r"""Attention whose queries and keys the reader scales, with three ways to bound it.

    Scores are :math:`q_i \cdot k_j / \sqrt d`, so twice as long queries and keys make them four
    times as large. QK-norm gives each query and key the length :math:`\sqrt d` first; a soft cap
    takes 5 tanh(score / 5). A sink is one more key, whose score is 0 and whose value is nothing.
    For each row: the weights, e to the power of their entropy, and the length of all derivatives
    of the weights by the scores before a cap.

    Args:
        words: names of the rows and the columns.
        queries, keys: vectors (words, d).
        size: the factor of all queries and keys, from 0.5 to 8. A trait, as are the next two: set
            them and the page follows.
        remedy: "none", "norm" or "cap".
        sink: whether there is one.
        title, caption: plain text above and below.

    Raises:
        ValueError: the numbers of words, queries and keys differ, or a setting is out of range.

    Example:
        >>> small, large = CollapseMachine(size=1).compute(), CollapseMachine(size=8).compute()
        >>> round(small["keys"], 1), round(large["keys"], 1)
        (5.1, 1.0)
        >>> CollapseMachine(size=8, remedy="norm").compute()["onehot"]
        0
    """

    _kits = (*Machine._kits, "layers")
    _about = (
        "Keys in use: e to the power of the row's entropy. One-hot: over .99 on one key. Gradient: "
        "how much a row's weights answer a small change of its scores; full: two keys at one half. "
        "All vectors are made up."
    )
    _limits: ClassVar = {
        "size": lambda _: [half / 2 for half in range(1, 17)],
        "remedy": lambda _: list(REMEDIES),
        "sink": None,
    }

    words = t.List(t.Unicode()).tag(sync=True)
    query_vectors = t.List().tag(sync=True)
    key_vectors = t.List().tag(sync=True)
    size = t.Float(1.0).tag(sync=True)
    remedy = t.Unicode("none").tag(sync=True)
    sink = t.Bool(False).tag(sync=True)

    def __init__(
        self, *, words: Sequence = WORDS, queries: Sequence = QUERIES, keys: Sequence = KEYS, **rest
    ):
        if not len(words) == len(queries) == len(keys):
            found = f"{len(words)}, {len(queries)} and {len(keys)}"
            checks.fail("words", "as many words as queries and keys", found)
        super().__init__(
            words=list(words),
            query_vectors=[list(v) for v in queries],
            key_vectors=[list(v) for v in keys],
            **rest,
        )

    def compute(self) -> dict:
        query, key = (
            self.size * np.array(part, float) for part in (self.query_vectors, self.key_vectors)
        )
        if self.remedy == "norm":
            query, key = (v / np.sqrt((v * v).mean(-1, keepdims=True)) for v in (query, key))
        raw = query @ key.T / np.sqrt(query.shape[-1])  # (L, L)
        bent = np.tanh(raw / CAP)
        scores, slopes = (CAP * bent, 1 - bent**2) if self.remedy == "cap" else (raw, 1 + 0 * raw)
        if self.sink:
            scores = np.pad(scores, ((0, 0), (1, 0)))
            slopes = np.pad(slopes, ((0, 0), (1, 0)), constant_values=1.0)
        weights = softmax(scores)  # (L, S)
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        effective = np.exp(-(weights * logs).sum(-1))
        steps = weights[..., None] * (np.eye(weights.shape[-1]) - weights[:, None])
        gradients = np.sqrt(((steps * slopes[:, None]) ** 2).sum((1, 2)))
        return {
            "scores": scores.tolist(),
            "weights": weights.tolist(),
            "effective": effective.tolist(),
            "gradients": gradients.tolist(),
            "reach": float(np.abs(raw).max()),
            "keys": float(effective.mean()),
            "gradient": float(gradients.mean()),
            "onehot": int((weights.max(-1) > 0.99).sum()),
        }

    def figure(self) -> Figure:
        return heatmap(
            np.array(self.compute()["weights"]),
            query_tokens=list(self.words),
            key_tokens=["sink", *self.words] if self.sink else list(self.words),
            title=self.title or f"Queries and keys × {self.size:g}",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "Attention of six words whose queries and keys can be made larger: the weights, the "
            "number of keys in use and the gradient of each row, with QK-norm, a soft cap and "
            "a sink to switch on."
        )
