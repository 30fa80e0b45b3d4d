"""Additive attention in one picture: every number of one look of a small translator."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines import recurrent
from attnbook.machines.base import Machine
from attnbook.recorded import Recorded
from attnkit.guard import checks
from attnkit.viz import arrays
from attnkit.viz.heatmap import heatmap
from attnlab.tasks.vocab import BOS, EOS

MOST, PLACES, PAD = 12, 6, "(padding)"
"""The most words of a sentence and its translation, the places of padding, and their name."""

SQUASH = {"tanh": np.tanh, "none": lambda x: x}
PADDING = ("none", "masked", "unmasked")


class AdditiveMachine(Machine):
    r"""A translator word by word, with a magnifier on one score.

    .. math:: e_j = v^\top \tanh(W s + b + U h_j) \qquad a = \mathrm{softmax}(e) \qquad
        c = \sum_j a_j h_j

    The page runs the whole model: the reader chooses the word that is written and the source word
    under the magnifier, takes the tanh away, and pads the source with states of zeros, with the
    mask or without it.

    Args:
        recorded: a small `Seq2Seq` with Bahdanau's decoder, and its vocabularies.
        sentences: of words that it knows, at most 12 each.
        sentence: the place of one of them. A trait, as are the next four: set them and the page
            follows.
        step: the place of the word that is written, from 0; beyond the last it is the last.
        at: the place of the source word under the magnifier, likewise.
        squash: "tanh", or "none" in its place.
        padding: "none", or six places of zeros behind the sentence, "masked" or "unmasked".
        title, caption: plain text above and below.

    Raises:
        TypeError: `recorded` holds another kind of model.
        ValueError: no sentences, a sentence too long, a setting out of range.

    Example:
        >>> from attnbook import recorded
        >>> shown = AdditiveMachine(recorded.model("machine_french"), ["the black cat"], step=2)
        >>> now = shown.compute()
        >>> now["written"], now["source"][int(np.argmax(now["weighed"]))]
        (['le', 'chat', 'noir'], 'black')
    """

    _kits = (*Machine._kits, "layers", "recurrent")
    _about = (
        "A model of its own, small enough to be shown whole; all of its numbers are computed in "
        "your browser."
    )
    _limits: ClassVar = {
        "sentence": lambda m: (0, max(0, len(m.sentences) - 1)),
        "step": lambda _: (0, MOST - 1),
        "at": lambda _: (0, MOST + PLACES - 1),
        "squash": lambda _: list(SQUASH),
        "padding": lambda _: list(PADDING),
    }

    shapes = t.List().tag(sync=True)  # [name, shape] of each tensor
    weights = t.Bytes().tag(sync=True)  # all of them, float16
    sentences = t.List(t.List(t.Unicode())).tag(sync=True)
    ids = t.List(t.List(t.Int())).tag(sync=True)
    target = t.List(t.Unicode()).tag(sync=True)
    sentence = t.Int(0).tag(sync=True)
    step = t.Int(0).tag(sync=True)
    at = t.Int(0).tag(sync=True)
    squash = t.Unicode("tanh").tag(sync=True)
    padding = t.Unicode("none").tag(sync=True)

    def __init__(self, recorded: Recorded, sentences: Sequence[str], **rest):
        words = [one.split() for one in arrays.strings("sentences", sentences)]
        if not words or not all(0 < len(one) <= MOST for one in words):
            checks.fail("sentences", f"at least one, of 1 to {MOST} words each", repr(sentences))
        super().__init__(
            **recurrent.packed(recorded.model),
            sentences=words,
            ids=[recorded.source_vocab.encode(one) for one in words],
            target=list(recorded.target_vocab.tokens),
            **rest,
        )

    def compute(self) -> dict:
        net = recurrent.unpacked(self.shapes, self.weights)
        states, state = recurrent.encode(net, self.ids[self.sentence])
        places = 0 if self.padding == "none" else PLACES
        source = self.sentences[self.sentence] + [PAD] * places
        allowed = np.arange(len(source)) < len(states)
        states = np.concatenate((states, np.zeros((places, states.shape[1]))))
        mask = np.ones_like(allowed) if self.padding == "unmasked" else allowed
        token, steps = BOS, []
        while len(steps) < MOST:
            found = recurrent.look(net, state, states, mask, squash=SQUASH[self.squash])
            after, chances = recurrent.advance(net, token, state, found.context)
            token = int(chances.argmax())
            if token == EOS and steps:
                break
            steps.append((state, found, after, chances))
            if token == EOS:
                break
            state = after
        now, at = min(self.step, len(steps) - 1), min(self.at, len(source) - 1)
        state, found, after, chances = steps[now]
        total = found.asked + found.keys[at]
        squashed, best = SQUASH[self.squash](total), np.argsort(-chances, kind="stable")[:3]
        v = net["decoder.attention.v"]
        return {
            "source": source,
            "written": [self.target[int(one[3].argmax())] for one in steps],
            "now": now,
            "under": at,
            "map": [one[1].weights.tolist() for one in steps],
            "state": state.tolist(),
            "states": states.tolist(),
            "asked": found.asked.tolist(),
            "key": found.keys[at].tolist(),
            "total": total.tolist(),
            "squashed": squashed.tolist(),
            "v": v.tolist(),
            "parts": (squashed * v).tolist(),
            "scores": found.scores.tolist(),
            "weighed": found.weights.tolist(),
            "context": found.context.tolist(),
            "after": after.tolist(),
            "best": [[self.target[i], float(chances[i])] for i in best.tolist()],
        }

    def figure(self) -> Figure:
        now = self.compute()
        return heatmap(
            np.array(now["map"]),
            query_tokens=now["written"],
            key_tokens=now["source"],
            title=self.title or "Where it looked for each word",
            vmax=1.0,
        )

    def _words(self) -> str:
        return (
            "A small translator with additive attention, one word at a time: the decoder's state, "
            "the states of the source, scores, weights and context, with a magnifier on one score. "
            f"The sentence is “{' '.join(self.sentences[self.sentence])}”."
        )
