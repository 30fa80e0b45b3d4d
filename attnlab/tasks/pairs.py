"""Pairs of source and target with their gold alignment, and batches of them."""

from collections.abc import Iterator, Sequence, Sized
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab.tasks.choices import Choices
from attnlab.tasks.vocab import BOS, EOS, Vocab, pad, tokenize

Links = frozenset[tuple[int, int]]


class Pair(NamedTuple):
    """One example: source tokens, target tokens, and the links between them.

    A link is (index in the target, index in the source), the row and column of a weight matrix.
    Sure links are beyond doubt; possible links, which include the sure ones, are not wrong either
    (Och and Ney 2003). The end symbol has no link.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: Links = frozenset()
    possible: Links = frozenset()


class Batch(NamedTuple):
    """B examples as tensors of ids, padded with `PAD`.

    source (B, S), source_lengths (B,), target_in (B, T) begins with BOS, target_out (B, T) is the
    same one step ahead and ends with EOS, target_lengths (B,) counts EOS, and index (B,) is the
    index of each example in the list that the batch was drawn from.
    """

    source: Tensor
    source_lengths: Tensor
    target_in: Tensor
    target_out: Tensor
    target_lengths: Tensor
    index: Tensor

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on `device`; the lengths stay on the CPU, as packing needs them."""
        return self._replace(
            source=self.source.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device),
        )


def collate(pairs: Sequence[Pair], source_vocab: Vocab, target_vocab: Vocab) -> Batch:
    """Make one batch of `pairs`.

    Raises:
        TypeError: something is not a pair, or a vocabulary is not a `Vocab`.
        ValueError: there are no pairs, or a source is empty.

    >>> pair = Pair(("a", "b"), ("b", "a"))
    >>> collate([pair], Vocab("a b".split()), Vocab("a b".split())).target_in
    tensor([[1, 5, 4]])
    """
    _check_pairs_and_vocabs(pairs, source_vocab, target_vocab)
    source, source_lengths = pad([source_vocab.encode(pair.source) for pair in pairs])  # (B, S)
    targets = [target_vocab.encode(pair.target) for pair in pairs]
    target_in, target_lengths = pad([[BOS, *target] for target in targets])  # (B, T)
    target_out, _ = pad([[*target, EOS] for target in targets])  # (B, T)
    index = torch.arange(len(pairs))
    return Batch(source, source_lengths, target_in, target_out, target_lengths, index)


