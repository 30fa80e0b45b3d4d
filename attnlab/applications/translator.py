"""Source text in, target text out.

**The files** of a saved translator. `translator.json` says all but the weights: `model` and
`options` are the arguments of `Translator`; `source` and `target` are the vocabularies, each a
`kind` ("Vocab" or "Subwords", whose module says how words are split) and its `tokens` from id 4
on; `target` is null when it is the same as `source`. `weights.safetensors` holds the model's
`state_dict` by its names. Of names that share a matrix only the first is there: with
`share_embeddings` a Transformer's `source_embedding.weight` is also `target_embedding.weight` and
`output.weight`, and a recurrent model's `encoder.embedding.weight` is also
`decoder.embedding.weight` and `decoder.readout.2.weight`. In eight bits a matrix W, int8, has a
row's scales beside it, float16, as `W:scale`, and weighs W[i, j] * scale[i]; vectors are float16.
"""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from tqdm.auto import tqdm

from attnkit.guard import checks
from attnlab import files
from attnlab.decoding import Decoded, SequenceModel
from attnlab.decoding.predictions import mean_heads, word_weights
from attnlab.rnn import seq2seq
from attnlab.tasks.pairs import Batches, Pair
from attnlab.tasks.subwords import START, Subwords
from attnlab.tasks.vocab import SPECIAL, UNK, Vocab, detokenize, tokenize
from attnlab.training import quantization
from attnlab.transformer import Transformer

__all__ = ["Translation", "Translator", "shipped"]

KINDS = ("transformer", "additive", "dot", "general", "concat", "none")
MODELS = Path(__file__).parent / "models"
VOCABS = {"Vocab": Vocab, "Subwords": Subwords}


class Translation(NamedTuple):
    """A translation with how it came about.

    `text` is the translation, `source` and `target` are the tokens on both sides, `score` is the
    log-probability of the target in nats, and `weights` (T, S) are the attention of each target
    token (of the Transformer's cross-attention, the mean over layers and heads), or None.
    `source_words` and `target_words` say where each word begins and ends among the tokens, which
    are pieces of words with `tasks.Subwords`.
    """

    text: str
    source: list[str]
    target: list[str]
    score: float
    weights: Tensor | None
    source_words: list[tuple[int, int]]
    target_words: list[tuple[int, int]]

    def by_word(self) -> "Translation":
        """The same with whole words as tokens, as a picture wants them.

        The weight of a source word is the sum over its pieces, and that of a target word the mean
        over its own, so a row still adds up to what it did.

        >>> import torch
        >>> weights = torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.2, 0.8]])
        >>> found = Translation("cats", ["▁le", "▁ch", "at"], ["▁cat", "s"], -1.0, weights,
        ...                     [(0, 1), (1, 3)], [(0, 2)])
        >>> found.by_word().source, found.by_word().weights
        (['le', 'chat'], tensor([[0.1000, 0.9000]]))
        """
        weights = self.weights
        if weights is not None:
            weights = word_weights(weights, self.target_words, self.source_words)
        source = whole_words(self.source, self.source_words)
        target = whole_words(self.target, self.target_words)
        words = [[(n, n + 1) for n in range(len(side))] for side in (source, target)]
        return Translation(self.text, source, target, self.score, weights, *words)


def whole_words(pieces: Sequence[str], words: Sequence[tuple[int, int]]) -> list[str]:
    """Join pieces into the words that begin and end where `Vocab.spans` says.

    >>> whole_words(["▁le", "▁ch", "at"], [(0, 1), (1, 3)])
    ['le', 'chat']
    """
    return ["".join(pieces[first:end]).removeprefix(START) for first, end in words]


