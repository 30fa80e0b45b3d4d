"""Heads that the reader turns off: the weights of each, and the answers that are left.

The output of multi-head attention is a sum over heads, so what follows it linearly is one, too.
With recorded weights, and with what each key adds to each answer through each head, the browser
computes the answers of any choice of heads exactly.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t

from attnbook.machines.base import Machine, softmax
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect


class HeadSwitch(Machine):
    r"""Heat maps of a layer's heads, a switch for each, and the answers that the model then gives.

    .. math::

        \mathrm{logits} = \mathrm{bias}
        + \sum_{h \text{ on}} \sum_s \mathrm{weights}_{h, \mathrm{row}, s}\, \mathrm{effects}_{h, s}

    which holds when everything after the weights of one layer is linear, with
    effects[h, s] = value[h, s] @ W_o[h] @ W_read: "off" sets the head's output to zero, as Michel
    et al. (2019) do. The weights of the other heads do not change.

    Args:
        weights: (H, L, S), as the model gave them; tensor, array or nested lists.
        effects: (H, S, Q, N): what key s adds to the logit of answer n of question q through head
            h, when that head gives it weight 1.
        bias: (Q, N): the logits with every head off.
        tokens: L == S strings.
        row: index of the query that answers.
        questions: Q strings.
        answers: N strings, the same for every question.
        expected: Q indices of the right answers; when left out, no answer is called right.
        on: H booleans; all heads when left out. A trait: set it and the page follows.
        head_names: H strings.
        title, caption: plain text above and below.

    Raises:
        TypeError: an array that holds no real numbers, tokens that are no strings.
        ValueError: shapes that do not fit, an index out of range, a wrong number of switches.

    Example:
        >>> import torch
        >>> switch = HeadSwitch(torch.ones(2, 1, 1), torch.tensor([[[[1., 0]]], [[[0., 3]]]]),
        ...                     [[0., 0.]], tokens=["a"], row=0, questions=["which?"],
        ...                     answers=["x", "y"])
        >>> switch.logits()
        array([[1., 3.]])
        >>> switch.on = [True, False]
        >>> switch.logits()
        array([[1., 0.]])
    """

    _about = (
        "Rows are queries, columns keys. Recorded: the weights, and what each word adds to each "
        "answer through each head. Computed here: the answers, from the heads that are on."
    )
    _limits: ClassVar = {"on": None}

    shape = t.List(t.Int()).tag(sync=True)  # H, S, Q, N; L is S
    weights = t.Bytes().tag(sync=True)  # float32 (H, L, S)
    effects = t.Bytes().tag(sync=True)  # float32 (H, S, Q, N)
    bias = t.Bytes().tag(sync=True)  # float32 (Q, N)
    tokens = t.List(t.Unicode()).tag(sync=True)
    row = t.Int().tag(sync=True)
    questions = t.List(t.Unicode()).tag(sync=True)
    answers = t.List(t.Unicode()).tag(sync=True)
    expected = t.List(t.Int(), allow_none=True, default_value=None).tag(sync=True)
    head_names = t.List(t.Unicode()).tag(sync=True)
    on = t.List(t.Bool()).tag(sync=True)

    def __init__(
        self,
        weights: inputs.Array,
        effects: inputs.Array,
        bias: inputs.Array,
        *,
        tokens: Sequence[str],
        row: int,
        questions: Sequence[str],
        answers: Sequence[str],
        expected: Sequence[int] | None = None,
        on: Sequence[bool] | None = None,
        head_names: Sequence[str] | None = None,
        **texts: str,
    ):
        weights = inputs.by_head("weights", weights, "(H, L, S)")
        heads, rows, cols = weights.shape
        if rows != cols:
            checks.fail("weights", "L == S", f"L = {rows}, S = {cols}")
        questions, answers = (
            inputs.strings(name, given)
            for name, given in (("questions", questions), ("answers", answers))
        )
        shape = (heads, cols, len(questions), len(answers))
        if expected is not None:
            if len(expected) != len(questions):
                checks.fail("expected", f"{len(questions)} indices", str(len(expected)))
            expected = [
                checks.integer(f"expected[{q}]", place, minimum=0, maximum=len(answers) - 1)
                for q, place in enumerate(expected)
            ]
        super().__init__(
            shape=list(shape),
            weights=weights.tobytes(),
            effects=_of_shape("effects", effects, shape, "(H, S, Q, N)").tobytes(),
            bias=_of_shape("bias", bias, shape[2:], "(Q, N)").tobytes(),
            tokens=inputs.strings("tokens", tokens, cols),
            row=checks.integer("row", row, minimum=0, maximum=rows - 1),
            questions=questions,
            answers=answers,
            expected=expected,
            head_names=inputs.head_names(head_names, heads),
            on=[True] * heads if on is None else list(on),
            **texts,
        )

    @t.validate("on")
    def _valid_on(self, proposal):
        heads = self.shape[0]
        return expect(proposal, f"{heads} booleans, one a head", len(proposal.value) == heads)

    def logits(self) -> np.ndarray:
        """The logits (Q, N) of the heads now on, float64."""
        heads, cols, *answers = self.shape
        weights = inputs.stored(self.weights).reshape(heads, cols, cols)[:, self.row]  # (H, S)
        effects = inputs.stored(self.effects).reshape(heads, cols, *answers)
        switched = weights * np.array(self.on, float)[:, None]
        bias = inputs.stored(self.bias).reshape(answers)
        return bias + np.einsum("hs,hsqn->qn", switched, effects)

    def given(self) -> list[str]:
        """The answer that the model gives to each question with the heads now on."""
        return [self.answers[place] for place in self.logits().argmax(-1)]

    def compute(self) -> dict:
        logits, (heads, cols) = self.logits(), self.shape[:2]
        return {
            "weights": inputs.stored(self.weights).reshape(heads, cols, cols).tolist(),
            "logits": logits.tolist(),
            "chances": softmax(logits).tolist(),
            "answers": self.given(),
        }

    def figure(self):
        heads, cols = self.shape[:2]
        names = [
            name if on else f"{name} (off)"
            for name, on in zip(self.head_names, self.on, strict=True)
        ]
        drawn = heatmap(
            inputs.stored(self.weights).reshape(heads, cols, cols),
            tokens=self.tokens,
            names=names,
            title=self.title or None,
            vmax=1.0,
        )
        answers = zip(self.questions, self.given(), strict=True)
        lines = [f"{question} → {answer}" for question, answer in answers]
        drawn.supxlabel("\n".join(lines), fontsize=9, parse_math=False)
        return drawn

    def _words(self) -> str:
        off = [name for name, on in zip(self.head_names, self.on, strict=True) if not on]
        count = self.shape[0]
        which = "all on" if not off else f"off: {', '.join(off)}"
        return (
            f"Heat maps of the attention weights of {count} head{'s' * (count > 1)}, "
            f"{which}: {self.shape[1]} queries by {self.shape[1]} keys, and the answers at "
            f"“{self.tokens[self.row]}”."
        )


def _of_shape(name: str, value, shape: tuple[int, ...], layout: str) -> np.ndarray:
    array = inputs.floats(name, value)
    if array.shape != tuple(shape):
        checks.fail(name, f"shape {layout} = {tuple(shape)}", f"{array.shape}")
    return array
