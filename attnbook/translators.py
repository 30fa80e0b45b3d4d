"""The translators that the book's pages show, as `LiveTranslator` and the build take them."""

from typing import Any

from attnbook import recorded
from attnbook.machines import LiveTranslator, ThreeColumns
from attnbook.machines.live_translator import file_names
from attnlab import Translator, tasks

MODELS = {"GRU with additive attention": "additive", "Transformer": "transformer"}
SENTENCES = (
    "the black cat did not sleep",
    "our girl's cat was old",
    "my friend often eats a red apple",
)
REAL_MODELS = {
    "Transformer": "tatoeba-en-fr",
    "Bahdanau's GRU": "tatoeba-en-fr-additive",
}
RIGHT_SENTENCES = (
    "I don't know what you want.",
    "She has never read this book.",
    "You are right.",
    "He is a jealous man.",
    "He can't swim.",
)
"""What both models translate well."""
WRONG_SENTENCES = (
    "Where is the nearest train station?",
    "We are going to the beach tomorrow with our friends.",
)
"""What neither does."""
REAL_SENTENCES = RIGHT_SENTENCES + WRONG_SENTENCES
REAL_CAPTION = (
    "Both models get the first five sentences right, and of these they learned from the fifth "
    "alone; both get the last two wrong. They learned from short sentences, one at a time: 99 in "
    "100 have at most 11 pieces of words."
)


def toy_french() -> dict[str, Translator]:
    """English to toy French, by both models that `experiments.live_translator` trained.

    Example:
        >>> toy_french()["Transformer"]("the black cat")
        'le chat noir'
    """
    return {name: translator(f"live_translator_{kind}") for name, kind in MODELS.items()}


def translator(name: str) -> Translator:
    """A recorded model with its vocabularies: see `recorded.model`.

    Example:
        >>> translator("live_translator_additive")("the black cat")
        'le chat noir'
    """
    model, source_vocab, target_vocab, _ = recorded.model(name)
    return Translator(source_vocab, target_vocab, model)


def real_translator(**options: Any) -> LiveTranslator:
    """The widget that translates real English: both models that come with attnkit, and what they
    have met in training.

    Args:
        options: arguments of `LiveTranslator`, in place of those that are set here.

    Example:
        >>> live = real_translator(text="Thank you.")
        >>> live.translate().by_word()[1]
        ['merci', '.']
    """
    return LiveTranslator(
        {name: Translator.load(folder) for name, folder in REAL_MODELS.items()},
        **{
            "sentences": REAL_SENTENCES,
            "caption": REAL_CAPTION,
            "files": "tatoeba",
            "precision": "int8",
            "longest": 48,
            "max_len": 60,
            "trained_on": [english for english, _ in tasks.tatoeba("train")],
            "full_stop": True,
            "beam_sizes": (2, 5),
            "on_demand": True,
            "length_page": (
                "Chapter 10",
                "chapters/10_machine_translation.html#what-still-goes-wrong",
            ),
        }
        | options,
    )


def one_vector() -> dict[str, Translator]:
    """The translator of real English that hands over one vector, as the build of the book takes it.

    Example:
        >>> one_vector()["One vector"]("Thank you.")
        'merci.'
    """
    return {"One vector": Translator.load("tatoeba-en-fr-fixed")}


BY_RULE = (
    "1989 was a difficult year.",
    "Everyone seems to be nervous.",
    "Her old cat is still alive.",
    "I had my reasons.",
    "I think we're too late.",
    "I'm not ready yet.",
    "Lunch is on.",
    "That's just awful.",
    "Tom is hoping you'll do it.",
    "What have you done?",
)
"""The first sentence of every tenth part of the test, in alphabetical order."""
TWO = "I have no children. He is a jealous man."
"""Two sentences of which both attentive models keep the meaning, one by one."""
PICKED = (
    "Where is my black cat?",
    "My coffee is cold.",
    "The house is red.",
    "My brother has a black dog.",
)
"""Not of the training, and right by both attentive models; picked by hand."""
CATS = ("I have a cat.", "I have no cats.")
"""What a question of the page is about."""
NOTES = (
    (PICKED[0], 1, 3, 4, "“chat” looks at “cat” most, and at “black” beside it."),
    (PICKED[0], 2, 3, 4, "“chat” looks past “black”, at “cat”."),
    (BY_RULE[2], 1, 1, 1, "“vie”, life, looks at “old”: the right place, the wrong word."),
    (BY_RULE[2], 2, 2, 2, "“est” looks at “cat” most, and no cat is written."),
    (BY_RULE[5], 1, 0, 2, "“je”, I, looks at “not” most: not every row links two words."),
    (TWO, 2, 6, 6, "The full stop looks at the second “is” most, and ends it all."),
)
"""What to see in a map: its sentence, column, row and place, and the words below it."""


