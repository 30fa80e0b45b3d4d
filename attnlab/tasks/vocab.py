"""Vocabularies: from tokens to ids and back."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.guard import checks

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocab:
    """A list of tokens, each with its index as its id; the first four are special.

    Id 0 is padding, 1 begins a sequence, 2 ends it and 3 is any token that is not listed.

    Args:
        tokens: the tokens from id 4 on, without repetition.

    Raises:
        TypeError: a token is not a string.
        ValueError: a token comes twice, or is one of the special four.

    >>> vocab = Vocab(["le", "chat", "noir"])
    >>> vocab.encode(["le", "chien", "noir"])
    [4, 3, 6]
    >>> vocab.decode([1, 4, 5, 6, 2, 0, 0])
    ['le', 'chat', 'noir']
    """

    def __init__(self, tokens: Iterable[str]):
        if isinstance(tokens, str):
            checks.fail("tokens", "a sequence of strings", f"the string {tokens!r}", TypeError)
        self.tokens = list(SPECIAL)
        self.ids = {token: number for number, token in enumerate(SPECIAL)}
        for token in tokens:
            if not isinstance(token, str):
                checks.fail("tokens", "strings", checks.described(token), TypeError)
            if token in self.ids:
                checks.fail("tokens", "every token once, none of them special", repr(token))
            self.ids[token] = len(self.tokens)
            self.tokens.append(token)

    @classmethod
    def build(
        cls,
        sequences: Iterable[Sequence[str]],
        *,
        min_count: int = 1,
        max_size: int | None = None,
    ) -> "Vocab":
        """List the tokens of `sequences`, the most frequent first, ties in alphabetical order.

        Args:
            sequences: token sequences.
            min_count: omit tokens that are rarer than this.
            max_size: keep at most this many ids, the special four included.

        >>> Vocab.build([["a", "b"], ["b", "c"]], max_size=6).tokens[4:]
        ['b', 'a']
        """
        checks.integer("min_count", min_count, minimum=1)
        if max_size is not None:
            checks.integer("max_size", max_size, minimum=len(SPECIAL))
        counts: Counter[str] = Counter()
        for sequence in sequences:
            check_tokens("sequences", sequence)
            counts.update(sequence)
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        kept = [token for token in ranked if counts[token] >= min_count and token not in SPECIAL]
        return cls(kept if max_size is None else kept[: max_size - len(SPECIAL)])

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the id of each token, `UNK` for those not listed and for the names of the special
        four, which are no words. Adds no BOS or EOS."""
        check_tokens("tokens", tokens)
        return [UNK if token in SPECIAL else self.ids.get(token, UNK) for token in tokens]

    def decode(self, ids: Sequence[int] | Tensor) -> list[str]:
        """Return the tokens up to the first EOS, without padding and BOS.

        Raises:
            ValueError: an id is not in the vocabulary, or `ids` is a tensor that is not 1-D.
        """
        return self.join(self.written(ids))

    def written(self, ids: Sequence[int] | Tensor) -> list[str]:
        """Return the piece of each id up to the first EOS, without padding and BOS."""
        if isinstance(ids, Tensor):
            if ids.dim() != 1:
                checks.fail("ids", "one sequence of ids", f"shape {checks.shape(ids)}")
            ids = ids.tolist()
        pieces = []
        for number in ids:
            checks.integer("ids", number, minimum=0, maximum=len(self) - 1)
            if number == EOS:
                break
            if number not in (PAD, BOS):
                pieces.append(self.tokens[number])
        return pieces

    def pieces(self, tokens: Sequence[str]) -> list[str]:
        """Return what each id of `encode(tokens)` stands for: here, the tokens themselves."""
        check_tokens("tokens", tokens)
        return list(tokens)

    def spans(self, pieces: Sequence[str]) -> list[tuple[int, int]]:
        """Return where each word begins and ends among `pieces`: here, each is a word."""
        check_tokens("pieces", pieces)
        return [(place, place + 1) for place in range(len(pieces))]

    def join(self, pieces: Sequence[str]) -> list[str]:
        """Return the words that `pieces` make: here, the pieces themselves."""
        check_tokens("pieces", pieces)
        return list(pieces)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self.ids

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.tokens == other.tokens

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens)"


