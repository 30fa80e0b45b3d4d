"""Sentences with a number that nothing in the notebook shows.

A number in the prose of a chapter must be one that the chapter computes, prints or states in code,
so that a reader can find where it comes from and a new run that changes it can be seen to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from booktools import claims, measure

_CODE = re.compile(r"`[^`]*`")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[\"*_(]?[A-Z0-9])|\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s)")
_NUMBER = re.compile(r"(?<![\w.,^_/-])\d[\d,]*(?:\.\d+)?(?![\w^])")
# What counts or names, and measures nothing.
_NAMES = re.compile(
    r"(?:chapters?|sections?|equations?|figures?|tables?|footnotes?|appendix|exercises?|steps?|"
    r"seeds?|heads?|layers?|python|version|§|#)\s+[A-Z]?\d[\d.]*"
    r"(?:(?:,| and| or| to|–)\s+\d[\d.]*)*",
    re.IGNORECASE,
)
_LIST = re.compile(r"^\s*\d+\.\s", re.MULTILINE)
# A sentence with a source is the source's: the bibliography says where to look.
_SOURCE = re.compile(r"\{cite[^}]*\}|https?://|\{claim\}")
_SMALL = 12  # written out or not, such numbers count things that the sentence names
_YEAR = re.compile(r"(?:19|20)\d\d")


def shown(nb: NotebookNode) -> set[float]:
    """Every number in the code and the printed outputs of a notebook."""
    texts = [cell.source for cell in nb.cells if cell.cell_type == "code"]
    texts += [claims.printed(cell) for cell in nb.cells if cell.cell_type == "code"]
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            texts.append(str(output.get("data", {}).get("text/html", "")))
    return {value for text in texts for value in _values(text)}


def _values(text: str) -> Iterator[float]:
    for found in re.findall(r"\d[\d,_]*(?:\.\d+)?", text):
        yield float(found.replace(",", "").replace("_", "") or 0)


def unbound(nb: NotebookNode) -> Iterator[str]:
    """The sentences of the prose with a number that the notebook does not show."""
    known = shown(nb)
    known |= {100 * value for value in known if value <= 1}
    for cell in nb.cells:
        if cell.cell_type != "markdown":
            continue
        for sentence in sentences(cell.source):
            if missing := [
                text for text, value in numbers(sentence) if not near(value, known, text)
            ]:
                yield f"{cell.id}: {', '.join(missing)} in: {' '.join(sentence.split())}"


def near(value: float, known: set[float], text: str) -> bool:
    """Whether a shown number is `value`, or rounds to it."""
    digits = len(text.partition(".")[2])
    return any(round(other, digits) == value for other in known)


def sentences(source: str) -> Iterator[str]:
    """The sentences of a markdown cell that may hold a measured number."""
    # Roles are markup that `prose` removes: mark what has a source first.
    for sentence in _SENTENCE.split(source):
        if not _SOURCE.search(sentence):
            yield measure.prose(sentence)


def numbers(sentence: str) -> Iterator[tuple[str, float]]:
    """The numbers of a sentence that are neither small counts nor names of parts."""
    bare = _NAMES.sub("", _LIST.sub("", _CODE.sub("", sentence)))
    for found in _NUMBER.findall(bare):
        text = found.rstrip(",")
        value = float(text.replace(",", ""))
        if not _YEAR.fullmatch(text) and ("." in text or value > _SMALL):
            yield text, value
