"""The translators that the book's pages show, as `LiveTranslator` and the build take them."""

from attnbook import recorded
from attnkit import Translator

MODELS = {"GRU with additive attention": "additive", "Transformer": "transformer"}
SENTENCES = (
    "the black cat did not sleep",
    "our girl's cat was old",
    "my friend often eats a red apple",
)


def toy_french() -> dict[str, Translator]:
    """English to toy French, by both models that `experiments.live_translator` trained.

    Example:
        >>> toy_french()["Transformer"]("the black cat")
        'le chat noir'
    """
    return {name: translator(f"live_translator_{kind}") for name, kind in MODELS.items()}


def translator(name: str) -> Translator:
    """A recorded model with its vocabularies: see `recorded.model`."""
    model, source_vocab, target_vocab, _ = recorded.model(name)
    return Translator(source_vocab, target_vocab, model)
