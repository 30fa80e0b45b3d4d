"""What a live translator shows, by torch: the same translation, with the same words hidden."""

import contextlib
import math
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attnlab.applications import Translator
from attnlab.applications.translator import whole_words
from attnlab.decoding import Stepped, beam_search
from attnlab.decoding.base import evaluating
from attnlab.decoding.predictions import word_weights
from attnlab.decoding.step import Symbols
from attnlab.rnn import Seq2Seq
from attnlab.tasks.subwords import Subwords
from attnlab.tasks.vocab import EOS, UNK, tokenize
from attnlab.transformer import Transformer

BEST = 5
PATIENCE = 4
"""How often the page lets a model write the same in a row, which no sentence does."""
_SIGN = re.compile(r'[.,;:!?"“”«»()]')
_ENDED = re.compile(r"""[.!?…]["”»')\]]*\s*$|^\s*$""")


class Shown(NamedTuple):
    """A translation with its steps: `source` and `target` tokens; `weights` (T, ..., S), for a
    Transformer (T, layers, H, S); `candidates`, for each step the likeliest tokens with their
    probabilities; whether the end was reached; where each word begins and ends among the tokens,
    which are pieces of words with `tasks.Subwords`; and whether it was stopped for writing the same
    again and again. A head that is switched off has weights of 0."""

    source: list[str]
    target: list[str]
    weights: Tensor
    candidates: list[list[tuple[str, float]]]
    ended: bool
    source_words: list[tuple[int, int]]
    target_words: list[tuple[int, int]]
    stuck: bool = False

    def mean_weights(self) -> Tensor:
        """The weights (T, S), the mean over all heads that look at something."""
        if self.weights.dim() == 2:
            return self.weights
        looking = self.weights.gt(0).any(-1, keepdim=True).sum((1, 2))  # (T, 1)
        return self.weights.sum((1, 2)) / looking.clamp(min=1)

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


def with_stop(text: str) -> str:
    """A text with an end: a full stop where it has none. `withStop` in words.js is the same.

    >>> with_stop("Thank you "), with_stop("Who?"), with_stop("")
    ('Thank you.', 'Who?', '')
    """
    return text if _ENDED.search(text) else f"{text.rstrip()}."


def translate(
    translator: Translator,
    source: list[str],
    hidden: Collection[int] = (),
    max_len: int = 40,
    forced: Sequence[int] = (),
    beam_size: int = 1,
    off: Collection[int] = (),
    patience: int = 0,
) -> Shown:
    """Translate while the attention may not look at some source words, or some heads are off.

    The encoder reads them nevertheless, so the states of the other words know of them.

    Args:
        translator: with attention.
        source: words, at least one.
        hidden: places in `source`.
        max_len: most tokens of the translation.
        forced: ids of the first tokens to write, whatever the model would have written.
        beam_size: hypotheses that are kept for what follows; 1 is greedy.
        off: places of `heads_of` that are switched off.
        patience: how often it may write the same in a row, a token or several, before it is
            stopped; 0 for without end.
    """
    pieces = translator.source_vocab.pieces(source)
    spans = translator.source_vocab.spans(pieces)
    seen = [
        place not in hidden for place, (first, end) in enumerate(spans) for _ in range(first, end)
    ]
    model, vocab = translator.model, translator.target_vocab
    symbols = Symbols(model.pad, model.bos, model.eos)
    target, weights, candidates, written = [], [], [], []
    every = heads_of(model)
    cross = len(every) // 3 * 2  # the place of the first that looks at the source
    dark = [place - cross for place in off if place >= cross]
    with evaluating(model), without_heads(model, off):
        read = model.encoder if isinstance(model, Seq2Seq) else model.encode
        memory = read(torch.tensor([translator.source_vocab.encode(source)]))
        memory = memory._replace(mask=torch.tensor([[seen]]))  # (1, 1, S)
        if beam_size > 1:
            forced = _searched(model, memory, forced, beam_size, max_len)
        step, state = model.begin_from(memory, copies=1, need_weights=True)
        token, ended, stuck = model.bos, False, False
        while len(target) < max_len and not stuck:
            stepped = step(torch.tensor([token]), state)
            state, at = stepped.state, len(target)
            chances = symbols.log_probs(stepped.logits, may_end=True)[0].exp()  # (V,)
            best = chances.topk(min(BEST, len(vocab) - 2))
            token = forced[at] if at < len(forced) else int(best.indices[0])
            if ended := token == EOS:
                break
            look = stepped.weights[0].clone()  # (..., S)
            if dark:
                look.view(-1, len(pieces))[dark] = 0.0
            weights.append(look)
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            candidates.append([(vocab.tokens[place], chance) for place, chance in pairs])
            looked = int(look.reshape(-1, len(pieces)).mean(0).argmax())
            target.append(pieces[looked] if token == UNK else vocab.tokens[token])
            written.append(token)
            stuck = at >= len(forced) and _repeats(written, patience)
    stacked = torch.stack(weights) if weights else torch.zeros(0, len(pieces))
    return Shown(pieces, target, stacked, candidates, ended, spans, vocab.spans(target), stuck)


def _repeats(ids: list[int], times: int) -> bool:
    """Whether `ids` end in the same so often in a row: one, or several."""
    sizes = range(1, len(ids) // times + 1) if times else ()
    return any(ids[-n * times :] == ids[-n:] * times for n in sizes)


def heads_of(model: Any) -> list[tuple[nn.Module, int]]:
    """Every head of a Transformer as its attention and its number there, by its place in this list:
    those of the encoder, of the decoder over its own words, and of the decoder over the source,
    each layer by layer. A recurrent model has none."""
    if not isinstance(model, Transformer):
        return []
    decoder = model.decoder.layers
    kinds = (
        [layer.attention for layer in model.encoder.layers],
        [layer.self_attention for layer in decoder],
        [layer.cross_attention for layer in decoder],
    )
    return [(one, head) for kind in kinds for one in kind for head in range(one.num_heads)]


@contextlib.contextmanager
def without_heads(model: Any, off: Collection[int]) -> Iterator[None]:
    """Within it these of `heads_of` give nothing to their layer, as Voita et al. (2019) and Michel
    et al. (2019) switch a head off: the rest of the layer stays, the bias of its output too."""
    every, silent = heads_of(model), {}
    for place in off:
        attention, head = every[place]
        silent.setdefault(attention, []).append(head)
    hooks = [
        attention.out_proj.register_forward_pre_hook(partial(_silence, attention.num_heads, heads))
        for attention, heads in silent.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _silence(count: int, heads: list[int], _module: nn.Module, inputs: tuple[Tensor]) -> Tensor:
    """What all heads give (..., E), without what these do."""
    parts = inputs[0].unflatten(-1, (count, -1)).clone()
    parts[..., heads, :] = 0.0
    return parts.flatten(-2)


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
