"""A model that writes words backwards, to be lied to: does it read what it points at?"""

import re
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines import recurrent
from attnbook.machines.base import Machine
from attnbook.recorded import Recorded
from attnkit.guard import checks
from attnkit.viz.heatmap import heatmap
from attnkit.viz.widget import expect
from attnlab import tasks
from attnlab.tasks.vocab import BOS, SPECIAL

LEAST, MOST, HUNDRED = 3, 10, 100
"""The least and most letters of a word, and how many other words are tried."""

HIDE = ("nothing", "pointed", "neighbour", "right")
LIES = ("none", "another", "answer")
CASES = [(lie, hide) for lie in LIES for hide in ("nothing", "pointed", "right")]


class LieMachine(Machine):
    """One step of a reversal, at which the reader hides a state or lies about the last letter.

    Before that step the decoder is told the right letters, and nothing else is changed. A hidden
    state gets no weight; the softmax goes over the others. A lie puts another letter in place of
    the one that was written last. The table has the answers to the truth and to two lies, with
    nothing hidden, the place of the largest weight, or the right one; a button has the same for a
    hundred words, and as a control the lies in the steps that point at the right place.

    Args:
        recorded: a small `Seq2Seq` with Bahdanau's decoder that reverses, and its vocabularies.
        word: 3 to 10 letters that the model knows. A trait, as are the next four: set them and the
            page follows.
        step: the place of the letter that is written, from 1; beyond the last it is the last.
        hide: "nothing", "pointed" (the place of the largest weight), "neighbour" (the place that
            was copied a step before) or "right" (the place that is to be copied).
        lie: what the decoder is told that it wrote last: "none" (the truth), "another" (the first
            of the alphabet that is neither the true one nor the answer) or "answer" (the letter
            that it must copy now).
        hundred: whether the counts of a hundred words are on show.
        title, caption: plain text above and below.

    Raises:
        TypeError: `recorded` holds another kind of model.
        ValueError: a word with other letters or of another length, a setting out of range.

    Example:
        >>> from attnbook import recorded
        >>> shown = LieMachine(recorded.model("machine_reverse"), word="abcdefg", step=3)
        >>> now = shown.compute()
        >>> now["right"][3], now["answer"], now["last"]
        ('d', 'd', 'e')
    """

    _kits = (*Machine._kits, "layers", "recurrent")
    _about = (
        "A model of its own, small enough for your browser, which computes everything but the "
        "counts of the hundred words; those were computed when the page was made."
    )
    _limits: ClassVar = {
        "word": None,
        "step": lambda _: (1, MOST - 1),
        "hide": lambda _: list(HIDE),
        "lie": lambda _: list(LIES),
        "hundred": None,
    }

    shapes = t.List().tag(sync=True)  # [name, shape] of each tensor
    weights = t.Bytes().tag(sync=True)  # all of them, float16
    letters = t.List(t.Unicode()).tag(sync=True)  # of both sides, by id, behind the special ones
    # Of a hundred words: right answers, repeats of the last letter, and others, for each of `CASES`
    # in the steps that point at a wrong letter, and for each of `LIES` in those that do not.
    counts = t.List().tag(sync=True)
    control = t.List().tag(sync=True)
    word = t.Unicode().tag(sync=True)
    step = t.Int(1).tag(sync=True)
    hide = t.Unicode("nothing").tag(sync=True)
    lie = t.Unicode("none").tag(sync=True)
    hundred = t.Bool(False).tag(sync=True)

    def __init__(self, recorded: Recorded, *, word: str, **rest):
        letters = recorded.source_vocab.tokens[len(SPECIAL) :]
        if recorded.target_vocab.tokens[len(SPECIAL) :] != letters:
            checks.fail("recorded", "one alphabet for both sides", "two")
        traits = recurrent.packed(recorded.model)
        net = recurrent.unpacked(**traits)
        counts, control = _counts(net, list(letters))
        given = {"letters": list(letters), "counts": counts, "control": control, "word": word}
        super().__init__(**traits, **given, **rest)

    @t.validate("word")
    def _a_word(self, proposal):
        known = "".join(map(re.escape, self.letters))
        fits = re.fullmatch(f"[{known}]{{{LEAST},{MOST}}}", proposal.value) is not None
        return expect(proposal, f"{LEAST} to {MOST} of {''.join(self.letters)}", fits)

    def compute(self) -> dict:
        net = recurrent.unpacked(self.shapes, self.weights)
        letters, word = self.letters, list(self.word)
        right, now = word[::-1], min(self.step, len(word) - 1)
        steps = Steps(net, [letters.index(one) for one in word])
        pointed, place = steps.pointed(now), len(word) - 1 - now
        lie = next(one for one in letters if one not in (right[now - 1], right[now]))
        told = {"none": right[now - 1], "another": lie, "answer": right[now]}
        places = {"nothing": -1, "pointed": pointed, "neighbour": place + 1, "right": place}
        hidden = places[self.hide]
        answers = {
            case: letters[steps.answer(now, letters.index(told[case[0]]), places[case[1]])]
            for case in CASES
        }
        weights, chances = steps.changed(now, letters.index(told[self.lie]), hidden)
        best = np.argsort(-chances, kind="stable")[:3].tolist()
        return {
            "right": right,
            "now": now,
            "place": place,
            "pointed": pointed,
            "hidden": hidden,
            "last": right[now - 1],
            "told": told[self.lie],
            "lied": lie,
            "map": [one.weights.tolist() for one in steps.looks],
            "weighed": weights.tolist(),
            "answer": letters[best[0]],
            "best": [[letters[i], float(chances[i])] for i in best],
            "table": [answers[case] for case in CASES],
        }

    def figure(self) -> Figure:
        now = self.compute()
        return heatmap(
            np.array(now["map"]),
            query_tokens=now["right"],
            key_tokens=list(self.word),
            title=self.title or "Where it points for each letter",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "A model that writes words backwards, at one step: hide the state that it points at, "
            f"or tell it another last letter. The word is “{self.word}”."
        )


