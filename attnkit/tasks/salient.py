"""`salient`: documents whose important sentences are known, for summarization."""

from typing import NamedTuple

from attnkit import checks
from attnkit.tasks.draw import Draw

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
    """A document as tokenized sentences, the places of the important ones, and its summary:
    those sentences in their order, without the words that say when."""

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
    sentence can be judged alone: whom the document is about shows only in the others. Places are
    drawn evenly, so that the first sentences are no better than the rest.

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
    draw = Draw(seed)
    return [
        _document(draw, draw.between(min_sentences, max_sentences), chosen) for _ in range(count)
    ]


def _document(draw: Draw, length: int, chosen: int) -> Document:
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
    places = tuple(place for place, (_, matters) in enumerate(tagged) if matters)
    sentences = tuple(tuple(" ".join(part).split()) for part, _ in tagged)
    summary = tuple(tuple(" ".join(tagged[place][0][:2]).split()) for place in places)
    return Document(sentences, places, summary)


def _filler(draw: Draw, strangers: list[str]) -> tuple[str, ...]:
    kind = draw.choice(("event", "habit", "background")) if strangers else "background"
    if kind == "background":
        return (draw.choice(BACKGROUND),)
    doing = EVENTS if kind == "event" else ROUTINES
    return (strangers.pop(), draw.choice(doing), draw.choice(WHEN))  # each stranger once
