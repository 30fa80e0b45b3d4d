"""The measured claims of the chapters, and the output that supports each.

A code cell that measures a claim carries it in its metadata, as an object or a list of them::

    "attnkit_claim": {"id": "05-variance", "sentence": "The variance of q·k is d.",
                      "number": "d = 1024 +variance / d = (.*)", "source": "results/x.json"}

``number`` is a regular expression, searched in what the cell printed; its first group, or all of
it, is the number. ``source`` names the results file that the cell reads, when it reads one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

KEY = "attnkit_claim"
_REQUIRED, _OPTIONAL = ("id", "sentence", "number"), ("source",)
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Claim:
    """One row of the table: the sentence, the number that supports it, and its source."""

    id: str
    sentence: str
    number: str
    source: str | None


def tags(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims in the metadata of one cell, as they stand there."""
    found = metadata.get(KEY, [])
    return [found] if isinstance(found, dict) else list(found)


def ids(metadata: dict[str, Any]) -> list[str]:
    """The ids of the claims of one cell."""
    return [tag["id"] for tag in tags(metadata) if tag.get("id")]


def printed(cell: NotebookNode) -> str:
    """What a cell printed, without its pictures and widgets."""
    texts = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if output.output_type == "stream":
            texts.append(output.text)
        elif output.output_type == "error":
            texts.append(f"{output.ename}: {output.evalue}\n")
        elif set(data) == {"text/plain"}:
            texts.append(data["text/plain"] + "\n")
    return "".join(texts)


def number(tag: dict[str, Any], text: str) -> str | None:
    """The number that ``tag`` finds in ``text``, on one line; None when there is none."""
    match = re.search(tag["number"], text, re.MULTILINE)
    if match is None:
        return None
    found = " ".join((match[1] if match.re.groups else match[0] or "").split())
    return found if re.search(r"\d", found) else None


def claims(nb: NotebookNode) -> Iterator[Claim]:
    """The claims of a notebook that has no fault, in reading order."""
    for cell in nb.cells:
        for tag in tags(cell.metadata):
            yield Claim(
                tag["id"], tag["sentence"], number(tag, printed(cell)) or "", tag.get("source")
            )


def command(source: Path) -> str | None:
    """The command that wrote a results file, as the file says."""
    return json.loads(source.read_text("utf8")).get("command")


def faults(nb: NotebookNode, root: Path) -> Iterator[str]:
    """What keeps a claim of this notebook from being one: no name, no number, no results."""
    for place, cell in enumerate(nb.cells, start=1):
        for tag in tags(cell.metadata):
            said = list(_faults(tag, cell, root))
            yield from (f"cell {place}: claim {tag.get('id', '')!r}: {fault}" for fault in said)


def _faults(tag: dict[str, Any], cell: NotebookNode, root: Path) -> Iterator[str]:
    if missing := [key for key in _REQUIRED if not tag.get(key)]:
        yield f"has no {' and no '.join(missing)}"
    if unknown := sorted(set(tag) - {*_REQUIRED, *_OPTIONAL}):
        yield f"{', '.join(unknown)}: not a part of a claim"
    if tag.get("id") and not _ID.fullmatch(tag["id"]):
        yield "its id is not of the form 05-short-name"
    if tag.get("number") and number(tag, printed(cell)) is None:
        yield f"no number in what the cell printed: {tag['number']!r} finds none"
    if source := tag.get("source"):
        if not (root / source).is_file():
            yield f"there is no {source}"
        elif not command(root / source):
            yield f"{source} does not name the command that wrote it"


def repeated(notebooks: list[tuple[str, NotebookNode]]) -> Iterator[str]:
    """Ids that two claims share, over all chapters; each fault begins with a file's name."""
    owners: dict[str, list[str]] = {}
    for name, nb in notebooks:
        for cell in nb.cells:
            for id_ in ids(cell.metadata):
                owners.setdefault(id_, []).append(name)
    for id_, names in owners.items():
        if len(names) > 1:
            where = ", ".join(f"{n} ({c})" if c > 1 else n for n, c in Counter(names).items())
            yield f"{names[-1]}: claim {id_!r}: its id is used more than once: {where}"
