"""`toy_french`: English to French over about 200 words, every pair with its gold alignment."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from attnkit.guard import checks
from attnlab.tasks import french_grammar as grammar
from attnlab.tasks import french_lexicon as lexicon
from attnlab.tasks.choices import Choices, all_choices
from attnlab.tasks.french_grammar import Phrase
from attnlab.tasks.french_lexicon import Adjective, Noun
from attnlab.tasks.pairs import Pair

Choose = Callable[[Sequence[Any]], Any]

_BY_KIND = {kind: [noun for noun in lexicon.NOUNS if noun.kind == kind] for kind in lexicon.SUITS}
_LIVING = _BY_KIND["person"] + _BY_KIND["animal"]
_THINGS = [noun for noun in lexicon.NOUNS if noun not in _LIVING]
_SINGULAR = ("the", "a", "my", "our", "this")
_PLURAL = ("the", "some", "two", "three", "my", "our", "these")


def toy_french(count: int, *, min_words: int = 2, max_words: int = 12, seed: int = 0) -> list[Pair]:
    """Make distinct English sentences with their French and gold links, a few noun phrases too.

    The grammar was written so that alignments cross: adjectives of colour and the like move
    behind the noun, object pronouns before the verb, an owner behind what is owned; negation
    wraps the verb in two words; prepositions contract with the article. French agrees in gender
    and number as it should. "the black cat" -> "le chat noir" is always the first pair, when the
    lengths allow it: drop it with `[1:]`.

    A link is sure when one word renders the other. Possible besides: the auxiliary "do" with the
    verb and with ne, the article that the possessive implies, the small words of "look at" or
    "in front of", and the two halves of "there is". Every French word has a possible link.

    Args:
        count: number of pairs, all different.
        min_words: of the shortest English sentence, 2 at least.
        max_words: of the longest English sentence.
        seed: one seed gives the same pairs on every machine. Other counts begin the same way.

    Raises:
        TypeError: an argument is not an int.
        ValueError: a number is out of range, or there are not so many sentences of these lengths.

    >>> for pair in toy_french(3, max_words=7):
    ...     print(" ".join(pair.source), "->", " ".join(pair.target))
    the black cat -> le chat noir
    i always go to my market -> je vais toujours à mon marché
    a strange girl slept in the hotel -> une fille étrange a dormi dans l' hôtel
    """
    checks.integer("count", count, minimum=0)
    checks.integer("min_words", min_words, minimum=2)
    checks.integer("max_words", max_words, minimum=min_words)
    draw, pairs, misses = Choices(seed), {}, 0
    if min_words <= len(THE_BLACK_CAT.source) <= max_words and count:
        pairs[THE_BLACK_CAT.source] = THE_BLACK_CAT
    while len(pairs) < count:
        built = sentence(draw.choice)
        if min_words <= len(built.english) <= max_words and built.english not in pairs:
            pairs[built.english], misses = as_pair(built), 0
        elif (misses := misses + 1) > _patience(count - len(pairs)):
            checks.fail("count", f"at most about {len(pairs)} for these lengths", str(count))
    return list(pairs.values())


def _patience(missing: int) -> int:
    """How many draws in a row may bring nothing new: fewer, the more sentences are missing."""
    return min(100_000, max(2_000, 5_000_000 // missing))


def noun_phrases() -> Iterator[Pair]:
    """Yield every noun phrase with an article and at most two adjectives, "the black cat" among
    them, each once.

    >>> next(noun_phrases()).target
    ('le', 'garçon')
    """
    seen = set()
    for built in all_choices(lambda choose: noun_phrase(choose, lexicon.NOUNS)):
        pair = as_pair(built)
        if pair.source not in seen:
            seen.add(pair.source)
            yield pair


def as_pair(built: Phrase) -> Pair:
    """Elide and contract the French of a phrase and turn its links into a `Pair`."""
    words = grammar.settle(built.french)
    sure = {(row, place) for row, word in enumerate(words) for place in word.sure}
    possible = {(row, place) for row, word in enumerate(words) for place in word.possible}
    target = tuple(word.text for word in words)
    return Pair(built.english, target, frozenset(sure), frozenset(sure | possible))


def sentence(choose: Choose) -> Phrase:
    """Build one sentence or noun phrase; `choose(options)` makes every decision."""
    kind = choose(("phrase", "clause", "clause", "clause", "clause", "clause", "compound"))
    if kind == "phrase":
        return noun_phrase(choose, lexicon.NOUNS)
    if kind == "clause":
        return clause(choose)
    english, french = choose(lexicon.CONJUNCTIONS)
    links = {word: word for word in english}
    conjunction = grammar.phrase(links, [(word, english[0], "") for word in french])
    return grammar.join(clause(choose), conjunction, clause(choose))


def clause(choose: Choose) -> Phrase:
    """Build a clause with a verb."""
    kind = choose(
        ("predicate", "predicate", "object", "object", "object", "object", "giving", "place",
         "place", "motion", "there")
    )  # fmt: skip
    if kind == "there":
        return _there(choose)
    past, modifier = choose((False, True)), choose(("", "", "", "not", "not", "never", "often",
                                                    "always"))  # fmt: skip
    if kind == "predicate":
        return _predicate(choose, past, modifier)
    subject = _subject(choose)
    if kind == "object":
        rest = _object(choose, subject, past, modifier)
    elif kind == "giving":
        rest = _giving(choose, subject, past, modifier)
    elif kind == "place":
        verb = choose(lexicon.INTRANSITIVE)
        group = grammar.verb_group(subject, verb, past=past, modifier=modifier)
        rest = grammar.join(group, _place(choose)) if choose((False, True)) else group
    else:
        rest = _motion(choose, subject, past, modifier)
    return grammar.join(subject, rest)


def noun_phrase(
    choose: Choose,
    nouns: Sequence[Noun],
    *,
    articles: Sequence[str] = tuple(lexicon.DETERMINERS),
    negated: bool = False,
) -> Phrase:
    """Build an article, at most two adjectives and one of `nouns`."""
    noun, plural = choose(nouns), choose((False, True))
    article = choose([name for name in (_PLURAL if plural else _SINGULAR) if name in articles])
    return grammar.noun_phrase(article, noun, plural, _adjectives(choose, noun), negated=negated)


@cache
def _suiting(kind: str) -> tuple[list[Adjective], list[Adjective]]:
    """The adjectives for nouns of a kind, and the colours among them."""
    suiting = [item for item in lexicon.ADJECTIVES if item.english in lexicon.SUITS[kind]]
    colours = [item for item in lexicon.ADJECTIVES if item.colour and kind != "person"]
    return suiting, colours


def _adjectives(choose: Choose, noun: Noun) -> tuple:
    suiting, colours = _suiting(noun.kind)
    kind = choose(("none", "none", "one", "colour", "two") if colours else ("none", "one"))
    if kind == "none":
        return ()
    if kind == "one":
        return (choose(suiting),)
    if kind == "colour":
        return (choose(colours),)
    return choose([item for item in suiting if item.before]), choose(colours)


def _owned(choose: Choose, nouns: Sequence[Noun]) -> Phrase:
    owner = noun_phrase(choose, _BY_KIND["person"], articles=("the", "a", "my", "our", "this"))
    noun, plural = choose(nouns), choose((False, True))
    return grammar.noun_phrase("the", noun, plural, _adjectives(choose, noun), owner=owner)


def _subject(choose: Choose) -> Phrase:
    kind = choose(("pronoun", "noun", "noun", "noun", "owned", "pair"))
    if kind == "pronoun":
        pronoun = choose(lexicon.SUBJECTS)
        built = grammar.phrase({"pronoun": pronoun.english}, [(pronoun.french, "pronoun", "")])
        return Phrase(built.english, built.french, pronoun.person, pronoun.gender, pronoun.plural)
    if kind == "owned":
        return _owned(choose, _BY_KIND["animal"])
    if kind == "noun":
        return noun_phrase(choose, _LIVING)
    first, second = noun_phrase(choose, _LIVING), noun_phrase(choose, _LIVING)
    both = grammar.join(first, grammar.phrase({"and": "and"}, [("et", "and", "")]), second)
    feminine = first.gender == second.gender == "f"
    return Phrase(both.english, both.french, 4, "f" if feminine else "m", True)


def _object(choose: Choose, subject: Phrase, past: bool, modifier: str) -> Phrase:
    verb = choose(lexicon.TRANSITIVE)
    kind = choose(("noun", "noun", "noun", "owned", "pronoun"))
    if kind == "pronoun":
        who = lexicon.OBJECTS if "person" in verb.takes else lexicon.OBJECTS[-1:]
        pronoun = choose(who)
        return grammar.verb_group(subject, verb, past=past, modifier=modifier, pronoun=pronoun)
    nouns = [noun for noun in lexicon.NOUNS if noun.kind in verb.takes]
    negated = modifier in ("not", "never")
    thing = (
        _owned(choose, nouns) if kind == "owned" else noun_phrase(choose, nouns, negated=negated)
    )
    group = grammar.verb_group(subject, verb, past=past, modifier=modifier)
    place = [_place(choose)] if choose((False, False, True)) else []
    return grammar.join(group, thing, *place)


def _giving(choose: Choose, subject: Phrase, past: bool, modifier: str) -> Phrase:
    verb = choose(lexicon.GIVING)
    nouns = [noun for noun in lexicon.NOUNS if noun.kind in verb.takes]
    group = grammar.verb_group(subject, verb, past=past, modifier=modifier)
    thing = noun_phrase(choose, nouns, negated=modifier in ("not", "never"))
    to = grammar.phrase({"to": "to"}, [("à", "to", "")])
    return grammar.join(group, thing, to, noun_phrase(choose, _LIVING))


def _motion(choose: Choose, subject: Phrase, past: bool, modifier: str) -> Phrase:
    verb = choose(lexicon.MOTION)
    group = grammar.verb_group(subject, verb, past=past, modifier=modifier)
    preposition = grammar.phrase({"to": verb.particle}, [(verb.to, "to", "")])
    return grammar.join(group, preposition, _goal(choose))


def _place(choose: Choose) -> Phrase:
    english, french, main = choose(lexicon.PREPOSITIONS)
    return grammar.prepositional(english, french, main, _goal(choose))


def _goal(choose: Choose) -> Phrase:
    # "some" is omitted: de + des would vanish into de ("il vient de villages").
    articles = [name for name in lexicon.DETERMINERS if name != "some"]
    return noun_phrase(choose, _BY_KIND["place"], articles=articles)


def _predicate(choose: Choose, past: bool, modifier: str) -> Phrase:
    kind = choose(("living", "living", "thing"))
    if kind == "living":
        subject, suits = _subject(choose), lexicon.SUITS["person"]
    else:
        noun = choose(_THINGS)
        subject = noun_phrase(choose, [noun], articles=("the", "my", "our", "this", "these"))
        suits = lexicon.SUITS[noun.kind]
    adjective = choose([item for item in lexicon.ADJECTIVES if item.english in suits])
    degree = choose(("", "", "very", "too"))
    rest = grammar.predicate(subject, adjective, past=past, modifier=modifier, degree=degree)
    return grammar.join(subject, rest)


def _there(choose: Choose) -> Phrase:
    """There is a cat -> il y a un chat; there is not a cat -> il n'y a pas de chat."""
    negated = choose((False, False, True))
    articles = ("a", "some", "two", "three")
    thing = noun_phrase(choose, lexicon.NOUNS, articles=articles, negated=negated)
    modifier = "not" if negated else ""
    words = {"there": "there", "be": "are" if thing.plural else "is", "mod": modifier}
    ne, pas = grammar.around(modifier)
    french = [("il", "there", "be"), *ne, ("y", "there", "be"), ("a", "be", "there"), *pas]
    return grammar.join(grammar.phrase(words, french), thing, _place(choose))


THE_BLACK_CAT = as_pair(
    grammar.noun_phrase(
        "the",
        next(noun for noun in lexicon.NOUNS if noun.english == "cat"),
        adjectives=(next(item for item in lexicon.ADJECTIVES if item.english == "black"),),
    )
)
