"""A word to type: what each trained model keeps of it, and what it writes from that alone."""

import json
import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.machines import recurrent
from attnbook.machines.base import Machine
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.heatmap import plain_axes
from attnkit.viz.widget import expect
from attnlab.rnn import Seq2Seq
from attnlab.tasks.vocab import BOS, EOS, SPECIAL
from attnlab.training.quantization import SCALE, pack

LETTERS, LONGEST, WRITTEN = "abcdefghijklmnopqrstuvwxyz", 12, 16
FIRST = len(SPECIAL)
"""The id of "a"; before the letters stand padding, begin, end, unknown."""


class Backwards(Machine):
    r"""A word that the reader types, and models that read it by a GRU and write it by another.

    .. math:: h_j = f(x_j, h_{j-1}) \qquad s_0 = \tanh(W_b h_S + b) \qquad s_t = f(y_{t-1}, s_{t-1})

    The last state of the first is all that the second starts from (Sutskever et al. 2014). A model
    with additive attention also takes an average of all states h at every letter that it writes
    (Bahdanau et al. 2015). It writes the likeliest letter each time, at most 16.

    Args:
        models: of one layer, in one direction, made by `attnlab.rnn.seq2seq` with attention "none"
            or "additive", with padding, begin, end, unknown and the letters a to z as tokens. Their
            weights are sent in eight bits: `round_to_eight_bits` them first.
        names: of the models.
        word: up to 12 letters a to z. A trait, as is the next: set them and the page follows.
        at: the place of a letter to exchange for the next in the alphabet; -1 for none.
        title, caption: plain text above and below.

    Raises:
        TypeError: a model is no `Seq2Seq`, a name no string.
        ValueError: no models, a setting that does not fit.

    Example:
        >>> from attnlab.rnn import seq2seq
        >>> untrained = seq2seq(30, 30, attention="none", embed_dim=4, hidden_dim=8,
        ...                     bidirectional=False)
        >>> machine = Backwards([untrained], names=["untrained"], word="cat")
        >>> [len(state) for state in machine.compute()["answers"][0]["kept"]]
        [8]
    """

    _kits = (*Machine._kits, "layers", "recurrent")
    _about = "Trained on random words of 1 to 8 letters. Everything is computed in your browser."
    _limits: ClassVar = {
        "word": None,
        "at": lambda _: (-1, LONGEST - 1),
    }

    names = t.List(t.Unicode()).tag(sync=True)
    shapes = t.List().tag(sync=True)  # a model: [name, rows, columns] of each of its tensors
    integers = t.Bytes().tag(sync=True)  # int8: all matrices of all models, one after another
    factors = t.Bytes().tag(sync=True)  # float32: a scale for each row, and all vectors
    word = t.Unicode("").tag(sync=True)
    at = t.Int(-1).tag(sync=True)

    def __init__(
        self,
        models: Sequence[Seq2Seq],
        *,
        names: Sequence[str],
        word: str = "",
        at: int = -1,
        **texts: str,
    ):
        if not models:
            checks.fail("models", "at least 1", "none")
        for one in models:
            checks.instance("models", one, Seq2Seq, "attnlab.rnn.Seq2Seq")
        packed = [pack(one.state_dict()) for one in models]
        self._weights = [_stored(weights) for weights in packed]
        flat = [_flat(weights) for weights in packed]
        super().__init__(
            names=inputs.strings("names", names, len(models)),
            shapes=[shapes for shapes, *_ in flat],
            integers=b"".join(integers for _, integers, _ in flat),
            factors=b"".join(factors for *_, factors in flat),
            word=word,
            at=at,
            **texts,
        )

    @t.validate("word")
    def _a_word(self, proposal):
        fits = re.fullmatch(f"[a-z]{{0,{LONGEST}}}", proposal.value) is not None
        return expect(proposal, f"up to {LONGEST} letters a to z", fits)

    def changed(self) -> str:
        """The word that is read: as typed, or with one letter exchanged."""
        if not 0 <= self.at < len(self.word):
            return self.word
        letter = LETTERS[(LETTERS.index(self.word[self.at]) + 1) % 26]
        return self.word[: self.at] + letter + self.word[self.at + 1 :]

    def compute(self) -> dict:
        read = self.changed()
        answers = [_shown(weights, self.word, read) for weights in self._weights]
        return {"read": read, "answers": answers}

    def figure(self) -> Figure:
        figure, ax = plain_axes((6.4, 3.2), self.title or "A word as one vector")
        answers = self.compute()["answers"]
        for i, answer in enumerate(answers):
            for state in answer["kept"][-1:]:
                ax.bar(range(len(state)), state, bottom=-2.2 * i, color="#262c33")
        lines = [f"{n}:\n{a['written']}" for n, a in zip(self.names, answers, strict=True)]
        ax.set(xlabel=f"the last state after {self.changed()}", ylim=(1.1 - 2.2 * len(lines), 1.1))
        ax.set_yticks([-2.2 * i for i in range(len(lines))], lines)
        return figure

    def _words(self) -> str:
        said = (
            f"{name}: {json.dumps(answer['written'])}"
            for name, answer in zip(self.names, self.compute()["answers"], strict=True)
        )
        return (
            f"A word to type, {json.dumps(self.word)}, the vector that it becomes, and what is "
            f"written. {'; '.join(said)}."
        )