MEANINGS = {
    "la vie est un homme riche .": "life is a rich man",
    "le ventre-cha était un an difficile à l' année .": "the “ventre-cha” was a hard year to year",
    "199 ans était un ané .": "199 years was an “ané” (no word)",
    "le chhèle a été un samand .": "the “chhèle” was a “samand” (no words)",
    "tout le monde a été heureux .": "everyone was happy",
    "tout le monde semble être nerveux .": "everyone seems to be nervous",
    "les yeux se sont jamais trop .": "the eyes are never too much (no sentence)",
    "sa vie est presque grand .": "her life is almost big",
    "sa vie chat est encore en vie .": "her life cat is still alive",
    "son vieil est encore en vie .": "her old is still alive",
    "son beau est l' air de vie .": "her beautiful is the air of life",
    "j' ai eu mon ciel .": "I had my sky",
    "j' ai eu mes arbres .": "I had my trees",
    "j' ai eu mes raisons .": "I had my reasons",
    "j' ai laissé les armes .": "I left the weapons",
    "je pense que nous sommes trop tard .": "I think we are too late (in odd French)",
    "je pense que nous sommes trop en retard .": "I think we are too late",
    "je suis en train de être en train de être en train de nous en être .": (
        "I am busy being busy being busy being us of it"
    ),
    "je ne suis pas encore prêt .": "I am not ready yet",
    "je ne suis pas encore fait .": "I am not made yet",
    "le déjeuner est .": "lunch is",
    "le déjeuner est en train de déjeuner .": "lunch is having lunch",
    "le déjeuner est en train .": "lunch is busy",
    "le compte , c' est le point de la main .": "the account, that is the point of the hand",
    "c' est juste impresseux .": "it is just “impresseux” (no word)",
    "c' est juste horrible .": "it is just horrible",
    "c' est juste maladable .": "it is just “maladable” (no word)",
    "c' est tout ce que c' est tout .": "it is all that it is all",
    "tom le parle à vous .": "Tom speaks it to you",
    "tom est le désèque de vous le faire .": "Tom is the “désèque” to do it to you (no word)",
    "tom est en train de le faire .": "Tom is doing it",
    "vous le ferons à le faire .": "you will do it to do it",
    "je n' ai pas d' chien de voiture .": "I have no dog of a car (no French)",
    "je n' ai pas d' enfants qu' il est un homme jalouse .": (
        "I have no children that he is a jealous man (no sentence)"
    ),
    "j' ai eu un homme d' un homme .": "I had a man of a man",
    "je n' ai pas d' enfants .": "I have no children",
    "qu' as-tu fait ?": "what have you done?",
    "j' ai un chat .": "I have a cat",
    "je n' ai pas de voiture .": "I have no car",
    "je n' ai pas des chats .": "I have no cats (with a slip: “des” for “de”)",
    "je n' ai pas de moi .": "I have no me",
    "je n' ai pas de chats .": "I have no cats",
    "où est mon père ?": "where is my father?",
    "où est mon chat noir ?": "where is my black cat?",
    "quel est le chien , c' est le chien ?": "which is the dog, it is the dog?",
    "mon chat est mort .": "my cat is dead",
    "mon café est froid .": "my coffee is cold",
    "mon nez me trouve .": "my nose finds me",
    "la maison est en colère .": "the house is angry",
    "la maison est rouge .": "the house is red",
    "la porte est la maison .": "the door is the house",
    "mon père est un chien .": "my father is a dog",
    "mon frère a un chien noir .": "my brother has a black dog",
    "mon chien est un chien .": "my dog is a dog",
    "qu' avez-vous fait ?": "what have you done?",
}
"""What the three models write for these sentences, back in English, by one of the authors."""


def three_columns(**options: Any) -> ThreeColumns:
    """The machine that translates real English in three ways at once: one vector, Bahdanau's
    attention, a Transformer.

    Args:
        options: arguments of `ThreeColumns`, in place of those that are set here.

    Example:
        >>> machine = three_columns(text="Everyone seems to be nervous.")
        >>> " ".join(machine.compute()["columns"][1]["target"])
        'tout le monde semble être nerveux .'
    """
    models = one_vector() | {
        "Bahdanau": Translator.load(REAL_MODELS["Bahdanau's GRU"]),
        "Transformer": Translator.load(REAL_MODELS["Transformer"]),
    }
    first, last = file_names("tatoeba", 2)
    return ThreeColumns(
        models,
        **{
            "abouts": (
                "a GRU; no look back",
                "a GRU; one look a word",
                "3 layers; 12 looks a word",
            ),
            "sentences": (*PICKED, *BY_RULE, TWO, *CATS),
            "listed": len(PICKED),
            "chosen": len(BY_RULE),
            "notes": NOTES,
            "meanings": MEANINGS,
            "files": (*file_names("tatoeba-vector", 1), last, first),
        }
        | options,
    )