class Steps:
    """The steps of a reversal that is told the right letters; ids are places in the alphabet."""

    def __init__(self, net: recurrent.Network, ids: list[int]):
        self.net, self.ids = net, ids
        self.states, state = recurrent.encode(net, [one + len(SPECIAL) for one in ids])
        self.every, self.before, self.looks = np.ones(len(ids), bool), [], []
        for token in [BOS, *(one + len(SPECIAL) for one in reversed(ids))][: len(ids)]:
            found = recurrent.look(net, state, self.states, self.every)
            self.before.append(state)
            self.looks.append(found)
            state, _ = recurrent.advance(net, token, state, found.context)

    def pointed(self, step: int) -> int:
        """The place of the largest weight."""
        return int(self.looks[step].weights.argmax())

    def changed(self, step: int, told: int, hidden: int) -> tuple[np.ndarray, np.ndarray]:
        """The weights, and the chances of all letters, told a letter and with a place hidden."""
        state, mask = self.before[step], self.every & (np.arange(len(self.ids)) != hidden)
        found = recurrent.look(self.net, state, self.states, mask)
        _, chances = recurrent.advance(self.net, told + len(SPECIAL), state, found.context)
        return found.weights, chances[len(SPECIAL) :]

    def answer(self, step: int, told: int, hidden: int) -> int:
        """The likeliest letter."""
        return int(self.changed(step, told, hidden)[1].argmax())


def _counts(net: recurrent.Network, letters: list[str]) -> tuple[list[list[int]], list[list[int]]]:
    """Of a hundred words: right answers, repeats of the last letter, and others, for each of
    `CASES` in the steps whose largest weight is on a place with another letter than the right one,
    and for each of `LIES` in those whose largest weight is on the right place. A letter that comes
    twice in a row would be right and repeated at once, and its step is left out."""
    counts, control = ({case: [0, 0, 0] for case in cases} for cases in (CASES, LIES))
    words = tasks.reverse(HUNDRED, min_length=MOST, max_length=MOST, symbols=len(letters), seed=42)
    for pair in words:
        ids = [letters.index(one) for one in pair.source]
        steps, right = Steps(net, ids), ids[::-1]
        for now in range(1, len(ids)):
            pointed, last, answer = steps.pointed(now), right[now - 1], right[now]
            place = len(ids) - 1 - now
            if last == answer or (pointed != place and ids[pointed] == answer):
                continue
            lie = next(one for one in range(len(letters)) if one not in (last, answer))
            told = {"none": last, "another": lie, "answer": answer}
            places = {"nothing": -1, "pointed": pointed, "right": place}
            for case, found in (control if pointed == place else counts).items():
                lied, hide = (case, "nothing") if pointed == place else case
                said = steps.answer(now, told[lied], places[hide])
                found[0 if said == answer else 1 if said == last else 2] += 1
    return list(counts.values()), list(control.values())
