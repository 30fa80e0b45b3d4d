"""A translator to play with: type a sentence, hide a word, and see what the model writes then."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import traitlets as t

from attnbook.machines.live_translator import picture, shown
from attnbook.machines.live_translator.familiar import Familiar, familiar
from attnbook.machines.live_translator.shown import Shown
from attnbook.machines.live_translator.weights import PRECISIONS, description, payload
from attnkit.guard import checks
from attnkit.viz import arrays as inputs
from attnkit.viz.widget import KITS, Widget, anchor_of, expect
from attnlab.applications import Translator
from attnlab.tasks.vocab import EOS

__all__ = ["LiveTranslator", "Shown"]

ENGINE = ("tensors.js", "gru.js", "transformer.js", "words.js", "engine.js")
"""The files that translate, without a page."""

HERE = Path(__file__).parent
KITS["translator"] = tuple(HERE / name for name in (*ENGINE, "changes.js", "lines.js", "files.js"))
_PROVENANCE = (
    "All of it is computed here, in your browser, at every key stroke. Trained numbers: {count}."
)


class LiveTranslator(Widget):
    """A sentence and its translation, word by word, with lines for the attention between them.

    The reader types, presses a source word to hide it from the attention, and presses a target
    word, or drags the scrubber, to see where that step looked and what else it could have written;
    pressing one of those words writes it, and the model goes on from there. The weights are lines
    between the words, or a map, of every layer and head.
    All of it is computed by an engine on the page, which gives what torch gives: the same words,
    and the same weights.

    A hidden word is a masked key of the attention from target to source. The encoder has read it
    all the same, so what its neighbours' states know of it is still there. With `tasks.Subwords`
    the pieces of a word are drawn, and hidden, as one word.

    A text without an end may be given a full stop, and whoever writes the same four times in a row
    is stopped. Heads of a Transformer can be switched off: they then give nothing to their layer.

    Args:
        translator: an `attnlab.Translator` with additive attention between GRUs, or with a
            `Transformer`; or several by name, between which the reader chooses.
        text: the sentence to begin with; the first of `sentences` when left out.
        sentences: to choose from.
        languages: names and codes (BCP 47) of the source and the target language.
        longest: most source tokens that are read; the rest of a text is left out.
        max_len: most tokens of a translation.
        trained_on: the source texts of the training. Tokens that are in none of them are marked,
            and a text longer than 99 in 100 of them is said to be; so is one of several sentences
            where 99 in 100 have one.
        beam_sizes: numbers of hypotheses with which the reader may have a beam search, in place of
            a greedy one.
        on_demand: load the weights only when the reader presses a button that says how many bytes
            they are. Otherwise they are loaded when the reader comes near.
        length_page: a page of the book that measures how long texts and those of several sentences
            fail, as (words of the link, path from the book's root).
        full_stop: give a text that has no end a full stop, which the reader can take away again.
        order_off: places of heads (`shown.heads_of`) in the order in which they can go; with it the
            reader may switch heads off.
        worth: BLEU by the number of heads that are left on when the others go in this order.
        by_lot: BLEU by the same numbers, of some draws of heads by lot: a tick at the bar for each.
        worth_of: what the bars are, and how they came about, in plain text.
        precision: of the weights that the page gets: "float32", "float16" (half the bytes; weights
            of attention within 1e-3), or "int8" (`training.quantization.pack`).
        files: the name under which a built book holds the weights, as the Sphinx extension wrote
            them; see `attnbook.pages.sphinx_ext`. In Jupyter the kernel sends them.
        embed: keep the weights in the saved notebook, so that a page without kernel and `files` has
            them.
        title, caption: plain text above and below.
        anchor: its name in the address of its page.

    Raises:
        TypeError: an argument is not of the type named.
        ValueError: the page has no engine for a model, there is no translator, or a number is out
            of range.

    Example:
        >>> from attnlab import tasks
        >>> vocabs = tasks.vocabs(tasks.toy_french(50))
        >>> live = LiveTranslator(Translator(*vocabs, "additive", embed_dim=4, hidden_dim=4),
        ...                       text="the black cat", max_len=3)
        >>> live.translate().source
        ['the', 'black', 'cat']
        >>> live.hidden = [1]
        >>> live.translate().weights[:, 1].sum().item()
        0.0
    """

    _kits = (*Widget._kits, "translator")
    _modules = tuple(
        HERE / f"{name}.js"
        for name in ("map", "read", "stage", "beam", "heads", "why", "translator")
    )
    _styles = (HERE / "translator.css",)

    names = t.List(t.Unicode()).tag(sync=True)  # of the models
    model = t.Int(0).tag(sync=True)  # the one in use
    text = t.Unicode().tag(sync=True)
    hidden = t.List(t.Int()).tag(sync=True)  # places of source words
    forced = t.List(t.Int()).tag(sync=True)  # ids that are written first, whatever the model says
    off = t.List(t.Int()).tag(sync=True)  # places of heads that are switched off
    full_stop = t.Bool(False).tag(sync=True)
    best = t.List().tag(sync=True)  # [BLEU, heads off], of some numbers of heads
    by_lot = t.List(t.List(t.Float())).tag(sync=True)  # BLEU of as many heads drawn by lot
    worth_of = t.List(t.Unicode()).tag(sync=True)  # what the bars are, and how they came about
    beam_size = t.Int(1).tag(sync=True)  # of the search in use; 1 is greedy
    beam_sizes = t.List(t.Int()).tag(sync=True)  # to choose from
    sentences = t.List(t.Unicode()).tag(sync=True)
    languages = t.List(t.List(t.Unicode())).tag(sync=True)  # names and codes
    longest = t.Int(24).tag(sync=True)
    max_len = t.Int(40).tag(sync=True)
    files = t.List(t.Unicode()).tag(sync=True)  # where a built book holds the weights
    weights = t.Bytes().tag(sync=True)  # the files of the models, one after another
    sizes = t.List(t.Int()).tag(sync=True)  # their bytes, when they are in `weights`
    on_demand = t.List(t.Int()).tag(sync=True)  # bytes to load when the reader says so; or at once
    seen = t.List(t.Unicode()).tag(sync=True)  # `Familiar.bits` of the source side of each model
    trained = t.List(t.Int()).tag(sync=True)  # `Familiar.usual` of the source side of each model
    single = t.List(t.Bool()).tag(sync=True)  # `Familiar.single` of the source side of each model
    length_page = t.List(t.Unicode()).tag(sync=True)  # words of a link and its path

    def __init__(
        self,
        translator: Translator | Mapping[str, Translator],
        *,
        text: str | None = None,
        sentences: Sequence[str] = (),
        languages: Sequence[tuple[str, str]] = (("English", "en"), ("French", "fr")),
        longest: int = 24,
        max_len: int = 40,
        full_stop: bool = False,
        order_off: Sequence[int] = (),
        worth: Mapping[int, float] | None = None,
        by_lot: Mapping[int, Sequence[float]] | None = None,
        worth_of: tuple[str, str] = ("", ""),
        precision: str = "float32",
        files: str | None = None,
        embed: bool = False,
        trained_on: Sequence[str] = (),
        beam_sizes: Sequence[int] = (),
        on_demand: bool = False,
        length_page: tuple[str, str] | None = None,
        title: str = "",
        caption: str = "",
        anchor: str = "",
    ):
        self._translators = _by_name(translator)
        self._precision = checks.choice("precision", precision, PRECISIONS)
        described = [_described(one) for one in self._translators.values()]
        sentences = inputs.strings("sentences", sentences)
        embedded = self._payloads() if checks.flag("embed", embed) else []
        asked_for = self._payloads() if checks.flag("on_demand", on_demand) else []
        sizes = [f"{one['parameters']:,}" for one in described]
        named = [f"{size} ({name})" for size, name in zip(sizes, self._translators, strict=True)]
        count = ", ".join(named if len(named) > 1 else sizes)
        met = self._familiar(inputs.strings("trained_on", trained_on))
        super().__init__(
            names=list(self._translators),
            text=text if text is not None else next(iter(sentences), ""),
            sentences=sentences,
            languages=_languages(languages),
            longest=checks.integer("longest", longest, minimum=1),
            max_len=checks.integer("max_len", max_len, minimum=1),
            beam_sizes=[checks.integer("beam_sizes", one, minimum=2) for one in beam_sizes],
            full_stop=checks.flag("full_stop", full_stop),
            best=[
                [bleu, sorted(order_off[: len(order_off) - left])]
                for left, bleu in (worth or {}).items()
            ],
            by_lot=[sorted(map(float, by_lot[left])) for left in worth or {}] if by_lot else [],
            worth_of=inputs.strings("worth_of", worth_of, 2),
            files=[] if files is None else file_names(files, len(described)),
            on_demand=[len(one) for one in asked_for],
            seen=[one.bits() for one in met],
            trained=[one.usual for one in met],
            single=[one.single for one in met],
            length_page=[]
            if length_page is None
            else inputs.strings("length_page", length_page, 2),
            weights=b"".join(embedded),
            sizes=[len(one) for one in embedded],
            title=title,
            note=inputs.note(caption, _PROVENANCE.format(count=count)),
            anchor=anchor_of(anchor),
        )
        self.on_msg(self._answer)

    @property
    def comes_by_itself(self) -> bool:
        """Whether a page keeps room for it."""
        return not self.on_demand

    @property
    def translators(self) -> dict[str, Translator]:
        """All of them, by name."""
        return self._translators

    @property
    def translator(self) -> Translator:
        """The one in use."""
        return self._translators[self.names[self.model]]

    def translate(self) -> Shown:
        """What is on show, by torch: tokens, weights, and the five best candidates of each step."""
        tokens = self._source()
        if not tokens:
            checks.fail("text", "at least one word", repr(self.text))
        options = self.hidden, self.max_len, self.forced, self.beam_size, self._off()
        return shown.translate(self.translator, tokens, *options, shown.PATIENCE)

    def figure(self):
        source, target, weights = self._drawn()
        return picture.translation(
            source or [" "],
            target or [" "],
            weights if target else [[0.0] * max(1, len(source))],
            hidden=self.hidden,
            names=tuple(name for name, _ in self.languages),
            title=self.title,
        )

    def _words(self) -> str:
        source_name, target_name = (name for name, _ in self.languages)
        tokens = self._source()
        if not tokens:
            return f"A translator from {source_name} to {target_name}, without a sentence yet."
        hidden = [f"“{tokens[place]}”" for place in self.hidden]
        without = f" with {', '.join(hidden)} hidden from the attention," if hidden else ""
        return (
            f"{source_name} words above, {target_name} words below, and lines for the attention "
            f"between them: “{' '.join(tokens)}”{without} becomes "
            f"“{' '.join(self._drawn()[1])}”."
        )

    def _source(self) -> list[str]:
        text = shown.with_stop(self.text) if self.full_stop else self.text
        return shown.read_source(self.translator, text, self.longest)

    def _off(self) -> list[int]:
        """The heads that are switched off, of a model that has them."""
        count = len(shown.heads_of(self.translator.model))
        return [place for place in self.off if place < count]

    def _drawn(self) -> tuple[list[str], list[str], Any]:
        """Source words, target words, and the weights between them."""
        if not self._source():
            return [], [], None
        source, target, weights = self.translate().by_word()
        return source, target, weights.numpy()

    @t.validate("model")
    def _valid_model(self, proposal):
        count = len(self.names)
        return expect(proposal, f"an index from 0 to {count - 1}", 0 <= proposal.value < count)

    @t.validate("hidden")
    def _valid_hidden(self, proposal):
        count = len(self._source())
        fits = all(0 <= place < count for place in proposal.value)
        return sorted(set(expect(proposal, f"places from 0 to {count - 1}", fits)))

    @t.validate("forced")
    def _valid_forced(self, proposal):
        most = len(self.translator.target_vocab) - 1
        fits = all(EOS <= token <= most for token in proposal.value)
        return expect(proposal, f"ids from {EOS} to {most}", fits)

    @t.validate("off")
    def _valid_off(self, proposal):
        count = max(len(shown.heads_of(one.model)) for one in self._translators.values())
        fits = all(0 <= place < count for place in proposal.value)
        return sorted(set(expect(proposal, f"places of heads, from 0 to {count - 1}", fits)))

    @t.validate("beam_size")
    def _valid_beam_size(self, proposal):
        sizes = (1, *self.beam_sizes)
        return expect(proposal, f"one of {', '.join(map(str, sizes))}", proposal.value in sizes)

    @t.observe("text")
    def _show_all(self, change):
        self.hidden, self.forced = [], []

    @t.observe("model")
    def _let_it_choose(self, change):
        self.forced = []

    def _familiar(self, texts: list[str]) -> list[Familiar]:
        if not texts:
            return []
        return [familiar(one.source_vocab, texts) for one in self._translators.values()]

    def _payloads(self) -> list[bytes]:
        return [payload(one, self._precision) for one in self._translators.values()]

    def _answer(self, _widget, content, _buffers) -> None:
        """Send the weights of a model that the page asks for."""
        place = content.get("weights") if isinstance(content, dict) else None
        if isinstance(place, int) and 0 <= place < len(self.names):
            one = self._translators[self.names[place]]
            self.send({"weights": place}, buffers=[payload(one, self._precision)])


def file_names(name: str, count: int) -> list[str]:
    """Where the files of a live translator's models are, from the host's script on.

    >>> file_names("toy-french", 2)
    ['live-translator/toy-french-0.safetensors', 'live-translator/toy-french-1.safetensors']
    """
    checks.instance("files", name, str, "a name")
    return [f"live-translator/{name}-{place}.safetensors" for place in range(count)]


def _described(translator: Translator) -> dict[str, Any]:
    found = description(translator)
    if found["kind"] == "fixed":  # which has nothing to draw lines of
        decoder = type(translator.model.decoder).__name__
        checks.fail("translator", "a model with additive attention, or a Transformer", decoder)
    return found


def _by_name(translator: Translator | Mapping[str, Translator]) -> dict[str, Translator]:
    if not isinstance(translator, Mapping):
        checks.instance("translator", translator, Translator, "an attnlab.Translator")
        return {"": translator}
    if not translator:
        checks.fail("translator", "at least one attnlab.Translator", "none")
    for name, one in translator.items():
        checks.instance("translator", name, str, "names that are strings")
        checks.instance(f"translator[{name!r}]", one, Translator, "an attnlab.Translator")
    return dict(translator)


def _languages(languages: Sequence[tuple[str, str]]) -> list[list[str]]:
    if len(languages) != 2 or any(len(one) != 2 for one in languages):
        expected = "two pairs, each of a name and a code"
        checks.fail("languages", expected, repr(languages))
    return [inputs.strings("languages", one) for one in languages]
