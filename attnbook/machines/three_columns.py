"""One sentence and three translators: what each writes, and where it looked."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import traitlets as t
from matplotlib.figure import Figure

from attnbook.machines.base import Machine
from attnbook.machines.live_translator import shown
from attnbook.machines.live_translator.weights import description, payload
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnlab.applications import Translator
from attnlab.applications.translator import whole_words
from attnlab.rnn import BahdanauDecoder, FixedVectorDecoder
from attnlab.tasks import tokenize
from attnlab.transformer import Decoder as TransformerDecoder

KINDS = [FixedVectorDecoder, BahdanauDecoder, TransformerDecoder]
"""The decoders of the three columns."""


class ThreeColumns(Machine):
    """Three translators side by side: one vector, Bahdanau's attention, a Transformer.

    The sentences that come with it were translated by torch beforehand; a built page fetches the
    models when the reader begins to type, and then translates at every key stroke. A switch takes
    the choice of where to look away from Bahdanau's model: with its v at 0 all scores are alike,
    and so are the weights. Maps have a row for each word that was written; a Transformer's is the
    mean over all layers and heads. A pointer on a cell, or the arrow keys, read its number.

    Args:
        translators: by the names of the columns: a GRU with a `FixedVectorDecoder`, one with
            Bahdanau's, and a `Transformer`.
        abouts: what stands below each name.
        sentences: in English, translated beforehand; the first is on show.
        listed: how many of them have a button, from the first on; left out, all.
        chosen: how many after those are in a list to choose from. The others are for links.
        meanings: in English, what a column may write, by its words with spaces between them; each
            stands below what it says.
        notes: what to see in the maps of some sentences: each a sentence, its column, a row and a
            place, which get a ring, and what is said below; not for equal weights.
        files: names under which a built book holds the models, one each; see `file_names`.
        even: whether Bahdanau's model must weigh all words alike; a trait, as is the next.
        text: the sentence; of one that is not in `sentences` a notebook shows nothing.
        title, caption: plain text above and below.

    Raises:
        ValueError: other models, another number of them, a sentence without words.

    Example:
        >>> from attnbook.translators import three_columns
        >>> machine = three_columns()
        >>> [len(one["weights"]) > 0 for one in machine.compute()["columns"]]
        [False, True, True]
    """

    _kits = (*Machine._kits, "translator")
    _about = (
        "All these were translated beforehand; your own is translated here. A Transformer's map is "
        "the mean of its heads."
    )
    _limits: ClassVar = {"text": None, "even": None}

    names = t.List(t.Unicode()).tag(sync=True)
    abouts = t.List(t.Unicode()).tag(sync=True)
    sentences = t.List(t.Unicode()).tag(sync=True)
    listed = t.Int().tag(sync=True)
    chosen = t.Int().tag(sync=True)
    numbers = t.Int().tag(sync=True)  # of the one vector
    # of each sentence: its words, what the three write, and the second without a choice
    runs = t.List().tag(sync=True)
    meanings = t.Dict(value_trait=t.Unicode(), key_trait=t.Unicode()).tag(sync=True)
    notes = t.List().tag(sync=True)
    files = t.List(t.Unicode()).tag(sync=True)
    sizes = t.List(t.Int()).tag(sync=True)  # bytes of the files
    text = t.Unicode().tag(sync=True)
    even = t.Bool(False).tag(sync=True)

    def __init__(
        self,
        translators: Mapping[str, Translator],
        *,
        abouts: Sequence[str],
        sentences: Sequence[str],
        listed: int | None = None,
        chosen: int = 0,
        meanings: Mapping[str, str] | None = None,
        notes: Sequence[tuple[str, int, int, int, str]] = (),
        files: Sequence[str] = (),
        **rest: Any,
    ):
        found = list(translators.values())
        kinds = [type(getattr(one.model, "decoder", None)) for one in found]
        if kinds != KINDS:
            names = (", ".join(kind.__name__ for kind in each) for each in (KINDS, kinds))
            checks.fail("translators", "models with these decoders: " + next(names), next(names))
        for one in found:
            description(one)  # which the page can run
        sentences = inputs.strings("sentences", sentences)
        super().__init__(
            names=list(translators),
            abouts=inputs.strings("abouts", abouts, 3),
            sentences=sentences,
            listed=len(sentences) if listed is None else listed,
            chosen=chosen,
            numbers=found[0].model.decoder.rnn.hidden_size,
            runs=[_run(*found, sentence) for sentence in sentences],
            meanings=dict(meanings or {}),
            notes=[list(note) for note in notes],
            files=inputs.strings("files", files, 3 if files else 0),
            sizes=[len(payload(one, "int8")) for one in found] if files else [],
            **{"text": sentences[0]} | rest,
        )

    def compute(self) -> dict:
        if self.text not in self.sentences:  # which the page translates
            return {"source": [], "columns": []}
        source, fixed, additive, transformer, alike = self.runs[self.sentences.index(self.text)]
        return {"source": source, "columns": [fixed, alike if self.even else additive, transformer]}

    def figure(self) -> Figure:
        source, *written = self.runs[self.sentences.index(self.text) if self.text in self.sentences
                                     else 0]  # fmt: skip
        figure = Figure(figsize=(9, 2.8), layout="constrained")
        axes = figure.subplots(1, 3)
        for ax, name, one in zip(axes, self.names, written, strict=False):
            ax.set_title(f"{name}\n{' '.join(one['target'])}", fontsize=8)
            if one["weights"]:
                ax.imshow(np.array(one["weights"]), cmap="Blues", vmin=0, vmax=1, aspect="auto")
                ax.set_xticks(range(len(source)), source, rotation=60, fontsize=7)
                ax.set_yticks(range(len(one["target"])), one["target"], fontsize=7)
            else:
                ax.text(0.5, 0.5, f"{self.numbers} numbers, once", ha="center", fontsize=9)
                ax.set_axis_off()
        return figure

    def _words(self) -> str:
        said = "; ".join(
            f"{name} writes “{' '.join(one['target'])}”"
            for name, one in zip(self.names, self.compute()["columns"], strict=False)
        )
        return f"Three translators, given “{self.text}”: {said or 'not yet translated'}."


@torch.no_grad()
def alike(translator: Translator) -> Translator:
    """A copy of a translator with additive attention whose scores are all 0."""
    model = copy.deepcopy(translator.model)
    model.decoder.attention.v.zero_()
    return Translator(translator.source_vocab, translator.target_vocab, model)


def _run(fixed: Translator, additive: Translator, transformer: Translator, text: str) -> list:
    """The words of a sentence, and what each model makes of them."""
    source = tokenize(text)
    attended = (additive, transformer, alike(additive))
    return [source, _by_vector(fixed, source), *(_looking(one, source) for one in attended)]


def _looking(translator: Translator, source: list[str]) -> dict:
    _, target, weights = shown.translate(translator, source).by_word()
    return {"target": target, "weights": [[round(v, 3) for v in row] for row in weights.tolist()]}


def _by_vector(translator: Translator, source: list[str]) -> dict:
    (said,) = translator.translate([" ".join(source)], max_len=40)
    target = whole_words(said.target, translator.target_vocab.spans(said.target))
    return {"target": target, "weights": []}
