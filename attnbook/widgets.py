"""Widgets for the pages that are no notebooks, as the directive `attention-widget` takes them."""

from attnbook import recorded, translators
from attnbook.drawings.lookup import PHONE_BOOK
from attnbook.figures import ch06
from attnbook.machines import (
    HideAWord,
    LiveTranslator,
    MaskPainter,
    OrderMachine,
    QueryPlane,
    Question,
)
from attnlab import Translator

SENTENCE = ["the", "black", "cat", "did", "not", "eat", "the", "apple"]
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
        SENTENCE,
        steps=STEPS,
        plays=True,
        model=Translator.load(translators.REAL_MODELS["Transformer"]),
        files="tatoeba",
        sentences=("I love you.", "She is not my sister.", "I have never seen a red car."),
        anchor="hide-a-word",
    )


def translate() -> LiveTranslator:
    """The translator of the page that translates, whose heads can be switched off.

    Example:
        >>> page = translate()
        >>> page.text = "Thank you"
        >>> page.translate().by_word()[1]
        ['merci', '.']
    """
    found = recorded.results("heads_off")
    first = found["first"]
    by_lot, chosen = (
        {
            row["left"]: [row["bleu"][name] for name in ("low", "median", "high")]  # of three
            for row in found["rows"]
            if row["order"] == order
        }
        for order in ("by lot", "missed least first")
    )
    others = " and ".join(f"{bleu:.1f}" for bleu in chosen[18] if bleu != first["bleu"]["18"])
    return translators.real_translator(
        on_demand=False,
        order_off=first["order_off"],
        worth={int(left): bleu for left, bleu in first["bleu"].items()},
        by_lot=by_lot,
        worth_of=(
            f"BLEU, {found['sentences']} test sentences, not yours",
            "1.2 is head 2 of layer 1: both counts start at 0. Bars: heads were removed three at a "
            "time, those whose loss alone hurt other sentences least. Ticks: as many heads kept, "
            "but drawn by lot, three times. In two more orders, found on yet other sentences, 18 "
            f"heads keep {others}.",
        ),
        anchor="translator",
    )


def least_missed() -> Question:
    """Before the switches: which way of looking can go."""
    return Question(
        "Which way of looking can this sentence lose with the least harm?",
        options=("English looks at English", "French looks back", "French looks at English"),
        right=1,
        because="“Tu veux” becomes “vous voulez”: both mean “you want”. The rest stays.",
        replies={
            0: "Switch it off: “I don't know” becomes “I don't want”.",
            2: "Switch it off: the French no longer has anything to do with your sentence.",
        },
        anchor="which-way",
    )


def heads_that_matter() -> Question:
    """Before the single switches: of how many does one sentence notice the loss."""
    return Question(
        "36 heads, and you switch off just one. In how many of the 36 cases does the "
        "translation of “I don't know what you want.” change?",
        options=("11, mostly between “tu” and “vous”", "25, mostly into nonsense", "all 36"),
        right=0,
        because="25 change nothing, nine write “vous voulez” for “tu veux”, and two write "
        "“j'ignore”, “I am unaware of”.",
        replies={
            1: "It is the other way round: 25 are those that change nothing.",
            2: "Try a few: most change nothing at all.",
        },
        anchor="which-heads",
    )


def without_you() -> Question:
    """Before hiding a word: what is written in its place."""
    return Question(
        "Hide “you” in “I don't know what you want.” What does it write in place of “tu veux”?",
        options=("“tu veux” all the same", "“ce veut”, “this wants”", "nothing: it stops there"),
        right=1,
        because="Who wants is gone, and the verb follows its new subject: “veux” becomes “veut”.",
        replies={
            0: "That happens to other words. Press “you” in the translator.",
            2: "It goes on to the end. Press “you” in the translator.",
        },
        anchor="without-you",
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


def look_back() -> HideAWord:
    """The same sentence, to press its words and nothing else."""
    return HideAWord(
        translators.translator("live_translator_additive"), SENTENCE, anchor="look-back"
    )


def tiles() -> OrderMachine:
    """The words of chapter 07 in the order in which they were written, without positions.

    Example:
        >>> max(tiles().compute()["moved"])
        0.0
    """
    words = ["hang", "them", "not", "let", "them", "go"]
    kept = recorded.results("orders")["kept"]
    return OrderMachine(words, kept, anchor="tiles", title="Whom does it hang? Swap the sides")


def mask() -> MaskPainter:
    """Chapter 06's model with its mask upside down, which looks wonderful."""
    return ch06.painter(
        writer="upside",
        rule="upside",
        anchor="mask",
        title="Who may look at whom?",
        caption="Press a cell, or drag across several, to open or to close it.",
    )


def hidden_and_needed() -> Question:
    """At the end: what an experiment with a hidden word has shown."""
    return Question(
        "You hide a word from a model's attention, and the answer does not change. What follows?",
        options=(
            "It does not need the word",
            "It need not look at the word; it may know it from its neighbours",
            "Its lines are wrong",
        ),
        right=1,
        because="As with “not”: hidden, “pas” stayed; left out, it went. Only what nobody has "
        "read cannot be passed on.",
        replies={
            0: "Nor did it seem to need “not”. Press it twice under Look back.",
            2: "They say where it looked, and it did. What it needs is another question.",
        },
        anchor="hidden-and-needed",
    )
