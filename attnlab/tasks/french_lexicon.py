"""The words of `toy_french`. Irregular forms are listed, regular ones derived."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun in both languages; `gender` is "m" or "f"."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str
    kind: str


class Adjective(NamedTuple):
    """An adjective; `french` holds m. singular, f. singular, m. plural, f. plural, and m. singular
    before a vowel. `before` says that it stands before its noun."""

    english: str
    french: tuple[str, str, str, str, str]
    before: bool
    colour: bool


class Verb(NamedTuple):
    """A verb; `french` holds the present of je, tu, il, nous, ils. `particle` is the English word
    it takes along ("look at"), `to` the French preposition before its object (None: a direct
    object), `takes` the kinds of noun it goes with, `etre` True when its past is made with être."""

    english: str
    english_third: str
    english_past: str
    french: tuple[str, str, str, str, str]
    participle: str
    takes: tuple[str, ...]
    particle: str | None = None
    to: str | None = None
    etre: bool = False


def _adjective(line: str, before: bool = False, colour: bool = False) -> Adjective:
    english, *forms = line.split()
    prevocalic = forms[4] if len(forms) == 5 else forms[0]
    return Adjective(english, (*forms[:4], prevocalic), before, colour)


def _regular(stem: str) -> tuple[tuple[str, ...], str]:
    """The present and the participle of a regular verb in -er."""
    return tuple(stem + ending for ending in ("e", "es", "e", "ons", "ent")), f"{stem}é"


_NOUNS = {
    "person": (
        "boy boys garçon garçons m", "girl girls fille filles f", "man men homme hommes m",
        "woman women femme femmes f", "child children enfant enfants m",
        "friend friends ami amis m", "teacher teachers professeur professeurs m",
        "queen queens reine reines f", "king kings roi rois m", "hero heroes héros héros m",
    ),
    "animal": (
        "cat cats chat chats m", "dog dogs chien chiens m", "horse horses cheval chevaux m",
        "bird birds oiseau oiseaux m", "owl owls hibou hiboux m", "cow cows vache vaches f",
        "mouse mice souris souris f", "rabbit rabbits lapin lapins m",
    ),
    "food": (
        "apple apples pomme pommes f", "egg eggs œuf œufs m", "cake cakes gâteau gâteaux m",
        "tomato tomatoes tomate tomates f",
    ),
    "thing": (
        "book books livre livres m", "letter letters lettre lettres f", "key keys clé clés f",
        "chair chairs chaise chaises f", "car cars voiture voitures f",
        "flower flowers fleur fleurs f", "hat hats chapeau chapeaux m", "box boxes boîte boîtes f",
        "boat boats bateau bateaux m", "tree trees arbre arbres m",
    ),
    "place": (
        "house houses maison maisons f", "school schools école écoles f",
        "garden gardens jardin jardins m", "market markets marché marchés m",
        "church churches église églises f", "hotel hotels hôtel hôtels m",
        "village villages village villages m", "island islands île îles f",
    ),
    "part": (
        "door doors porte portes f", "window windows fenêtre fenêtres f", "wall walls mur murs m",
    ),
}  # fmt: skip
NOUNS = [Noun(*line.split(), kind) for kind, lines in _NOUNS.items() for line in lines]

ADJECTIVES = [
    _adjective(line, before=True)
    for line in (
        "big grand grande grands grandes", "small petit petite petits petites",
        "beautiful beau belle beaux belles bel", "old vieux vieille vieux vieilles vieil",
        "young jeune jeune jeunes jeunes", "good bon bonne bons bonnes",
        "new nouveau nouvelle nouveaux nouvelles nouvel",
    )
] + [
    _adjective(line, colour=True)
    for line in (
        "black noir noire noirs noires", "white blanc blanche blancs blanches",
        "red rouge rouge rouges rouges", "green vert verte verts vertes",
        "grey gris grise gris grises", "blue bleu bleue bleus bleues",
    )
] + [
    _adjective(line)
    for line in (
        "happy heureux heureuse heureux heureuses", "strange étrange étrange étranges étranges",
        "intelligent intelligent intelligente intelligents intelligentes",
        "heavy lourd lourde lourds lourdes", "empty vide vide vides vides",
        "tired fatigué fatiguée fatigués fatiguées",
    )
]  # fmt: skip

# Which adjectives make sense of which nouns, by kind. Colours go with all but people.
_ALWAYS = ("big", "small", "beautiful", "old", "new", "strange")
_LIVING = ("big", "small", "beautiful", "old", "young", "happy", "strange", "intelligent", "tired")
SUITS = {
    "person": _LIVING,
    "animal": _LIVING,
    "food": ("big", "small", "good", "strange"),
    "thing": (*_ALWAYS, "heavy"),
    "place": (*_ALWAYS, "empty"),
    "part": (*_ALWAYS, "heavy"),
}

_ANY = ("person", "animal", "food", "thing", "place", "part")
TRANSITIVE = [
    Verb("see", "sees", "saw", ("vois", "vois", "voit", "voyons", "voient"), "vu", _ANY),
    Verb("like", "likes", "liked", *_regular("aim"), _ANY),
    Verb("find", "finds", "found", *_regular("trouv"), ("animal", "food", "thing")),
    Verb("look", "looks", "looked", *_regular("regard"), _ANY, particle="at"),
    Verb("wait", "waits", "waited",
         ("attends", "attends", "attend", "attendons", "attendent"), "attendu", ("person",),
         particle="for"),
    Verb("draw", "draws", "drew", *_regular("dessin"), ("person", "animal", "thing", "place")),
    Verb("eat", "eats", "ate", ("mange", "manges", "mange", "mangeons", "mangent"), "mangé",
         ("food",)),
    Verb("buy", "buys", "bought", ("achète", "achètes", "achète", "achetons", "achètent"),
         "acheté", ("animal", "food", "thing", "place")),
    Verb("choose", "chooses", "chose",
         ("choisis", "choisis", "choisit", "choisissons", "choisissent"), "choisi",
         ("animal", "food", "thing")),
    Verb("open", "opens", "opened", ("ouvre", "ouvres", "ouvre", "ouvrons", "ouvrent"), "ouvert",
         ("part",)),
]  # fmt: skip
GIVING = [
    Verb("give", "gives", "gave", *_regular("donn"), ("food", "thing")),
    Verb("show", "shows", "showed", *_regular("montr"), ("animal", "thing")),
]
INTRANSITIVE = [
    Verb("sleep", "sleeps", "slept", ("dors", "dors", "dort", "dormons", "dorment"), "dormi", ()),
    Verb("dance", "dances", "danced", *_regular("dans"), ()),
    Verb("sing", "sings", "sang", *_regular("chant"), ()),
]
MOTION = [
    Verb("go", "goes", "went", ("vais", "vas", "va", "allons", "vont"), "allé", ("place",),
         particle="to", to="à", etre=True),
    Verb("arrive", "arrives", "arrived", *_regular("arriv"), ("place",), particle="at", to="à",
         etre=True),
    Verb("come", "comes", "came", ("viens", "viens", "vient", "venons", "viennent"), "venu",
         ("place",), particle="from", to="de", etre=True),
]  # fmt: skip

ETRE = ("suis", "es", "est", "sommes", "sont")
ETRE_PAST = ("étais", "étais", "était", "étions", "étaient")
AVOIR = ("ai", "as", "a", "avons", "ont")


class Pronoun(NamedTuple):
    """A subject or object pronoun; `person` is its index in the conjugations."""

    english: str
    french: str
    person: int
    gender: str
    plural: bool


# English "I", "you", "we" and "they" leave the gender open, and "you" the number: masculine and
# singular stand here, so that every English sentence has one French one.
SUBJECTS = [
    Pronoun("i", "je", 0, "m", False),
    Pronoun("you", "tu", 1, "m", False),
    Pronoun("he", "il", 2, "m", False),
    Pronoun("she", "elle", 2, "f", False),
    Pronoun("we", "nous", 3, "m", True),
    Pronoun("they", "ils", 4, "m", True),
]
OBJECTS = [
    Pronoun("him", "le", 2, "m", False),
    Pronoun("her", "la", 2, "f", False),
    Pronoun("them", "les", 4, "m", True),
]

# French for m. singular, f. singular, plural.
DETERMINERS = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", None),
    "some": (None, None, "des"),
    "two": (None, None, "deux"),
    "three": (None, None, "trois"),
    "my": ("mon", "ma", "mes"),
    "our": ("notre", "notre", "nos"),
    "this": ("ce", "cette", None),
    "these": (None, None, "ces"),
}
# English and French words, and the English word that the first French word belongs to.
PREPOSITIONS = [
    (("in",), ("dans",), 0),
    (("behind",), ("derrière",), 0),
    (("under",), ("sous",), 0),
    (("near",), ("près", "de"), 0),
    (("in", "front", "of"), ("devant",), 1),
]
ADVERBS = {"often": "souvent", "always": "toujours"}
DEGREES = {"very": "très", "too": "trop"}
CONJUNCTIONS = [
    (("and",), ("et",)), (("but",), ("mais",)), (("because",), ("parce", "que")),
]  # fmt: skip

# Words that begin with h but elide, as if with a vowel. All others (hibou, héros) do not.
MUTE_H = {
    "homme", "hommes", "hôtel", "hôtels", "heureux", "heureuse", "heureuses",
}  # fmt: skip
