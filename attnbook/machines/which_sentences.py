"""A box for a text: which of its sentences are closest to the whole, to a question, to a claim."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines import engine
from attnbook.machines.base import Machine, softmax
from attnbook.machines.sentence_model import MODEL
from attnkit.guard import checks
from attnkit.viz.heatmap import plain_axes
from attnkit.viz.widget import expect

MODES = ("summary", "ask", "check")
SCALE = 20.0
"""What the cosines are multiplied by before the softmax."""

LONGEST = {"text": 20_000, "question": 300, "claims": 3_000}
"""Letters of each field."""
SENTENCES, MOST = 200, 12
"""Sentences that are read, and the largest k."""

_END = re.compile(r"[.!?…]+[\"'”’)\]]*[ \t]+")
_SHORT = re.compile(
    r"(?:^|[ (])(?:[A-HJ-Z]|Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|e\.g|i\.e|approx)\.[ \t]*$"
)
_MARKS = " \t\r.!?…\"'*_>=~#|-"


class WhichSentences(Machine):
    r"""A text of the reader's, a bar a sentence; and three things to ask of it.

    With unit vectors s of its sentences and q of what asks, each sentence has a cosine and a weight

    .. math:: c_j = s_j^\top q \qquad \alpha = \mathrm{softmax}(20 c)

    In "summary" q is the mean of all s, made a unit vector, and the k sentences with the largest
    cosine are kept. In "ask" q is that of a question, which finds nothing when all cosines are
    below `least`. In "check" each sentence of `claims` asks, and is suspect when its largest cosine
    is below `threshold`. The vectors are recorded for some
    sentences; for all others a published model comes when the reader presses a button.

    Args:
        text: of at most 20,000 letters, of which 200 sentences are read. A trait, as are the rest
            of the settings: set them and the page follows.
        vectors: of sentences, (E,) of length 1 each; `MODEL`'s for a built page.
        samples: settings by a name: a button takes them.
        mode: one of `MODES`.
        question, claims: what asks.
        k: how many sentences are kept.
        least, threshold: from 0 to 1.
        folder: where a built book holds the model; "" for none.
        title, caption: plain text above and below.

    Raises:
        TypeError: no string.
        ValueError: a setting out of range, or vectors of different lengths.

    Example:
        >>> vectors = {"It rains.": [1, 0], "We row.": [0, 1], "It pours.": [1, 0]}
        >>> box = WhichSentences(" ".join(vectors), vectors, k=2)
        >>> box.compute()["chosen"]
        [[0, 2]]
        >>> box.text = "It rains. Who rows?"
        >>> box.compute()["missing"]
        ['Who rows?']
    """

    _kits = (*Machine._kits, "layers", "engine", "heads", "sentences")
    _styles = (engine.STYLE, engine.HEADS_STYLE)
    _about = (
        "The vectors are of all-MiniLM-L6-v2, an English model (Sentence Transformers; "
        "Apache 2.0), recorded for the sentences that are named here. For others your browser "
        "computes them, with the published weights in eight bits."
    )
    _limits: ClassVar = {
        "text": None,
        "mode": lambda _: list(MODES),
        "question": None,
        "claims": None,
        "k": lambda _: (1, MOST),
        "least": lambda _: (0, 1),
        "threshold": lambda _: (0, 1),
    }

    known = t.List(t.Unicode()).tag(sync=True)
    vectors = t.Bytes().tag(sync=True)  # float16, of `known` one after another
    samples = t.List().tag(sync=True)  # [name, settings]
    folder = t.Unicode().tag(sync=True)

    text = t.Unicode("").tag(sync=True)
    mode = t.Unicode("summary").tag(sync=True)
    question = t.Unicode("").tag(sync=True)
    claims = t.Unicode("").tag(sync=True)
    k = t.Int(3).tag(sync=True)
    least = t.Float(0.35).tag(sync=True)
    threshold = t.Float(0.5).tag(sync=True)

    def __init__(
        self,
        text: str = "",
        vectors: Mapping[str, Sequence[float]] | None = None,
        *,
        samples: Mapping[str, dict[str, Any]] | None = None,
        folder: str = MODEL.folder,
        **settings: Any,
    ):
        found = {one: np.asarray(vector, "<f2") for one, vector in (vectors or {}).items()}
        if len({vector.shape for vector in found.values()}) > 1:
            checks.fail("vectors", "as many numbers in each", "others")
        # As a page has them: rounded, and side by side.
        self._found = {one: vector.astype(float) for one, vector in found.items()}
        super().__init__(
            known=list(found),
            vectors=b"".join(vector.tobytes() for vector in found.values()),
            samples=[[name, dict(sample)] for name, sample in (samples or {}).items()],
            folder=folder,
            text=text,
            **settings,
        )

    @t.validate("text", "question", "claims")
    def _short_enough(self, proposal):
        most = LONGEST[proposal.trait.name]
        return expect(proposal, f"at most {most} letters", len(proposal.value) <= most)

    def compute(self) -> dict:
        sentences = sentences_of(self.text)
        asked = {"summary": [], "ask": [self.question.strip()], "check": sentences_of(self.claims)}
        asked = [one for one in asked[self.mode] if one]
        missing = [one for one in dict.fromkeys([*sentences, *asked]) if one not in self._found]
        cosines, weights, chosen = [], [], []
        if sentences and not missing:
            keys = np.array([self._found[one] for one in sentences])  # (S, E)
            queries = np.array([self._found[one] for one in asked]).reshape(-1, keys.shape[1])
            if self.mode == "summary":
                mean = keys.mean(0, keepdims=True)
                queries = mean / np.linalg.norm(mean)
            cosines = (queries @ keys.T).tolist()  # a row for each that asks
            weights = [softmax(SCALE * np.array(row)).tolist() for row in cosines]
            kept = self.k if self.mode == "summary" else 1
            chosen = [_largest(row, kept) for row in cosines]
        return {
            "sentences": sentences,
            "asked": asked,
            "missing": missing,
            "cosines": cosines,
            "weights": weights,
            "chosen": chosen,
        }

    def figure(self) -> Figure:
        found = self.compute()
        figure, ax = plain_axes((6.4, 3.0), self.title or "The cosine of each sentence")
        row = found["cosines"][0] if found["cosines"] else [0.0] * len(found["sentences"])
        ax.barh(range(len(row)), row)
        ax.invert_yaxis()
        ax.set(xlabel="cosine", ylabel="sentence", xlim=(0, 1))
        return figure

    def _words(self) -> str:
        return (
            "A box for a text with a bar for each of its sentences: how close it is to the whole "
            "text or to a question; or, for each claim, the sentence that is closest to it."
        )


def sentences_of(text: str) -> list[str]:
    """The sentences of a text: lines, cut where a mark ends a sentence and no small letter follows.

    An abbreviation that is known, or an initial, ends none. At most `SENTENCES` of them.

    Example:
        >>> sentences_of("Hi all,\\nDr. Brown ran 3.5 km. He slept!")
        ['Hi all,', 'Dr. Brown ran 3.5 km.', 'He slept!']
    """
    found = []
    for line in text.split("\n"):
        start = 0
        for end in _END.finditer(line):
            at = end.end()
            if re.match("[a-z]", line[at:]) or _SHORT.search(line[start:at]):
                continue
            found.append(line[start:at])
            start = at
        found.append(line[start:])
    cut = (one.strip(" \t\r") for one in found)
    return [one for one in cut if one.strip(_MARKS)][:SENTENCES]


def _largest(row: Sequence[float], count: int) -> list[int]:
    """The places of the largest numbers, in their order; of equals the first."""
    order = sorted(range(len(row)), key=lambda at: (-row[at], at))
    return sorted(order[:count])


def vectors_of(reader: Any, *texts: str) -> dict[str, list[float]]:
    """The vectors of all sentences of some texts, by a `pretrained.Reader`."""
    every = list(dict.fromkeys(one for text in texts for one in sentences_of(text)))
    return dict(zip(every, reader.embed(every).tolist(), strict=True))
