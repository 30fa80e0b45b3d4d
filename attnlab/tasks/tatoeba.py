"""`tatoeba`: everyday sentences in English and French, shipped with the package.

The pairs come from volunteers of the Tatoeba project (https://tatoeba.org), in the selection that
https://www.manythings.org/anki publishes for learners, under the licence CC BY 2.0 FR
(https://creativecommons.org/licenses/by/2.0/fr/). They were sorted, and split by English sentence.
"""

import gzip
from collections.abc import Sequence
from importlib.resources import files

from attnkit.guard import checks
from attnlab.tasks.pairs import Pair
from attnlab.tasks.vocab import tokenize

SPLITS = {"train": "train", "valid": "val", "test": "test"}
LANGUAGES = ("en", "fr")
_FOLDER = files("attnlab.tasks") / "data" / "tatoeba"


def tatoeba(split: str, source: str = "en", target: str = "fr") -> list[tuple[str, str]]:
    """Return the sentences of one split in two languages, as (source, target) lines of text.

    71,295 pairs for training, 1,504 for validation and 1,549 for test, sorted, of mostly four to
    ten words. An English sentence stands in one split only (capitals and punctuation apart), once
    for each of its translations, so score with several: `references`. Some are wrong.

    Sentence pairs from Tatoeba (tatoeba.org) by way of manythings.org/anki, CC BY 2.0 FR. They
    come with this package, which needs no network for them.

    Args:
        split: "train", "valid" or "test".
        source: "en" or "fr".
        target: the other one.

    Raises:
        ValueError: a split or language is unknown, or the languages are the same.

    >>> tatoeba("valid")[13]
    ('Are they all strong?', 'Sont-elles toutes fortes ?')
    """
    checks.choice("split", split, tuple(SPLITS))
    checks.choice("source", source, LANGUAGES)
    checks.choice("target", target, tuple(name for name in LANGUAGES if name != source))
    packed = _FOLDER / f"{SPLITS[split]}.en-fr.tsv.gz"
    lines = gzip.decompress(packed.read_bytes()).decode("utf-8").splitlines()
    pairs = [tuple(line.split("\t")) for line in lines]
    return pairs if source == "en" else [pair[::-1] for pair in pairs]


def references(lines: Sequence[tuple[str, str]]) -> tuple[list[str], list[list[str]]]:
    """Gather the translations of each source sentence, for a score with several references.

    Sources count as the same when `tokenize` makes the same words of them, capitals apart.

    Args:
        lines: (source, target) lines of text.

    Returns:
        The sources, each once, in the order of their first lines; and the targets of each.

    Raises:
        TypeError: something is not a string.

    >>> references([("Go!", "Va !"), ("Hi.", "Salut."), ("go!", "Bouge !")])
    (['Go!', 'Hi.'], [['Va !', 'Bouge !'], ['Salut.']])
    """
    sources: dict[tuple[str, ...], str] = {}
    targets: dict[tuple[str, ...], list[str]] = {}
    for source, target in lines:
        words = tuple(tokenize(source))
        sources.setdefault(words, source)
        targets.setdefault(words, []).append(target)
    return list(sources.values()), list(targets.values())


def tatoeba_aligned() -> list[Pair]:
    """Return 36 English-French test pairs whose words were linked by hand.

    The pairs were not chosen by eye: of the test's English sentences of 5 to 10 words, punctuation
    included, the middle one of each of 36 equal parts, with its first translation. One person
    linked them. A link is sure where one word stands for the other: both parts of "ne ... pas" for
    "not", both verbs of "ai fait" for "'ve done". It is only possible where a word has no
    counterpart of its own, as within a paraphrase (Och and Ney 2003). Every French word has a
    link.

    The sentences come from Tatoeba, as those of `tatoeba`, under the same licence; so do the
    links.

    Example:
        >>> pair = tatoeba_aligned()[5]
        >>> " ".join(pair.source), " ".join(pair.target)
        ('he is a jealous man .', "c' est un homme jaloux .")
        >>> sorted(pair.sure)
        [(0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 5)]
    """
    lines = (_FOLDER / "aligned.en-fr.tsv").read_text(encoding="utf-8").splitlines()
    return [_aligned(*line.split("\t")) for line in lines]


def _aligned(source: str, target: str, links: str) -> Pair:
    sure, possible = set(), set()
    for link in links.split():
        mark = "-" if "-" in link else "?"
        row, column = map(int, link.split(mark))
        possible.add((row, column))
        if mark == "-":
            sure.add((row, column))
    words = tuple(tokenize(source)), tuple(tokenize(target))
    return Pair(*words, frozenset(sure), frozenset(possible))
