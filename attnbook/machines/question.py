"""A question that the page checks: a number within a tolerance, or a choice."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import ClassVar

import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays
from attnkit.viz.heatmap import plain_axes

_WIDE = 76  # letters in a line of its picture
_NONE = "Type a number, such as 0.5 or 1/2."
_NUMBER = r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?"


class Question(Machine):
    """A question under the text, answered on the page without Python and remembered there.

    A wrong answer that somebody would give hears what it mistook; any other hears that it is not
    the one, and there may be hints.

    Args:
        ask: the question, in plain text.
        right: the answer: a number, or the place of one of `options`.
        options: what to choose from, at least 2; left out, the answer is a number.
        tolerance: how far from `right` a number may be.
        because: a sentence for whoever was right.
        replies: to answers that are wrong, by number or place.
        hints: from the gentlest to the plainest.
        reply: what has been answered, as text: a number, or a place; "" for nothing. A trait, as
            are the next two: set them and the page follows.
        checked: whether the page has been asked about it.
        hinted: how many hints are on show.

    Raises:
        TypeError: `right` or a reply is for no number, a text is none.
        ValueError: one option, `right` beyond the options, a setting that does not fit.

    Example:
        >>> asked = Question("Twice 3?", right=6, replies={9: "That is its square."})
        >>> asked.reply, asked.checked = "9", True
        >>> asked.compute()
        {'verdict': 'Not yet', 'said': 'That is its square.'}
    """

    _about = ""
    _limits: ClassVar = {
        "reply": None,
        "checked": None,
        "hinted": lambda m: (0, len(m.hints)),
    }

    right = t.Float().tag(sync=True)
    options = t.List(t.Unicode()).tag(sync=True)
    tolerance = t.Float().tag(sync=True)
    because = t.Unicode().tag(sync=True)
    replies = t.List().tag(sync=True)  # [number or place, words]
    hints = t.List(t.Unicode()).tag(sync=True)
    reply = t.Unicode("").tag(sync=True)
    checked = t.Bool(False).tag(sync=True)
    hinted = t.Int(0).tag(sync=True)

    def __init__(
        self,
        ask: str,
        *,
        right: float,
        options: Sequence[str] = (),
        tolerance: float = 0.0,
        because: str = "",
        replies: Mapping[float, str] | None = None,
        hints: Sequence[str] = (),
        **rest,
    ):
        checks.instance("ask", ask, str, "a string")
        options, hints = arrays.strings("options", options), arrays.strings("hints", hints)
        if len(options) == 1:
            checks.fail("options", "at least 2 strings, or none for a number", "1")
        if options:
            checks.integer("right", right, minimum=0, maximum=len(options) - 1)
        if checks.number("tolerance", tolerance) < 0:
            checks.fail("tolerance", "a number of at least 0", str(tolerance))
        said = {checks.number("a key of replies", at): text for at, text in (replies or {}).items()}
        super().__init__(
            title=ask,
            right=checks.number("right", right),
            options=options,
            tolerance=float(tolerance),
            because=because,
            replies=[[at, arrays.strings("replies", [text])[0]] for at, text in said.items()],
            hints=hints,
            **rest,
        )

    @t.validate("reply")
    def _a_reply(self, proposal):
        given = proposal.value
        fits = given == "" or (
            given in map(str, range(len(self.options)))
            if self.options
            else len(given) <= 20 and re.fullmatch(_NUMBER, given) is not None
        )
        if not fits:
            raise t.TraitError(
                f"reply: expected a number, or the place of an option, got {given!r}"
            )
        return given

    def _is(self, answer: float) -> bool:
        return abs(float(self.reply) - answer) <= self.tolerance

    def compute(self) -> dict:
        if not self.checked or not self.reply:
            asked = self.checked and not self.options
            return {"verdict": "", "said": _NONE if asked else ""}
        if self._is(self.right):
            return {"verdict": "Right", "said": self.because}
        heard = [said for answer, said in self.replies if self._is(answer)]
        return {"verdict": "Not yet", "said": heard[0] if heard else ""}

    def figure(self) -> Figure:
        asked = textwrap.wrap(self.title, _WIDE)
        answers = [textwrap.fill(one, _WIDE) for one in self.options or ["(a number)"]]
        lines = len(asked) + sum(1 + answer.count("\n") for answer in answers)
        figure, ax = plain_axes((7.2, 0.2 + 0.25 * lines), "\n".join(asked))
        ax.set_axis_off()
        at = 0
        for answer in answers:
            ax.text(0, -at, answer, va="top")
            at += 1 + answer.count("\n")
        ax.set(xlim=(0, 1), ylim=(-at, 0.25))
        return figure

    def _words(self) -> str:
        return "A question that the page checks" + (
            f", with {len(self.options)} answers to choose from." if self.options else "."
        )
