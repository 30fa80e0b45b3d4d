"""The rules of `toy_french`: phrases built in both languages at once, so that links are known.

A rule names its English words and states, for each French word, which of them it translates.
`settle` then applies the French rules for adjacent words: elision (le + oiseau -> l'oiseau) and
contraction (de + le -> du). A contracted word keeps the links of both its parts.
"""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from attnlab.tasks import french_lexicon as lexicon
from attnlab.tasks.french_lexicon import Adjective, Noun, Pronoun, Verb


class Word(NamedTuple):
    """A French word and the positions of the English words it translates, surely or possibly."""

    text: str
    sure: frozenset[int]
    possible: frozenset[int]


class Phrase(NamedTuple):
    """An English phrase with its French, and what a verb or participle must agree with:
    `person` is an index into the conjugations (il 2, ils 4), then gender and number."""

    english: tuple[str, ...]
    french: tuple[Word, ...]
    person: int = 2
    gender: str = "m"
    plural: bool = False


def phrase(english: dict[str, str | None], french: Iterable[tuple[str, str, str]]) -> Phrase:
    """Link words by name: `english` maps a name to each word, and `french` gives each word with
    the names it translates, surely or possibly. Names that are not in `english`, or there without
    a word, are ignored."""
    english = {name: word for name, word in english.items() if word}
    places = {name: place for place, name in enumerate(english)}

    words = []
    for text, sure, maybe in french:
        if sure in places:  # one word, as most are
            surely = _one(places[sure])
        else:
            surely = frozenset([places[name] for name in sure.split() if name in places])
        possibly = surely
        if maybe:
            possibly = surely.union([places[name] for name in maybe.split() if name in places])
        words.append(Word(text, surely, possibly))
    return Phrase(tuple(english.values()), tuple(words))


def join(*parts: Phrase) -> Phrase:
    """Concatenate phrases, in the same order in both languages."""
    english: tuple[str, ...] = ()
    french: tuple[Word, ...] = ()
    for part in parts:
        french += _moved(part.french, len(english))
        english += part.english
    return Phrase(english, french)


def starts_with_vowel(word: str) -> bool:
    """Return whether a French word makes the word before it elide.

    >>> [starts_with_vowel(word) for word in ("œuf", "homme", "hibou", "chat")]
    [True, True, False, False]
    """
    return word[0] in "aeiouyàâéèêîôœû" or word in lexicon.MUTE_H


def settle(words: Iterable[Word]) -> list[Word]:
    """Elide and contract a sentence: je + aime -> j' aime, de + le + chat -> du chat.

    >>> words = "à le ami de le roi".split()
    >>> [word.text for word in settle(Word(word, frozenset(), frozenset()) for word in words)]
    ['à', "l'", 'ami', 'du', 'roi']
    """
    settled: list[Word] = []
    for word in words:
        if settled:
            before = settled[-1]
            if before.text in _ELIDES and starts_with_vowel(word.text):
                settled[-1] = before._replace(text=before.text[:-1] + "'")
            if len(settled) > 1 and (settled[-2].text, settled[-1].text) in _CONTRACTS:
                article, preposition = settled.pop(), settled.pop()
                settled.append(_contracted(preposition, article))
        settled.append(word)
    return settled


def determiner(name: str, noun: Noun, plural: bool, next_word: str) -> str:
    """Return the French determiner that agrees with `noun` and fits before `next_word`.

    >>> school = next(noun for noun in lexicon.NOUNS if noun.english == "school")
    >>> determiner("my", school, False, "école"), determiner("my", school, False, "vieille")
    ('mon', 'ma')
    """
    forms = lexicon.DETERMINERS[name]
    form = forms[2] if plural else forms[noun.gender == "f"]
    if starts_with_vowel(next_word):
        form = {"ma": "mon", "ce": "cet"}.get(form, form)
    return form


def adjective(adjective: Adjective, gender: str, plural: bool, next_word: str = "") -> str:
    """Return the form of a French adjective; `next_word` is the noun when it stands before it.

    >>> old = next(item for item in lexicon.ADJECTIVES if item.english == "old")
    >>> [adjective(old, "m", False, noun) for noun in ("ami", "hibou")], adjective(old, "f", True)
    (['vieil', 'vieux'], 'vieilles')
    """
    if next_word and gender == "m" and not plural and starts_with_vowel(next_word):
        return adjective.french[4]
    return adjective.french[(gender == "f") + 2 * plural]


def noun_phrase(
    article: str,
    noun: Noun,
    plural: bool = False,
    adjectives: tuple[Adjective, ...] = (),
    *,
    negated: bool = False,
    owner: Phrase | None = None,
) -> Phrase:
    """Build "the small black cat" -> "le petit chat noir".

    Args:
        article: the English determiner, a key of `DETERMINERS`.
        noun: the noun.
        plural: its number.
        adjectives: at most one that stands before and one that follows the French noun.
        negated: the phrase is the object of a negated verb, where un, une and des turn into de.
        owner: "the boy" in "the boy's cat" -> "le chat du garçon"; takes the article's place.
    """
    before = [(f"adjective{n}", item) for n, item in enumerate(adjectives) if item.before]
    after = [(f"adjective{n}", item) for n, item in enumerate(adjectives) if not item.before]
    french_noun = noun.french_plural if plural else noun.french
    core = [
        (adjective(item, noun.gender, plural, french_noun), label, "") for label, item in before
    ]
    core.append((french_noun, "noun", ""))
    core += [(adjective(item, noun.gender, plural), label, "") for label, item in after]

    words = {f"adjective{n}": item.english for n, item in enumerate(adjectives)}
    words["noun"] = noun.english_plural if plural else noun.english
    features = (4 if plural else 2, noun.gender, plural)
    if owner is not None:
        article_form = determiner("the", noun, plural, core[0][0])
        owned = phrase(
            {"'s": _possessive(owner)} | words, [(article_form, "", "'s"), *core, ("de", "'s", "")]
        )
        # English puts the owner first, French last.
        french = _moved(owned.french, len(owner.english)) + owner.french
        return Phrase(owner.english + owned.english, french, *features)
    form = determiner(article, noun, plural, core[0][0])
    if (negated and article in ("a", "some")) or (form == "des" and before):
        form = "de"
    built = phrase({"det": _english_article(article, words, negated)} | words,
                   [(form, "det", ""), *core])  # fmt: skip
    return Phrase(built.english, built.french, *features)


