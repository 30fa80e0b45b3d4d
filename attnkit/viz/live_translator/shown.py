"""What a live translator shows, by torch: the same translation, with the same words hidden."""

import re
from collections.abc import Collection
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnkit.applications import Translator
from attnkit.decoding import Stepped
from attnkit.decoding.base import evaluating
from attnkit.decoding.step import Symbols
from attnkit.rnn import Seq2Seq
from attnkit.tasks.vocab import EOS, UNK, tokenize

BEST = 5
_SIGN = re.compile(r'[.,;:!?"“”«»()]')


class Shown(NamedTuple):
    """A translation with its steps: `source` and `target` tokens; `weights` (T, ..., S), for a
    Transformer (T, layers, H, S); `candidates`, for each step the likeliest tokens with their
    probabilities; and whether the end was reached."""

    source: list[str]
    target: list[str]
    weights: Tensor
    candidates: list[list[tuple[str, float]]]
    ended: bool

    def mean_weights(self) -> Tensor:
        """The weights (T, S), the mean over layers and heads where there are any."""
        if self.weights.dim() == 2:
            return self.weights
        return self.weights.mean((1, 2))


def read_source(translator: Translator, text: str) -> list[str]:
    """Tokens of a text, without the signs between words that the vocabulary lacks."""
    known = translator.source_vocab
    return [token for token in tokenize(text) if token in known or not _SIGN.fullmatch(token)]


def translate(
    translator: Translator, source: list[str], hidden: Collection[int] = (), max_len: int = 40
) -> Shown:
    """Translate greedily while the attention may not look at some source tokens.

    The encoder reads them nevertheless, so the states of the other tokens know of them.

    Args:
        translator: with attention.
        source: tokens, at least one.
        hidden: places in `source`.
        max_len: most tokens of the translation.
    """
    ids = torch.tensor([translator.source_vocab.encode(source)])
    visible = torch.tensor([[[place not in hidden for place in range(len(source))]]])  # (1, 1, S)
    model, vocab = translator.model, translator.target_vocab
    symbols = Symbols(model.pad, model.bos, model.eos)
    target, weights, candidates = [], [], []
    with evaluating(model):
        step = _begin(model, ids, visible)
        token, ended = model.bos, False
        while len(target) < max_len:
            stepped = step(token)
            chances = symbols.log_probs(stepped.logits, may_end=True)[0].exp()  # (V,)
            best = chances.topk(min(BEST, len(vocab) - 2))
            token = int(best.indices[0])
            if ended := token == EOS:
                break
            seen = stepped.weights[0]  # (..., S)
            weights.append(seen)
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            candidates.append([(vocab.tokens[place], chance) for place, chance in pairs])
            looked = int(seen.reshape(-1, len(source)).mean(0).argmax())
            target.append(source[looked] if token == UNK else vocab.tokens[token])
    stacked = torch.stack(weights) if weights else torch.zeros(0, len(source))
    return Shown(source, target, stacked, candidates, ended)


def _begin(model: Any, source: Tensor, visible: Tensor):
    """`step` from a token id to `Stepped`, once the source (1, S) has been read."""
    if isinstance(model, Seq2Seq):
        encoded = model.encoder(source)._replace(mask=visible)
        memory = model.decoder.prepare(encoded)
        state = model.decoder.start(memory)

        def step(token: int) -> Stepped:
            nonlocal state
            stepped = model.decoder.step(torch.tensor([token]), state, memory, need_weights=True)
            state = stepped.state
            return stepped

        return step
    memory = model.encode(source)._replace(mask=visible)
    written: list[int] = []

    def step_again(token: int) -> Stepped:
        written.append(token)
        logits, _, cross = model.decode(torch.tensor([written]), memory, need_weights=True)
        return Stepped(logits[:, -1], None, cross[..., -1, :])

    return step_again
