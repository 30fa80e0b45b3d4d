"""Documents with a summary that somebody wrote: the docstrings of Python's library.

The first line of a docstring says what the rest is about. It is the reference; the paragraphs that
follow, up to the first heading, list or example, are the document.
"""

import ast
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from attnlab import tasks

LEAST_SENTENCES, MOST_SENTENCES, LEAST_WORDS = 5, 20, 50
SKIPPED = re.compile(r"test|idlelib|lib2to3|site-packages|_vendor|__main__")
ENDS = re.compile(
    r"(Parameters|Returns?|Examples?|Notes?|Args|Arguments|See Also|References|Yields|Raises"
    r"|Attributes|Methods|Usage|Keyword|[-=~^]{3,})\b|[-=~^]{3,}"
)
MARKED = re.compile(r"\s|>>>|[-*|+#:\d]|\.\. ")


class Source(NamedTuple):
    """A docstring: where it stands, its first line, and the sentences of the rest."""

    name: str
    summary: str
    sentences: list[str]


def python_library(part: bool = False) -> list[Source]:
    """The documents of Python's own standard library, under its PSF licence; or a part of it."""
    folder = Path(sysconfig.get_path("stdlib"))
    return collect("python/asyncio", folder / "asyncio") if part else collect("python", folder)


def collect(package: str, root: Path) -> list[Source]:
    """The documents of all files under `root`, in the order of their paths, none twice."""
    found: dict[str, Source] = {}
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if SKIPPED.search(place):
            continue
        for name, text in docstrings(path):
            parts = split(text)
            if parts:
                summary, body = parts
                key = re.sub(r"\W+", " ", body.lower())
                source = found.get(key)
                if source is None and (sentences := usable(body)):
                    found[key] = Source(f"{package}/{place}:{name}", summary, sentences)
    unique = {source.summary.lower(): source for source in reversed(found.values())}
    return list(reversed(unique.values()))


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """The name and the text of every docstring of a file that Python can read."""
    try:
        tree = ast.parse(path.read_text("utf8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


def split(text: str) -> tuple[str, str] | None:
    """A docstring's first paragraph and its plain paragraphs; None when it has no such form.

    >>> split('''Open a file by name.
    ...
    ... It must exist.
    ...
    ... Parameters
    ... ----------
    ... path : str''')
    ('Open a file by name.', 'It must exist.')
    """
    first, *rest = re.split(r"\n\s*\n", text)
    summary = plain(first)
    if len(first.splitlines()) > 2 or len(summary.split()) < 4 or not summary.endswith("."):
        return None
    body = []
    for paragraph in rest:
        lines = paragraph.splitlines()
        if any(ENDS.match(line) for line in lines):
            break
        if "::" in paragraph or any(MARKED.match(line) for line in lines):
            continue  # an example, a list, a table
        body.append(plain(paragraph))
    return summary, " ".join(body)


def plain(text: str) -> str:
    """Text without the marks of reStructuredText.

    >>> plain("See :func:`~numpy.dot` and ``axis`` [1]_.")
    'See numpy.dot and axis.'
    """
    text = re.sub(r":[\w:]+:`[~!]?([^`<]*)[^`]*`", r"\1", text)
    text = re.sub(r"\s*\[\w+\]_", "", text)
    return " ".join(re.sub(r"`+[~!]?", "", text).split())


def usable(body: str) -> list[str]:
    """The sentences of a body, or none when it is too short or too long to be a document."""
    if len(body.split()) < LEAST_WORDS:
        return []
    sentences = tasks.split_sentences(body)
    fits = LEAST_SENTENCES <= len(sentences) <= MOST_SENTENCES
    return sentences if fits and all(map(tasks.tokenize, sentences)) else []