class Translator:
    """A sequence-to-sequence model with the vocabularies that make it read and write text.

    Train `translator.model` with `training.fit` on `translator.batches(pairs, ...)`.

    Args:
        source_vocab: vocabulary of the source language.
        target_vocab: vocabulary of the target language.
        model: "transformer", or a recurrent model by the name of its attention: "additive", "dot",
            "general", "concat" or "none". Or a model of your own, which `load` must be given again.
        options: arguments of `Transformer` or `rnn.seq2seq`.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the model has no such name, or options come with a model of your own.

    >>> from attnlab import tasks
    >>> pairs = tasks.toy_french(50)
    >>> translator = Translator(*tasks.vocabs(pairs), "dot", embed_dim=8, hidden_dim=16)
    >>> type(translator("the black cat")).__name__
    'str'
    """

    def __init__(
        self,
        source_vocab: Vocab,
        target_vocab: Vocab,
        model: str | SequenceModel = "transformer",
        **options: Any,
    ):
        self.source_vocab = checks.instance("source_vocab", source_vocab, Vocab, "a Vocab")
        self.target_vocab = checks.instance("target_vocab", target_vocab, Vocab, "a Vocab")
        self.kind, self.options = model, options
        if isinstance(model, SequenceModel):
            if options:
                checks.fail("options", "none with a model of your own", ", ".join(options))
            self.kind, self.model = "custom", model
        else:
            self.model = _build(model, len(source_vocab), len(target_vocab), options)

    def __call__(self, text: str, *, beam_size: int = 1) -> str:
        """Translate one text: `translate`, without the trimmings."""
        return self.translate([text], beam_size=beam_size)[0].text

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int = 1,
        length_penalty: float | None = None,
        n_best: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        max_len: int = 100,
        batch_size: int = 64,
        copy_unknown: bool = True,
        progress: bool = False,
    ) -> list[Translation] | list[list[Translation]]:
        """Translate texts, in eval mode, on the model's device.

        Args:
            texts: each at least one word; translated as one sentence, in lower case.
            beam_size: hypotheses of the beam search; 1 decodes greedily.
            length_penalty: of the beam search: how much it forgives length, from 0 on; default that
                of `beam_search`.
            n_best: return a list of so many translations of each text, the best first; at most
                `beam_size`. Fewer when the search found fewer.
            temperature: draw each token at random, as `decoding.sample` does; 1 by the model's own
                probabilities.
            top_k, top_p: draw from likely tokens alone; `temperature` is then 1 when left out.
            seed: of the draws.
            max_len: most tokens in a translation, which are pieces of words with
                `tasks.Subwords`; one that is longer is cut off.
            batch_size: texts translated at a time.
            copy_unknown: put the source token with the most attention where the model writes
                `<unk>` (Jean et al. 2015), if it has attention.
            progress: show a bar, of texts. The environment variable TQDM_DISABLE=1 hides all bars.

        Raises:
            TypeError: `texts` is one string, or holds something other than strings.
            ValueError: there are no texts, a text has no word, a number is out of range, or a beam
                is asked for together with draws.

        Example:
            >>> translator = Translator.load("tatoeba-en-fr")
            >>> found = translator.translate(["Thank you."], beam_size=4, n_best=2)[0]
            >>> [type(one).__name__ for one in found], found[0].score >= found[1].score
            (['Translation', 'Translation'], True)
            >>> [one.text for one in translator.translate(["Thank you."], top_k=1)]
            ['merci.']
        """
        pairs = [Pair(tuple(tokens), ()) for tokens in _tokenized(texts)]
        checks.integer("beam_size", beam_size, minimum=1)
        checks.flag("copy_unknown", copy_unknown)
        shown = {} if checks.flag("progress", progress) else {"disable": True}
        search = self._search(
            {"beam_size": beam_size, "length_penalty": length_penalty, "n_best": n_best},
            {"temperature": temperature, "top_k": top_k, "top_p": top_p},
            seed,
        )
        batches = Batches(
            pairs, self.source_vocab, self.target_vocab, batch_size=batch_size, shuffle=False
        )
        found: list[Any] = [None] * len(pairs)
        device = next(self.model.parameters()).device
        with tqdm(desc="Translating", total=len(pairs), **shown) as bar:
            for batch in batches:
                batch = batch.to(device)
                decoded = search(batch.source, batch.source_lengths, max_len)
                for row, place in enumerate(batch.index.tolist()):
                    source = self.source_vocab.pieces(pairs[place].source)
                    if n_best is None:
                        found[place] = self._finish(source, decoded, (row,), copy_unknown)
                        continue
                    found[place] = [
                        self._finish(source, decoded, (row, rank), copy_unknown)
                        for rank in range(n_best)
                        if decoded.scores[row, rank] > -math.inf
                    ]
                bar.update(len(batch.index))
        return found

    def _search(self, beam: dict[str, Any], draws: dict[str, Any], seed: int) -> Any:
        """The model's search by these arguments of `translate`, without those left out."""
        given = {name: value for name, value in draws.items() if value is not None}
        # One hypothesis is greedy decoding, unless something is asked of the search itself.
        own = beam["beam_size"] > 1 or beam["n_best"] is not None
        own = own or beam["length_penalty"] is not None
        if given and own:
            checks.fail("temperature, top_k, top_p", "none of them with a beam", ", ".join(given))
        if own:
            search = self.model.beam
            options = {name: value for name, value in beam.items() if value is not None}
        elif given:
            search, options = self.model.sample, given
            generator = torch.Generator(next(self.model.parameters()).device)
            options["generator"] = generator.manual_seed(checks.integer("seed", seed))
        else:
            search, options = self.model.greedy, {}
        return partial(search, need_weights=self.attends, **options)

    @property
    def attends(self) -> bool:
        """Whether the model has attention to show."""
        return isinstance(self.model, Transformer) or hasattr(
            getattr(self.model, "decoder", None), "attention"
        )

    def batches(self, pairs: Sequence[Pair], **options: Any) -> Batches:
        """Make `tasks.Batches` of pairs with this translator's vocabularies."""
        return Batches(pairs, self.source_vocab, self.target_vocab, **options)

    def save(self, folder: str | Path, *, eight_bits: bool = False) -> None:
        """Write `weights.safetensors` and `translator.json` into a folder.

        A matrix that the model uses in several places, as with `share_embeddings`, is written
        once, under the first of its names.

        Args:
            folder: made when it is missing.
            eight_bits: a quarter of the bytes: matrices in int8 with a scale a row and vectors in
                half precision, as `training.quantization.pack` writes them. What is loaded then
                is the rounded model.
        """
        weights = self.model.state_dict()
        weights = {
            name: weights[name] for name, first in first_names(weights).items() if name == first
        }
        if checks.flag("eight_bits", eight_bits):
            weights = quantization.pack(weights)
        joint = self.source_vocab == self.target_vocab
        description = {
            "model": self.kind,
            "options": self.options,
            "source": _description(self.source_vocab),
            "target": None if joint else _description(self.target_vocab),
        }
        text = files.to_json("options", description)  # refused before anything is written
        files.save_tensors(Path(folder) / "weights.safetensors", weights)
        files.replace_file(Path(folder) / "translator.json", text)

    @classmethod
    def load(cls, folder: str | Path, model: SequenceModel | None = None) -> "Translator":
        """Read what `save` wrote; the model comes on the CPU, in eval mode.

        Args:
            folder: what was given to `save`, or the name of a model that comes with attnkit (see
                `shipped`), unless a folder of that name is there.
            model: a model of your own, built as the saved one was; None for one by name.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: the weights are not those of the model, or a model of your own is missing.
        """
        name, folder = str(folder), Path(folder)
        if name in shipped() and not (folder / "translator.json").is_file():
            folder = MODELS / name
        path = folder / "translator.json"
        if not path.is_file():
            names = " or ".join(map(repr, shipped()))
            expected = f"a folder with translator.json, or {names}" if names else "translator.json"
            raise FileNotFoundError(f"folder: expected {expected}, got none in {folder}")
        saved = files.load_json(path, ("model", "options", "source", "target"))
        if saved["model"] == "custom" and model is None:
            checks.fail("model", "the model of your own that was saved here", "None")
        vocabs = [VOCABS[side["kind"]](side["tokens"]) for side in _sides(saved)]
        loaded = cls(*vocabs, saved["model"] if model is None else model, **saved["options"])
        weights, _ = files.load_tensors(folder / "weights.safetensors")
        weights = quantization.unpack(weights) if _is_packed(weights) else weights
        for name, first in first_names(loaded.model.state_dict()).items():
            if first in weights:
                weights.setdefault(name, weights[first])
        files.put_weights(loaded.model, weights)
        loaded.model.eval()
        return loaded

    def _finish(
        self, source: list[str], decoded: Decoded, at: tuple[int, ...], copy: bool
    ) -> Translation:
        """The translation that `decoded` holds `at` a row, and at a rank with `n_best`."""
        target = self.target_vocab.written(decoded.tokens[at])
        weights = decoded.weights
        if weights is not None:
            weights = mean_heads(weights[at][None])[0, : len(target), : len(source)].cpu()  # (T, S)
            if copy:
                unknown = self.target_vocab.tokens[UNK]
                best = weights.argmax(-1).tolist()
                target = [
                    source[best[place]] if token == unknown else token
                    for place, token in enumerate(target)
                ]
        text = detokenize(self.target_vocab.join(target))
        words = self.source_vocab.spans(source), self.target_vocab.spans(target)
        return Translation(text, source, target, float(decoded.scores[at]), weights, *words)


