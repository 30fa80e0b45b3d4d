"""Widgets for the pages that are no notebooks, as the directive `attention-widget` takes them."""

from attnbook import translators
from attnbook.drawings.lookup import PHONE_BOOK
from attnbook.machines import HideAWord, QueryPlane
from attnlab import Translator

STEPS = (
    (
        "Hide “black”",
        1,
        False,
        "The model may no longer look at it, and “noir” goes. So far the lines told the truth.",
    ),
    (
        "Hide “not”",
        4,
        False,
        "And yet “pas” had looked at it, with a weight of 0.78. Did the model not need the word?",
    ),
    (
        "Leave “not” out",
        4,
        True,
        "It did: while “not” was only hidden, its neighbours had passed it on. No line said so.",
    ),
)
"""The experiment of the cover: its surprise is the third."""


def hide_a_word() -> HideAWord:
    """The cover's experiment, which runs by itself, and a box for the reader's own sentence.

    Example:
        >>> cover = hide_a_word()
        >>> cover.word, cover.left = STEPS[2][1:3]
        >>> " ".join(cover.compute()["target"])
        'le chat noir a mangé la pomme'
    """
    return HideAWord(
        translators.translator("live_translator_additive"),
        ["the", "black", "cat", "did", "not", "eat", "the", "apple"],
        steps=STEPS,
        plays=True,
        model=Translator.load(translators.REAL_MODELS["Transformer"]),
        files="tatoeba",
        sentences=("I love you.", "She is not my sister.", "I have never seen a red car."),
        anchor="hide-a-word",
    )


def phone_book() -> QueryPlane:
    """Chapter 02's list of three names and numbers, to ask with a query that the reader drags.

    Example:
        >>> phone_book().weights().round(2)
        array([0.64, 0.32, 0.04])
    """
    return QueryPlane(
        PHONE_BOOK.keys,
        PHONE_BOOK.values,
        query=PHONE_BOOK.query,
        names=PHONE_BOOK.names,
        title="Ask for a number: drag the query",
    )