class Batches:
    """Examples in batches of similar length, in an order fixed by the seed and the epoch.

    Each epoch holds every example exactly once. Examples are shuffled, sorted by length (so the
    order among equals is random), cut into batches, and the batches shuffled. `epoch(n)` is the
    same every time and on every machine, so training can be interrupted and resumed.

    Args:
        pairs: the examples.
        source_vocab: vocabulary of the sources.
        target_vocab: vocabulary of the targets.
        batch_size: examples in a batch; the last one made may hold fewer.
        seed: of the order.
        shuffle: False keeps one order, from short to long, in every epoch.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: there are no pairs, a source is empty, or `batch_size` is below 1.

    >>> from attnlab import tasks
    >>> batches = Batches(tasks.reverse(100), *tasks.vocabs(tasks.reverse(100)), batch_size=32)
    >>> len(batches), next(iter(batches)).source.shape[0] <= 32
    (4, True)
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        source_vocab: Vocab,
        target_vocab: Vocab,
        *,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
    ):
        _check_pairs_and_vocabs(pairs, source_vocab, target_vocab)
        self.pairs = list(pairs)
        self.source_vocab, self.target_vocab = source_vocab, target_vocab
        self.batch_size = checks.integer("batch_size", batch_size, minimum=1)
        self.seed = checks.integer("seed", seed)
        self.shuffle = checks.flag("shuffle", shuffle)
        # In ids: of words in pieces there are more than tokens.
        self._lengths = [
            (len(source_vocab.encode(pair.source)), len(target_vocab.encode(pair.target)))
            for pair in self.pairs
        ]

    def epoch(self, number: int) -> Iterator[Batch]:
        """Yield the batches of one epoch; the first has number 0."""
        checks.integer("number", number, minimum=0)
        for indices in order(self._lengths, self.batch_size, self.seed, number, self.shuffle):
            chosen = [self.pairs[index] for index in indices]
            batch = collate(chosen, self.source_vocab, self.target_vocab)
            yield batch._replace(index=torch.tensor(indices))

    def __iter__(self) -> Iterator[Batch]:
        return self.epoch(0)

    def __len__(self) -> int:
        return -(-len(self.pairs) // self.batch_size)


def order(
    lengths: Sequence[Any], batch_size: int, seed: int, epoch: int, shuffle: bool
) -> list[list[int]]:
    """Assign indices to batches of similar lengths: shuffle, sort by length (so the order among
    equals is random), cut, and shuffle the batches.

    >>> sorted(map(sorted, order([3, 1, 3, 1, 2], 2, seed=0, epoch=0, shuffle=True)))
    [[0, 4], [1, 3], [2]]
    """
    draw = Choices(seed, epoch)
    indices = list(range(len(lengths)))
    if shuffle:
        indices = draw.shuffled(indices)
    indices.sort(key=lambda index: lengths[index])
    batches = [indices[start : start + batch_size] for start in range(0, len(indices), batch_size)]
    return draw.shuffled(batches) if shuffle else batches


def vocabs(pairs: Sequence[Pair], **limits: int) -> tuple[Vocab, Vocab]:
    """Build the source and the target vocabulary of `pairs`; `limits` go to `Vocab.build`.

    Raises:
        TypeError: something is not a pair.
        ValueError: a source is empty, or a limit is out of range.

    >>> source_vocab, target_vocab = vocabs([Pair(("a",), ("x", "y"))])
    >>> target_vocab.tokens[4:]
    ['x', 'y']
    """
    _check_pairs(pairs)
    source = Vocab.build((pair.source for pair in pairs), **limits)
    return source, Vocab.build((pair.target for pair in pairs), **limits)


def reverse_source(pairs: Sequence[Pair]) -> list[Pair]:
    """Reverse every source, and its links with it (Sutskever et al. 2014, section 3.3).

    Raises:
        TypeError: something is not a pair.
        ValueError: a source is empty.

    >>> reverse_source([Pair(("a", "b"), ("x",), frozenset({(0, 1)}), frozenset({(0, 1)}))])[0]
    Pair(source=('b', 'a'), target=('x',), sure=frozenset({(0, 0)}), possible=frozenset({(0, 0)}))
    """
    _check_pairs(pairs)

    def turned(links: Links, length: int) -> Links:
        return frozenset((row, length - 1 - column) for row, column in links)

    return [
        Pair(
            pair.source[::-1],
            pair.target,
            turned(pair.sure, len(pair.source)),
            turned(pair.possible, len(pair.source)),
        )
        for pair in pairs
    ]


def text_pairs(lines: Sequence[tuple[str, str]]) -> list[Pair]:
    """Tokenize (source, target) lines of text, such as those of `multi30k`; no gold links.

    Raises:
        TypeError: something is not a string, or `lines` not a sequence of pairs of them.

    >>> text_pairs([("Ein Hund.", "A dog.")])[0].target
    ('a', 'dog', '.')
    """
    lines = list(lines)
    for line in lines:
        if isinstance(line, str) or not isinstance(line, Sized) or len(line) != 2:
            checks.fail("lines", "pairs (source, target)", checks.described(line), TypeError)
    return [Pair(tuple(tokenize(source)), tuple(tokenize(target))) for source, target in lines]


def split(pairs: Sequence[Pair], *sizes: int, seed: int = 0) -> list[list[Pair]]:
    """Shuffle `pairs` and split them into parts of the given sizes, without overlap.

    Raises:
        ValueError: the sizes add up to more than there are pairs.

    >>> [len(part) for part in split([Pair(("a",), ("b",))] * 10, 6, 3)]
    [6, 3]
    """
    _check_pairs(pairs)
    for size in sizes:
        checks.integer("sizes", size, minimum=0)
    if sum(sizes) > len(pairs):
        checks.fail("sizes", f"at most {len(pairs)} in all (the pairs there are)", str(sum(sizes)))
    shuffled = iter(Choices(seed).shuffled(pairs))
    return [list(islice(shuffled, size)) for size in sizes]


def _check_pairs(pairs: object) -> None:
    if isinstance(pairs, Pair) or not isinstance(pairs, Sequence):
        checks.fail("pairs", "a sequence of Pair", type(pairs).__name__, TypeError)
    for pair in pairs:
        if not isinstance(pair, Pair):
            expected = "Pair objects (text_pairs makes them of lines of text)"
            checks.fail("pairs", expected, checks.described(pair), TypeError)
        if not pair.source:
            checks.fail("pairs", "sources of at least one token", "an empty source")


def _check_pairs_and_vocabs(pairs: object, source_vocab: object, target_vocab: object) -> None:
    _check_pairs(pairs)
    checks.not_empty("pairs", pairs, "at least one pair")
    checks.instance("source_vocab", source_vocab, Vocab, "a Vocab")
    checks.instance("target_vocab", target_vocab, Vocab, "a Vocab")
