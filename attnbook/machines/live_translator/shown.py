"""What a live translator shows, by torch: the same translation, with the same words hidden."""

import math
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlab.applications import Translator
from attnlab.applications.translator import whole_words
from attnlab.decoding import Stepped, beam_search
from attnlab.decoding.base import evaluating
from attnlab.decoding.predictions import word_weights
from attnlab.decoding.step import Symbols
from attnlab.rnn import Seq2Seq
from attnlab.tasks.subwords import Subwords
from attnlab.tasks.vocab import EOS, UNK, tokenize

BEST = 5
_SIGN = re.compile(r'[.,;:!?"“”«»()]')


class Shown(NamedTuple):
    """A translation with its steps: `source` and `target` tokens; `weights` (T, ..., S), for a
    Transformer (T, layers, H, S); `candidates`, for each step the likeliest tokens with their
    probabilities; whether the end was reached; and where each word begins and ends among the
    tokens, which are pieces of words with `tasks.Subwords`."""

    source: list[str]
    target: list[str]
    weights: Tensor
    candidates: list[list[tuple[str, float]]]
    ended: bool
    source_words: list[tuple[int, int]]
    target_words: list[tuple[int, int]]

    def mean_weights(self) -> Tensor:
        """The weights (T, S), the mean over layers and heads where there are any."""
        if self.weights.dim() == 2:
            return self.weights
        return self.weights.mean((1, 2))

    def by_word(self) -> tuple[list[str], list[str], Tensor]:
        """Source words, target words, and the mean weights between them, as they are drawn."""
        source = whole_words(self.source, self.source_words)
        target = whole_words(self.target, self.target_words)
        weights = word_weights(self.mean_weights(), self.target_words, self.source_words)
        return source, target, weights


def read_source(translator: Translator, text: str, longest: int | None = None) -> list[str]:
    """Words of a text, as many as have no more than `longest` pieces together.

    Signs between words that a vocabulary of words lacks are omitted: it was made without signs. A
    first word that is too long by itself is cut.
    """
    vocab, kept, count = translator.source_vocab, [], 0
    for word in tokenize(text):
        if not isinstance(vocab, Subwords) and word not in vocab and _SIGN.fullmatch(word):
            continue
        size = len(vocab.pieces([word]))
        if longest is not None and count + size > longest:
            return kept or [word[: longest - 1]]
        kept.append(word)
        count += size
    return kept


def translate(
    translator: Translator,
    source: list[str],
    hidden: Collection[int] = (),
    max_len: int = 40,
    forced: Sequence[int] = (),
    beam_size: int = 1,
) -> Shown:
    """Translate while the attention may not look at some source words.

    The encoder reads them nevertheless, so the states of the other words know of them.

    Args:
        translator: with attention.
        source: words, at least one.
        hidden: places in `source`.
        max_len: most tokens of the translation.
        forced: ids of the first tokens to write, whatever the model would have written.
        beam_size: hypotheses that are kept for what follows; 1 is greedy.
    """
    pieces = translator.source_vocab.pieces(source)
    spans = translator.source_vocab.spans(pieces)
    seen = [
        place not in hidden for place, (first, end) in enumerate(spans) for _ in range(first, end)
    ]
    model, vocab = translator.model, translator.target_vocab
    symbols = Symbols(model.pad, model.bos, model.eos)
    target, weights, candidates = [], [], []
    with evaluating(model):
        read = model.encoder if isinstance(model, Seq2Seq) else model.encode
        memory = read(torch.tensor([translator.source_vocab.encode(source)]))
        memory = memory._replace(mask=torch.tensor([[seen]]))  # (1, 1, S)
        if beam_size > 1:
            forced = _searched(model, memory, forced, beam_size, max_len)
        step, state = model.begin_from(memory, copies=1, need_weights=True)
        token, ended = model.bos, False
        while len(target) < max_len:
            stepped = step(torch.tensor([token]), state)
            state, at = stepped.state, len(target)
            chances = symbols.log_probs(stepped.logits, may_end=True)[0].exp()  # (V,)
            best = chances.topk(min(BEST, len(vocab) - 2))
            token = forced[at] if at < len(forced) else int(best.indices[0])
            if ended := token == EOS:
                break
            look = stepped.weights[0]  # (..., S)
            weights.append(look)
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            candidates.append([(vocab.tokens[place], chance) for place, chance in pairs])
            looked = int(look.reshape(-1, len(pieces)).mean(0).argmax())
            target.append(pieces[looked] if token == UNK else vocab.tokens[token])
    stacked = torch.stack(weights) if weights else torch.zeros(0, len(pieces))
    return Shown(pieces, target, stacked, candidates, ended, spans, vocab.spans(target))


def _searched(
    model: Any, memory: Any, forced: Sequence[int], beam_size: int, max_len: int
) -> list[int]:
    """The ids that a beam finds, those that are forced first: they cost nothing."""
    step, state = model.begin_from(memory, copies=beam_size, need_weights=False)
    left = list(forced)

    def step_forced(tokens: Tensor, state: Any) -> Stepped:
        stepped = step(tokens, state)
        if not left:
            return stepped
        only = torch.full_like(stepped.logits, -math.inf)
        only[:, left.pop(0)] = 0.0
        return stepped._replace(logits=only)

    symbols = {"pad": model.pad, "bos": model.bos, "eos": model.eos}
    found = beam_search(step_forced, state, 1, max_len, beam_size=beam_size, **symbols)
    return found.tokens[0, : int(found.lengths)].tolist()
