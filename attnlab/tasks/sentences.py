"""Text into sentences, by a library that knows abbreviations."""

import warnings

from attnkit.guard import checks


def split_sentences(text: str, *, language: str = "en") -> list[str]:
    """Split text into its sentences, by the rules of pysbd (Sadvilkar and Neumann 2020).

    A full stop ends no sentence in "Dr. Brown", "3.5 m" or "e.g. here". Line breaks count as
    spaces, so paragraphs may be wrapped; headings should be left out, since they end in no stop.

    Args:
        text: any text; one without words has no sentences.
        language: a code of ISO 639-1 that pysbd knows, such as "en", "de" or "fr".

    Raises:
        TypeError: an argument is not a string.
        ValueError: pysbd does not know the language.
        ImportError: pysbd is not installed.

    Example:
        >>> split_sentences("Dr. Brown ran 3.5 km. He\\nwas tired.")
        ['Dr. Brown ran 3.5 km.', 'He was tired.']
    """
    checks.instance("text", text, str, "a string")
    checks.instance("language", language, str, "a string")
    with warnings.catch_warnings():
        # Its patterns hold escapes that Python warns of when it compiles them.
        warnings.simplefilter("ignore")
        pysbd = checks.installed("pysbd", "sentences")
    checks.choice("language", language, tuple(pysbd.languages.LANGUAGE_CODES))
    joined = " ".join(text.split())
    if not joined:
        return []
    found = pysbd.Segmenter(language=language, clean=False).segment(joined)
    return [sentence.strip() for sentence in found if sentence.strip()]
