"""`salient`: documents whose important sentences are known, for summarization."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnkit.guard import checks
from attnlab.tasks.choices import Choices
from attnlab.tasks.pairs import order
from attnlab.tasks.vocab import PAD, Vocab

NAMES = (
    "alice", "bruno", "clara", "david", "elena", "felix", "grace", "hugo",
    "irene", "jonas", "karin", "louis", "maria", "nils", "olga", "pablo",
)  # fmt: skip
ROLES = ("the mayor", "the doctor", "the painter", "the farmer", "the judge", "the pilot")
EVENTS = (
    "won the election", "lost the court case", "opened a new hospital", "sold the old mill",
    "discovered a rare bird", "rescued two climbers", "closed the harbour", "broke the record",
    "signed the treaty", "found the missing painting",
)  # fmt: skip
ROUTINES = (
    "likes strong coffee", "walks to the office", "has two brothers", "reads the paper",
    "wears a grey coat", "owns a small boat", "plays the violin", "sleeps until nine",
    "keeps bees", "waters the garden",
)  # fmt: skip
WHEN = ("on monday", "on tuesday", "last night", "this morning", "after lunch", "in the spring")
BACKGROUND = (
    "the weather was mild for the season", "traffic was light on the bridge",
    "the museum stays open until six", "prices have hardly changed this year",
    "many visitors came from the coast", "the river is low at this time of year",
)  # fmt: skip


class Document(NamedTuple):
    """`sentences`: tokenized; `salient`: indices of the important ones, in order; `summary`: those
    sentences without the words that say when."""

    sentences: tuple[tuple[str, ...], ...]
    salient: tuple[int, ...]
    summary: tuple[tuple[str, ...], ...]


def salient(
    count: int, *, min_sentences: int = 10, max_sentences: int = 16, chosen: int = 3, seed: int = 0
) -> list[Document]:
    """Make documents in which exactly `chosen` sentences matter.

    A document is about the one person it names more than once. A sentence matters when it
    reports an event in that person's life. Every other sentence fails on one count: it tells of
    the person's habits, of an event in somebody else's life, or of neither. At least as many
    events are other people's, each of another one, and as many sentences are habits. So no
    sentence can be judged alone: whom the document is about shows only in the others. Their
    positions are uniform, so the first sentences are no better than the rest.

    Args:
        count: number of documents.
        min_sentences: in the shortest document, at least `3 * chosen`: so many events, as many of
            other people, and as many habits.
        max_sentences: in the longest document.
        chosen: number of important sentences, 1 to 5.
        seed: one seed gives the same documents on every machine.

    Raises:
        TypeError: an argument is not an int.
        ValueError: a number is out of range.

    >>> document = salient(1, min_sentences=6, max_sentences=6, chosen=2)[0]
    >>> [" ".join(sentence) for sentence in document.summary]
    ['maria lost the court case', 'maria broke the record']
    """
    checks.integer("count", count, minimum=0)
    checks.integer("chosen", chosen, minimum=1, maximum=5)
    checks.integer("min_sentences", min_sentences, minimum=3 * chosen)
    checks.integer("max_sentences", max_sentences, minimum=min_sentences)
    draw = Choices(seed)
    return [
        _document(draw, draw.between(min_sentences, max_sentences), chosen) for _ in range(count)
    ]


def _document(draw: Choices, length: int, chosen: int) -> Document:
    subject, *others = draw.shuffled(NAMES)
    events = draw.shuffled(EVENTS)
    important = [(subject, event, draw.choice(WHEN)) for event in events[:chosen]]
    rest = [
        (other, event, draw.choice(WHEN))
        for other, event in zip(others, draw.shuffled(EVENTS)[:chosen], strict=False)
    ]
    habits = draw.shuffled(ROUTINES)
    rest += [(subject, habit, draw.choice(WHEN)) for habit in habits[:chosen]]
    strangers = draw.shuffled([*others[chosen:], *ROLES])
    while len(important) + len(rest) < length:
        rest.append(_filler(draw, strangers))
    tagged = draw.shuffled([(part, True) for part in important] + [(part, False) for part in rest])
    chosen = tuple(index for index, (_, matters) in enumerate(tagged) if matters)
    sentences = tuple(tuple(" ".join(part).split()) for part, _ in tagged)
    summary = tuple(tuple(" ".join(tagged[index][0][:2]).split()) for index in chosen)
    return Document(sentences, chosen, summary)


def _filler(draw: Choices, strangers: list[str]) -> tuple[str, ...]:
    kind = draw.choice(("event", "habit", "background")) if strangers else "background"
    if kind == "background":
        return (draw.choice(BACKGROUND),)
    doing = EVENTS if kind == "event" else ROUTINES
    return (strangers.pop(), draw.choice(doing), draw.choice(WHEN))  # each stranger once


class DocumentBatch(NamedTuple):
    """B documents of at most N sentences of at most W tokens: `sentences` (B, N, W) ids, `PAD`
    where there is nothing, `salient` (B, N) True for important sentences, `index` (B,) as in
    `Batch`."""

    sentences: Tensor
    salient: Tensor
    index: Tensor

    def to(self, device: torch.device | str) -> "DocumentBatch":
        """Return the batch on `device`; the index stays where it is."""
        return self._replace(sentences=self.sentences.to(device), salient=self.salient.to(device))


class DocumentBatches:
    """Documents in batches of similar length; order and arguments are those of `Batches`.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: there are no documents, or `batch_size` is below 1.

    >>> documents = salient(10)
    >>> vocab = Vocab.build(sentence for item in documents for sentence in item.sentences)
    >>> [len(batch.index) for batch in DocumentBatches(documents, vocab, batch_size=5)]
    [5, 5]
    """

    def __init__(
        self,
        documents: Sequence[Document],
        vocab: Vocab,
        *,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
    ):
        for document in documents:
            checks.instance("documents", document, Document, "Document objects")
        checks.not_empty("documents", documents, "at least one document")
        self.documents = list(documents)
        self.vocab = checks.instance("vocab", vocab, Vocab, "a Vocab")
        self.batch_size = checks.integer("batch_size", batch_size, minimum=1)
        self.seed = checks.integer("seed", seed)
        self.shuffle = checks.flag("shuffle", shuffle)
        self._lengths = [len(document.sentences) for document in self.documents]

    def epoch(self, number: int) -> Iterator[DocumentBatch]:
        """Yield the batches of one epoch; the first has number 0."""
        checks.integer("number", number, minimum=0)
        for indices in order(self._lengths, self.batch_size, self.seed, number, self.shuffle):
            documents = [self.documents[index] for index in indices]
            sentences = stack_sentences([item.sentences for item in documents], self.vocab)
            important = torch.zeros(sentences.shape[:2], dtype=torch.bool)  # (B, N)
            for row, document in enumerate(documents):
                important[row, list(document.salient)] = True
            yield DocumentBatch(sentences, important, torch.tensor(indices))

    def __iter__(self) -> Iterator[DocumentBatch]:
        return self.epoch(0)

    def __len__(self) -> int:
        return -(-len(self.documents) // self.batch_size)


def stack_sentences(documents: Sequence[Sequence[Sequence[str]]], vocab: Vocab) -> Tensor:
    """Stack tokenized documents into ids (B, N, W), `PAD` where there is no token.

    Raises:
        ValueError: there are no documents, or one has no sentences.

    >>> stack_sentences([[["a"], ["a", "b"]]], Vocab(["a", "b"]))
    tensor([[[4, 0],
             [4, 5]]])
    """
    if not len(documents) or not all(len(sentences) for sentences in documents):
        checks.fail("documents", "documents of at least one sentence", "none")
    most = max(len(sentences) for sentences in documents)
    longest = max(len(sentence) for sentences in documents for sentence in sentences)
    ids = torch.full((len(documents), most, max(1, longest)), PAD)  # (B, N, W)
    for row, sentences in enumerate(documents):
        for index, sentence in enumerate(sentences):
            ids[row, index, : len(sentence)] = torch.tensor(vocab.encode(sentence))
    return ids
