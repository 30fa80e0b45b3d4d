"""A sentence and its translation: hide a word, or leave it out, and see what the model writes."""

import html
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnbook.machines.live_translator import file_names, picture, shown
from attnbook.machines.live_translator.weights import payload
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnlab.applications import Translator

BOX, GAP, PITCH, LEAST = 34, 96, 40, 0.04
"""Pixels of `draw` in hide_a_word.js, and the least weight that gets a line."""

LONGEST = 24
"""Most words, or pieces of words, of the reader's own sentence; words.js reads no more."""


class HideAWord(Machine):
    """A recorded translation, with each of its words hidden once and left out once.

    A hidden word is a masked key of the attention: the encoder has read it all the same. A word
    that is left out nobody has read. `steps` says which of these to look at, in order; where the
    machine `plays`, it shows them by itself once, unless the reader wants no motion, and stops for
    good at the reader's first touch. The reader's own sentence goes to another model, which a built
    page fetches when it has nothing else to do.

    Args:
        translator: the model of the recording.
        words: of the recorded sentence, which it knows.
        steps: of each (what its button says, place of a word, whether it is left out, what follows
            from what is then seen).
        plays: whether it begins by itself.
        own: the reader's sentence, or "" for the recorded one; a trait, as are the next two.
        word: the place of the word that is hidden or left out, -1 for none.
        left: whether it is left out.
        model: what translates the reader's sentence; None for no such sentence.
        files: the name under which a built book holds that model.
        sentences: to try with it.
        title, caption: plain text above and below.

    Raises:
        ValueError: a step to a word that is not there, a setting out of range.

    Example:
        >>> from attnbook.translators import translator
        >>> machine = HideAWord(translator("live_translator_additive"), ["the", "black", "cat"])
        >>> machine.word = 1
        >>> machine.compute()["before"], machine.compute()["target"]
        (['le', 'chat', 'noir'], ['le', 'chat'])
    """

    _kits = (*Machine._kits, "translator")
    _about = "A small model wrote this French beforehand, with each word hidden and left out."
    _limits: ClassVar = {
        "own": None,
        "word": lambda _: (-1, LONGEST - 1),
        "left": lambda _: [False, True],
    }

    words = t.List(t.Unicode()).tag(sync=True)
    # [target, weights]: of the sentence, of each word hidden, of each word left out
    runs = t.List().tag(sync=True)
    steps = t.List().tag(sync=True)  # [what its button says, place, left out, what follows]
    plays = t.Bool(False).tag(sync=True)
    sentences = t.List(t.Unicode()).tag(sync=True)
    files = t.List(t.Unicode()).tag(sync=True)
    size = t.Int(0).tag(sync=True)  # bytes of the file
    own = t.Unicode("").tag(sync=True)
    word = t.Int(-1).tag(sync=True)
    left = t.Bool(False).tag(sync=True)

    def __init__(
        self,
        translator: Translator,
        words: Sequence[str],
        *,
        steps: Sequence[tuple[str, int, bool, str]] = (),
        model: Translator | None = None,
        files: str = "",
        sentences: Sequence[str] = (),
        **rest: Any,
    ):
        words = inputs.strings("words", words, len(words))
        for _, place, *_ in steps:
            if not 0 <= place < len(words):
                checks.fail("steps", f"places from 0 to {len(words) - 1}", str(place))
        super().__init__(
            words=words,
            runs=list(_runs(translator, words)),
            steps=[list(step) for step in steps],
            files=[] if model is None else file_names(files, 1),
            size=0 if model is None else len(payload(model, "int8")),
            sentences=inputs.strings("sentences", sentences),
            **rest,
        )

    @property
    def comes_by_itself(self) -> bool:
        """Whether a page keeps room for it: where it stands above all text."""
        return self.plays

    def compute(self) -> dict:
        if self.own:  # which the page translates
            return {"target": [], "weights": [], "before": []}
        count, place = len(self.words), self.word if self.word < len(self.words) else -1
        target, weights = self.runs[0 if place < 0 else 1 + place + count * self.left]
        return {"target": target, "weights": weights, "before": self.runs[0][0]}

    def figure(self) -> Figure:
        target, weights = self.runs[0]
        return picture.translation(
            self.words, target, np.array(weights), names=("English", "French"), title=self.title
        )

    def still(self) -> str:
        """Markup of its first state, for a page to show until the script has come: once for a wide
        screen and once for a narrow one, with the classes and the places of hide_a_word.js."""
        pictures = "".join(self._drawn(wide) for wide in (680, 300))
        return (
            '<div class="machine word-first"><p class="machine-title"></p>'
            '<p class="machine-big">A line says where it looked</p>'
            '<p class="machine-say">Press an English word to hide it from the model’s attention, '
            f"and again to leave it out of the sentence.</p>{pictures}</div>"
        )

    def _drawn(self, wide: int) -> str:
        (target, weights), source = self.runs[0], self.words
        tall = wide < 540
        across = min(wide * 0.36, 24 + 9 * max(map(len, [*source, *target])))

        def box(side: list[str], at: int, second: bool) -> tuple[float, float, float]:
            """Left, top and width."""
            if tall:
                return (wide - across if second else 0), at * PITCH, across
            return at * wide / len(side) + 2, (BOX + GAP) * second, wide / len(side) - 4

        def curve(source_at: int, target_at: int) -> str:
            (x, y, width), (u, v, to) = box(source, source_at, False), box(target, target_at, True)
            if tall:
                a, b = (x + width, y + BOX / 2), (u, v + BOX / 2)
                points = (*a, (a[0] + b[0]) / 2, a[1], (a[0] + b[0]) / 2, b[1], *b)
            else:
                a, b = (x + width / 2, y + BOX), (u + to / 2, v)
                points = (*a, a[0], (a[1] + b[1]) / 2, b[0], (a[1] + b[1]) / 2, *b)
            x0, y0, *rest = (f"{one:.1f}" for one in points)
            return f"M{x0},{y0}C{','.join(rest)}"

        lines = "".join(
            f'<path d="{curve(j, i)}" stroke-width="{1 + 7 * weight:.2f}" '
            f'opacity="{min(max(weight + 0.1, 0.18), 1):.2f}"/>'
            for i, row in enumerate(weights)
            for j, weight in enumerate(row)
            if weight >= LEAST
        )
        words = "".join(
            f'<g transform="translate({left:.1f} {top})">'
            f'<rect class="word-box" width="{width:.1f}" '
            f'height="{BOX}" rx="8"/><text x="{width / 2:.1f}" y="{BOX / 2 + 5}" '
            f'text-anchor="middle">{html.escape(word)}</text></g>'
            for side, second in ((source, False), (target, True))
            for at, word in enumerate(side)
            for left, top, width in [box(side, at, second)]
        )
        high = max(len(source), len(target)) * PITCH - 6 if tall else 2 * BOX + GAP
        return (
            f'<svg class="word-picture word-{"tall" if tall else "wide"}" role="img" '
            f'aria-label="{html.escape(self.description())}" viewBox="-2 -2 {wide + 4} {high + 4}">'
            f'<g class="word-lines">{lines}</g><g class="word-target">{words}</g></svg>'
        )

    def _words(self) -> str:
        return (
            f"English words above, French words below, and lines for the attention between them: "
            f"“{' '.join(self.words)}” becomes “{' '.join(self.runs[0][0])}”. Each word can be "
            f"hidden or left out."
        )


def _runs(translator: Translator, words: list[str]):
    """[target, weights (T, S)] of the sentence, of each word hidden, and of each left out, whose
    column is 0."""
    places = range(len(words))
    for hidden in ([], *([place] for place in places)):
        yield _rounded(*shown.translate(translator, words, hidden).by_word()[1:])
    for place in places:
        rest = words[:place] + words[place + 1 :]
        target, weights = shown.translate(translator, rest).by_word()[1:] if rest else ([], None)
        yield _rounded(target, weights, place)


def _rounded(target: list[str], weights: Any, absent: int | None = None) -> list:
    rows = np.zeros((0, 0)) if weights is None else weights.numpy().round(3).astype(float)
    return [target, (rows if absent is None else np.insert(rows, absent, 0, 1)).tolist()]