def predicate(
    subject: Phrase, adjective_: Adjective, *, past: bool, modifier: str = "", degree: str = ""
) -> Phrase:
    """Build "is not very old" -> "n'est pas très vieux"; `modifier` is not, never or an adverb."""
    be = ("was", "were", "was", "were", "were") if past else ("am", "are", "is", "are", "are")
    etre = lexicon.ETRE_PAST if past else lexicon.ETRE
    words = {"be": be[subject.person], "mod": modifier, "degree": degree,
             "adjective": adjective_.english}  # fmt: skip
    form = adjective(adjective_, subject.gender, subject.plural)
    ne, second = around(modifier)
    french = [*ne, (etre[subject.person], "be", ""), *second]
    if degree:
        french.append((lexicon.DEGREES[degree], "degree", ""))
    french.append((form, "adjective", ""))
    return phrase(words, french)


def verb_group(
    subject: Phrase,
    verb: Verb,
    *,
    past: bool,
    modifier: str = "",
    pronoun: Pronoun | None = None,
) -> Phrase:
    """Build the verb with its negation or adverb and an object pronoun.

    "did not see her" -> "ne l'a pas vue". The present renders one English word by one French
    word, the past by auxiliary and participle. The participle agrees with the subject when the
    auxiliary is être, and with an object pronoun, which stands before it, when it is avoir.
    """
    person = subject.person
    if modifier == "not":
        words = {"do": "did" if past else "does" if person == 2 else "do", "mod": "not"}
        words["verb"] = verb.english
    else:
        present = verb.english_third if person == 2 else verb.english
        words = {"mod": modifier, "verb": verb.english_past if past else present}
    words["particle"] = verb.particle if verb.to is None else None
    words["pronoun"] = pronoun.english if pronoun else None

    ne, second = around(modifier)
    french = [*ne, *([(pronoun.french, "pronoun", "")] if pronoun else [])]
    if past:
        auxiliary = (lexicon.ETRE if verb.etre else lexicon.AVOIR)[person]
        french += [(auxiliary, "do" if "do" in words else "verb", "verb"), *second]
        french.append((_participle(verb, subject, pronoun), "verb", "particle"))
    else:
        french += [(verb.french[person], "verb", "do particle"), *second]
    return phrase(words, french)


def prepositional(english: tuple[str, ...], french: tuple[str, ...], main: int, noun: Phrase):
    """Build "near the house" -> "près de la maison"; English word number `main` is sure."""
    labels = [str(place) for place in range(len(english))]
    linked = [(word, str(main) if word != "de" else "", " ".join(labels)) for word in french]
    return join(phrase(dict(zip(labels, english, strict=True)), linked), noun)


def around(modifier: str) -> tuple[list, list]:
    """Return the words before and after the conjugated verb."""
    if modifier in ("not", "never"):
        second = "pas" if modifier == "not" else "jamais"
        return [("ne", "mod", "do")], [(second, "mod", "")]
    return [], [(lexicon.ADVERBS[modifier], "mod", "")] if modifier else []


def _participle(verb: Verb, subject: Phrase, pronoun: Pronoun | None) -> str:
    agrees_with = subject if verb.etre else pronoun
    if agrees_with is None:
        return verb.participle
    return verb.participle + "e" * (agrees_with.gender == "f") + "s" * agrees_with.plural


def _possessive(owner: Phrase) -> str:
    return "'" if owner.plural and owner.english[-1].endswith("s") else "'s"


def _english_article(article: str, words: dict[str, str], negated: bool) -> str:
    if article == "a":
        return "an" if next(iter(words.values()))[0] in "aeiou" else "a"
    return "any" if article == "some" and negated else article


def _moved(words: Iterable[Word], shift: int) -> tuple[Word, ...]:
    """The words when `shift` more English words stand before those that they translate."""

    if not shift:
        return tuple(words)
    return tuple([Word(text, _shifted(sure, shift), _shifted(possible, shift))
                  for text, sure, possible in words])  # fmt: skip


# There are few sets of links, and a corpus asks for the same ones a million times.
@cache
def _shifted(links: frozenset[int], shift: int) -> frozenset[int]:
    return frozenset(place + shift for place in links)


@cache
def _one(place: int) -> frozenset[int]:
    return frozenset((place,))


def _contracted(preposition: Word, article: Word) -> Word:
    return Word(
        _CONTRACTS[preposition.text, article.text],
        preposition.sure | article.sure,
        preposition.possible | article.possible,
    )


_ELIDES = {"le", "la", "de", "ne", "je", "que"}
_CONTRACTS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