def pad(sequences: Sequence[Sequence[int]], value: int = PAD) -> tuple[Tensor, Tensor]:
    """Stack sequences of ids into one tensor, short ones filled up at the end.

    Returns:
        ids (B, S) and lengths (B,), both int64, S the longest length (at least 1).

    Raises:
        ValueError: there are no sequences.

    >>> pad([[4, 5, 6], [7]])
    (tensor([[4, 5, 6],
            [7, 0, 0]]), tensor([3, 1]))
    """
    checks.not_empty("sequences", sequences, "at least one sequence")
    checks.integer("value", value)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    width = max(1, int(lengths.max()))
    rows = [[*sequence, *[value] * (width - len(sequence))] for sequence in sequences]
    return torch.tensor(rows), lengths


def tokenize(text: str) -> list[str]:
    """Split text into lower-case words, numbers and signs.

    An apostrophe ends an elided French article or pronoun (`l'`, `d'`, `qu'`) and begins the
    English `'s`, `'t` and the like, so that each stays with the word it belongs to. A combining
    mark belongs to its letter, composed where Unicode has one sign for both (form NFC), and what
    has no width (byte order mark, zero width space, soft hyphen) is left out.

    Raises:
        TypeError: `text` is not a string.

    >>> tokenize("L'oiseau n'est pas là.")
    ["l'", 'oiseau', "n'", 'est', 'pas', 'là', '.']
    >>> tokenize("The dog's well-known ball, 3.5 m")
    ['the', 'dog', "'s", 'well-known', 'ball', ',', '3.5', 'm']
    """
    if not isinstance(text, str):
        checks.fail("text", "a string", checks.described(text), TypeError)
    composed = unicodedata.normalize("NFC", text.lower()).replace("’", "'")
    return _patterns().token.findall(_WIDTHLESS.sub("", composed))


def detokenize(tokens: Sequence[str]) -> str:
    """Join tokens into text, the reverse of `tokenize` up to capitals and rare spacing.

    Raises:
        TypeError: `tokens` is not a sequence of tokens.

    >>> detokenize(["l'", "oiseau", "n'", "est", "pas", "là", "."])
    "l'oiseau n'est pas là."
    """
    check_tokens("tokens", tokens)
    text, patterns = " ".join(tokens), _patterns()
    text = patterns.elided.sub(r"\1", text)  # l' oiseau
    text = patterns.owned.sub(r"\1", text)  # dog 's
    text = patterns.owners.sub("' ", text)  # dogs ' bones
    text = re.sub(r" ([.,;:!?)%\]])", r"\1", text)
    return re.sub(r"([(\[]) ", r"\1", text)


_WIDTHLESS = re.compile("[\ufeff\u200b\u00ad]")


class _Patterns(NamedTuple):
    token: re.Pattern
    elided: re.Pattern
    owned: re.Pattern
    owners: re.Pattern


@cache
def _patterns() -> _Patterns:
    """What tells words apart; `re` has no name for the combining marks of all scripts."""
    codes = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    marks = [chr(code) for code in codes if unicodedata.category(chr(code))[0] == "M"]
    inner = f"{''.join(marks)}\u200c\u200d"  # and the joiners within Persian and Indic words
    w = rf"[\w{inner}]"
    elided = rf"(?<!{w})(?:qu|lorsqu|puisqu|jusqu|[cdjlmnst])'(?={w})"
    number = rf"\d+(?:[.,]\d+)*(?!{w})"
    return _Patterns(
        token=re.compile(rf"{elided}|'{w}+|{number}|{w}+(?:-{w}+)*|[^\w\s{inner}]"),
        elided=re.compile(rf"({w}') (?={w})"),
        owned=re.compile(rf"(?<={w}) ('{w}+)"),
        owners=re.compile(rf"(?<=s) ' (?={w})"),
    )


def check_tokens(name: str, value: object) -> None:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        checks.fail(name, "sequences of tokens", checks.described(value), TypeError)