def _shown(weights: recurrent.Network, word: str, read: str) -> dict:
    """What a model keeps and writes of what it reads, and which letters `word` would leave."""
    states, written, sure, looks = _answer(weights, read)
    plain = written if read == word else _answer(weights, word)[1]
    places = range(max(len(written), len(plain)))
    return {
        "kept": (states if "decoder.attention.v" in weights else states[-1:]).tolist(),
        "written": written,
        "sure": sure,
        "looks": looks,
        "right": sum(a == b for a, b in zip(written, reversed(read), strict=False)),
        "exact": written == read[::-1],
        "moved": [written[i : i + 1] != plain[i : i + 1] for i in places],
    }


def _flat(packed: dict[str, Tensor]) -> tuple[list, bytes, bytes]:
    """Names and sizes, the integers of all matrices, and all scales and vectors in that order."""
    shapes, integers, factors = [], b"", b""
    for name, value in packed.items():
        if name.endswith(SCALE):
            continue
        if value.dim() > 1:
            integers += value.numpy().tobytes()
        factors += packed.get(name + SCALE, value).float().numpy().tobytes()
        shapes.append([name, len(value), value.shape[1] if value.dim() > 1 else 0])
    return shapes, integers, factors


def _stored(packed: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """The weights that come back out, float64."""
    return {
        name: value.double().numpy()
        * (packed[name + SCALE].double().numpy()[:, None] if name + SCALE in packed else 1)
        for name, value in packed.items()
        if not name.endswith(SCALE)
    }


def _answer(net: recurrent.Network, word: str) -> tuple[np.ndarray, str, list[float], list]:
    """The states, what is written, how probable each letter was, and the weights of each look."""
    if not word:
        return np.zeros((0, net["encoder.rnn.weight_hh_l0"].shape[1])), "", [], []
    states, state = recurrent.encode(net, [FIRST + LETTERS.index(letter) for letter in word])
    token, written, sure, looks = BOS, "", [], []
    while len(written) < WRITTEN:
        context = None
        if "decoder.attention.v" in net:
            found = recurrent.look(net, state, states, True)
            context = found.context
        state, chances = recurrent.advance(net, token, state, context)
        letters = chances[FIRST:]  # padding, the beginning and the unknown are never written
        if chances[EOS] > letters.max():
            break
        token = FIRST + int(letters.argmax())
        written += LETTERS[token - FIRST]
        sure.append(float(chances[token]))
        if context is not None:
            looks.append(found.weights.tolist())
    return states, written, sure, looks