def shipped() -> list[str]:
    """Name the translators that come with attnkit, for `Translator.load`.

    All read short English sentences and write French; models/README.md there says how they were
    made.

    Example:
        >>> for name in shipped():
        ...     assert Translator.load(name)("thank you.") == "merci."
    """
    return sorted(path.parent.name for path in MODELS.glob("*/translator.json"))


def _sides(saved: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return saved["source"], saved["target"] or saved["source"]


def _is_packed(weights: dict[str, Tensor]) -> bool:
    return any(name.endswith(quantization.SCALE) for name in weights)


def first_names(weights: dict[str, Tensor]) -> dict[str, str]:
    """Return for each name the first of all names that share its memory.

    >>> matrix = torch.ones(2, 2)
    >>> first_names({"source": matrix, "bias": torch.ones(2), "target": matrix})
    {'source': 'source', 'bias': 'bias', 'target': 'source'}
    """
    firsts: dict[tuple[int, torch.Size], str] = {}
    return {
        name: firsts.setdefault((value.data_ptr(), value.shape), name)
        for name, value in weights.items()
    }


def _description(vocab: Vocab) -> dict[str, Any]:
    return {"kind": type(vocab).__name__, "tokens": vocab.tokens[len(SPECIAL) :]}


def _build(kind: str, source_size: int, target_size: int, options: dict[str, Any]) -> SequenceModel:
    checks.choice("model", kind, KINDS)
    if kind == "transformer":
        return Transformer(source_size, target_size, **options)
    return seq2seq(source_size, target_size, attention=kind, **options)


def _tokenized(texts: Sequence[str]) -> list[list[str]]:
    if isinstance(texts, str):
        checks.fail("texts", "a list of strings, one a sentence", "one string", TypeError)
    if not len(texts):
        checks.fail("texts", "at least one text", "none")
    tokenized = []
    for number, text in enumerate(texts):
        checks.instance(f"texts[{number}]", text, str, "a string")
        tokens = tokenize(text)
        if not tokens:
            checks.fail(f"texts[{number}]", "at least one word", repr(text))
        tokenized.append(tokens)
    return tokenized
