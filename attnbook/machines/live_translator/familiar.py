"""What a model has met in training: which tokens, and texts of which length."""

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnlab.tasks import Subwords, Vocab
from attnlab.tasks.vocab import SPECIAL, tokenize


class Familiar(NamedTuple):
    """What the source side of the training data had: `seen` (V,), for each token of the vocabulary
    whether it was there, `usual`, the tokens that 99 in 100 texts have at most, and `single`,
    whether 99 in 100 texts are one sentence."""

    seen: np.ndarray
    usual: int
    single: bool

    def bits(self) -> str:
        """`seen` as the page reads it: eight tokens a byte, the first in the lowest bit, in base64.

        >>> Familiar(np.array([True, False, True]), 9, True).bits()
        'BQ=='
        """
        return base64.b64encode(np.packbits(self.seen, bitorder="little").tobytes()).decode()


# A point after one of these ends no sentence; nor does one after a single letter.
TITLES = ("mr", "mrs", "ms", "dr", "st")


def count_sentences(words: Sequence[str]) -> int:
    """Count the sentences of a text by their points, question and exclamation marks.

    `sentencesIn` in words.js is the same.

    >>> count_sentences(tokenize("Mr. Smith left at 6 p.m. today. Did you see him?"))
    2
    """
    count, last, ended = 0, "", True
    for word in words:
        if any(sign.isalnum() for sign in word):
            count, last, ended = count + ended, word, False
        elif word in "?!" or (word == "." and len(last) > 1 and last not in TITLES):
            ended = True
    return count


def familiar(vocab: Vocab, texts: Sequence[str]) -> Familiar:
    """Find the tokens of `vocab` in the texts that a model learned from, and their usual length.

    >>> found = familiar(Vocab(["the", "cat", "dog"]), ["The cat", "the old cat"])
    >>> [vocab for vocab, seen in zip("the cat dog".split(), found.seen[4:]) if seen], found.usual
    (['the', 'cat'], 3)
    """
    return _familiar(isinstance(vocab, Subwords), tuple(vocab.tokens[len(SPECIAL) :]), tuple(texts))


@lru_cache(maxsize=4)  # several models share a vocabulary, and seventy thousand texts take seconds
def _familiar(pieces: bool, tokens: tuple[str, ...], texts: tuple[str, ...]) -> Familiar:
    vocab = Subwords(tokens) if pieces else Vocab(tokens)
    found: set[int] = set()
    lengths: list[int] = []
    single = 0
    for text in texts:
        words = tokenize(text)
        ids = vocab.encode(words)
        found.update(ids)
        lengths.append(len(ids))
        single += count_sentences(words) < 2
    seen = np.zeros(len(vocab), bool)
    seen[[*found]] = True
    seen[: len(SPECIAL)] = False  # what is not listed was never seen, whatever it is
    usual = int(np.percentile(lengths, 99, method="inverted_cdf")) if lengths else 0
    return Familiar(seen, usual, bool(texts) and single >= 0.99 * len(texts))
