"""A plain copy of a notebook, for Jupyter, Colab and whoever else reads it without the book.

Roles such as ``{claim}`10-beam` `` are Sphinx's: elsewhere a reader would see them as they are. In
the copy numbers are filled in, terms, names and chapters are words and links, the drawings are in
the text, and what the book folds is folded. Code and outputs are the same. The download button of a
page gives this copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from pybtex.database import Entry, parse_file
from pybtex.richtext import Text
from sphinx.application import Sphinx

from attnbook.pages.drawn import embed
from booktools import claims_table
from booktools.address import Address, read_address

ROLE = re.compile(r"(?<!`)\{(?P<role>[a-zA-Z][\w:.+-]*)\}`(?P<text>[^`]+)`")
_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^\((?P<label>[\w-]+)\)=\n", re.MULTILINE)
_TITLE = re.compile(r"^\((?P<label>[\w-]+)\)=\n+#+ (?P<title>.+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[(?P<words>(?:[^\]\n]|\n(?!\n))+)\]\((?P<target>[^)\s]+)\)")
_EXPLICIT = re.compile(r"(?P<words>.+?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
_FOLDED = {"hide-input", "hide-cell", "remove-input"}
_PAGES = (".md", ".ipynb")


class Plain:
    """Makes the plain copies of the notebooks in ``root``, whose book is at ``address``."""

    def __init__(self, root: Path, address: Address | None = None):
        self.root, self.address = root, address
        self.site = address.site if address else None
        self.roles: dict[str, Callable[[str, str], str]] = {
            "chapter": self._chapter,
            "cite": self._cite,
            "cite:p": self._cite,
            "cite:t": self._cite_in_text,
            "claim": lambda text, page: claims_table.number_of(root, text) or text,
            "ref": self._ref,
            "term": self._term,
        }

    def notebook(self, nb: dict[str, Any], page: str) -> dict[str, Any]:
        """The copy of a notebook, as JSON reads it, that the book shows at ``page``."""
        return nb | {"cells": [self._cell(cell, page) for cell in nb["cells"]]}

    def _cell(self, cell: dict[str, Any], page: str) -> dict[str, Any]:
        if cell["cell_type"] == "markdown":
            text = self.text("".join(cell["source"]), page)
            return cell | {"source": text.splitlines(keepends=True)}
        if _FOLDED.intersection(cell["metadata"].get("tags", ())):
            # The first is read by Jupyter, the second by Colab.
            folded = {"jupyter": {"source_hidden": True}, "cellView": "form"}
            return cell | {"metadata": cell["metadata"] | folded}
        return cell

    def text(self, text: str, page: str) -> str:
        """Markdown without roles, labels and links that lead nowhere; code stays as it is."""
        parts, end = [], 0
        for code in _FENCE.finditer(text):
            parts += [self._words(text[end : code.start()], page), code[0]]
            end = code.end()
        return "".join([*parts, self._words(text[end:], page)])

    def _words(self, text: str, page: str) -> str:
        text = _LABEL.sub("", text)
        text = _LINK.sub(lambda match: self._link(match["words"], match["target"], page), text)
        return embed(ROLE.sub(lambda match: self._role(match["role"], match["text"], page), text))

    def _role(self, role: str, text: str, page: str) -> str:
        if role in self.roles:
            return self.roles[role](" ".join(text.split()), page)
        words, target = _explicit(text)
        if words == target and target.startswith("~"):
            words = target.rpartition(".")[2]
        return f"`{words}`"

    def _to(self, words: str, place: str) -> str:
        """Words with a link to a place in the published book, if there is one."""
        return f"[{words}]({self.site}{place})" if self.site else words

    def _link(self, words: str, target: str, page: str) -> str:
        """A link of the book: inside the page, to another page, or out of the book."""
        if re.match(r"[a-z]+:", target):
            return f"[{words}]({target})"
        if target.startswith("#"):  # the names of headings are Sphinx's
            return self._to(words, f"{page}.html{target}")
        path, mark, place = target.partition("#")
        if self.site and path.endswith(_PAGES):
            there = (self.root / page).parent.joinpath(path).resolve().with_suffix(".html")
            return self._to(words, there.relative_to(self.root.resolve()).as_posix() + mark + place)
        return f"[{words}]({path})"

    def _chapter(self, number: str, page: str) -> str:
        found = sorted(self.root.glob(f"chapters/{number}_*.ipynb"))
        words = f"chapter {number}"
        return self._to(words, f"chapters/{found[0].stem}.html") if found else words

    def _term(self, text: str, page: str) -> str:
        words, term = _explicit(text)
        return self._to(
            words, f"appendices/glossary.html#term-{re.sub('[^a-zA-Z0-9]+', '-', term)}"
        )

    def _ref(self, text: str, page: str) -> str:
        words, label = _explicit(text)
        found_in, title = self._titles.get(label, ("", label.replace("-", " ")))
        words = title if words == label else words
        return self._to(words, f"{found_in}.html#{label}") if found_in else words

    @cached_property
    def _titles(self) -> dict[str, tuple[str, str]]:
        """The page and the title of what is labelled, by its label."""
        found = {}
        for path in (*self.root.glob("*.md"), *self.root.glob("appendices/**/*.md")):
            page = path.relative_to(self.root).with_suffix("").as_posix()
            for match in _TITLE.finditer(path.read_text("utf-8")):
                found[match["label"]] = (page, re.sub("`", "", match["title"]))
        for path in (*self.root.glob("chapters/*.ipynb"), *self.root.glob("appendices/**/*.ipynb")):
            page = path.relative_to(self.root).with_suffix("").as_posix()
            for cell in json.loads(path.read_text("utf-8"))["cells"]:
                for match in _TITLE.finditer("".join(cell["source"])):
                    found[match["label"]] = (page, match["title"])
        return found

    def _cite(self, keys: str, page: str) -> str:
        return f"({'; '.join(self._source(key.strip(), ', {}') for key in keys.split(','))})"

    def _cite_in_text(self, keys: str, page: str) -> str:
        return ", ".join(self._source(key.strip(), " ({})") for key in keys.split(","))

    def _source(self, key: str, year: str) -> str:
        """Names and year of an entry of the bibliography, with its link."""
        entry = self._bibliography.get(key)
        if entry is None:
            return key
        words = _names(entry) + year.format(entry.fields.get("year", "n.d."))
        url = entry.fields.get("url")
        return f"[{words}]({url})" if url else words

    @cached_property
    def _bibliography(self) -> dict[str, Entry]:
        return dict(parse_file(str(self.root / "references.bib")).entries.items())


def _explicit(text: str) -> tuple[str, str]:
    """The words and the target of ``words <target>``, or the text for both."""
    match = _EXPLICIT.fullmatch(text)
    return (match["words"], match["target"]) if match else (text, text)


def _names(entry: Entry) -> str:
    """The names of the authors as they are cited: one, two, or the first "et al."."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    last = [
        str(Text.from_latex(" ".join([*person.prelast_names, *person.last_names])))
        for person in people
    ]
    if not last:
        return str(Text.from_latex(entry.fields.get("title", entry.key)))
    return f"{last[0]} et al." if len(last) > 2 else " and ".join(last)


def write_copies(app: Sphinx, error: Exception | None) -> None:
    """Put the plain copies in place of what the download buttons give, once the pages are built."""
    if error is not None or app.builder.format != "html":
        return
    root, sources = Path(app.srcdir), Path(app.outdir) / "_sources"
    plain = Plain(root, read_address(root / "pyproject.toml"))
    for page in sorted(app.env.found_docs):
        path = Path(app.env.doc2path(page))
        copy = sources / f"{page}.ipynb"
        if path.suffix == ".ipynb" and copy.is_file():
            made = plain.notebook(json.loads(path.read_text("utf-8")), page)
            copy.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the step; Sphinx calls it."""
    app.connect("build-finished", write_copies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
