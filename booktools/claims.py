"""The measured claims of the chapters, and the output that supports each.

A code cell that measures a claim carries it in its metadata, as an object or a list of them::

    "attnkit_claim": {"id": "05-variance", "sentence": "The variance of q·k is d.",
                      "number": "d = 1024 +variance / d = (.*)", "source": "results/x.json"}

``number`` is a regular expression, searched in what the cell printed; its first group, or all of
it, is the number. ``source`` names the results file that the cell reads, when it reads one.

A claim about something that was trained also says how far it carries::

    "budget": "800 updates"      it holds after so many, and its sentence says so or "learns faster"
    "budget": "none"             nothing was trained for it, though the word or the file suggests so
    "budget": "plateau"          the last doubling in the results file moved the score by no point
    "sides": [{"model": "dot"}]  which entries of the file's ``training`` it compares or is about
    "control": "the same GRU without a look back"    what stands beside it
    "share": "of 100: (\\d+)"    for a demonstration: how many of a hundred are like it, as printed

``training`` in a results file is what ``experiments/_record.py`` makes of its runs: an entry for
each side, with its budgets, scores, rates, seeds, and whether it was at a plateau.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from booktools.address import ROOT

KEY = "attnkit_claim"
_REQUIRED = ("id", "sentence", "number")
_OPTIONAL = ("source", "budget", "sides", "control", "share")
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NONE, PLATEAU, LEARNS_FASTER = "none", "plateau", re.compile(r"\blearns? faster\b")
_BUDGET = re.compile(r"[\d,]+ (?:updates|epochs)")
# What a sentence says of training, or of a model that the book has trained.
_LEARNED = re.compile(
    r"\b(?:train(?:s|ed|ing)?|learn(?:s|ed)?|learning rate|kept (?:model|translator)|GRUs?|"
    r"the (?:reader|writer))\b",
    re.IGNORECASE,
)
# What a sentence says that sets one side against another.
_COMPARES = re.compile(
    r"\b(?:more|less|fewer|better|best|worse|worst|sooner|faster|slower|longer|further|ahead|"
    r"higher|highest|lower|lowest|larger|largest|smaller|smallest|most|least|than|"
    r"as (?:well|often|many|much|good|far) as|short of|no more|nearly as)\b",
    re.IGNORECASE,
)
# And what it is then set against: another side, unless it is a number or the training itself.
_AGAINST = re.compile(
    r"\bthan (?!a |half|in training|[\d,]+)|\bas \w+ as\b|"
    r"\b(?:better|worse|sooner|faster|slower|larger|smaller) (?!the |than )",
    re.IGNORECASE,
)
# Three words and more in quotation marks or italics: one sentence, shown.
_ONE_SENTENCE = re.compile(r"(?<![\w'])[‘“'*]\w+(?: \w+){2,}[’”'*](?!\w)")


@dataclass(frozen=True)
class Claim:
    """One row of the table: the sentence, its number, its source, and how far it carries."""

    id: str
    sentence: str
    number: str
    source: str | None
    limits: tuple[str, ...] = ()


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


def claims(nb: NotebookNode, root: Path = ROOT) -> Iterator[Claim]:
    """The claims of a notebook that has no fault, in reading order."""
    for cell in nb.cells:
        for tag in tags(cell.metadata):
            yield Claim(
                tag["id"],
                tag["sentence"],
                number(tag, printed(cell)) or "",
                tag.get("source"),
                tuple(limits(tag, cell, root)),
            )


def limits(tag: dict[str, Any], cell: NotebookNode, root: Path) -> Iterator[str]:
    """How far a claim carries, in the words of the table: seeds, budget, control, share."""
    if tag.get("budget", NONE) != NONE:
        written = _written(root / tag["source"]) if tag.get("source") else {}
        sides = _sides(tag, written)
        seeds = min((_seeds(side, tag["budget"]) for side in sides), default=None)
        if seeds:
            yield f"{seeds} seed{'s' * (seeds > 1)}"
        elif not written.get("training"):
            yield "one run"
        yield "at a plateau" if tag["budget"] == PLATEAU else f"after {tag['budget']}"
    if tag.get("control"):
        yield f"control: {tag['control']}"
    if tag.get("share"):
        yield f"like it: {number({'number': tag['share']}, printed(cell))} of 100"


def command(source: Path) -> str | None:
    """The command that wrote a results file, as the file says."""
    return _written(source).get("command")


@lru_cache(maxsize=64)
def _read(source: Path, _changed: int) -> dict[str, Any]:
    return json.loads(source.read_text("utf8"))


def _written(source: Path) -> dict[str, Any]:
    return _read(source, source.stat().st_mtime_ns)


def _sides(tag: dict[str, Any], written: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a file's training that a claim names, or all of them."""
    entries = written.get("training") or []
    named = tag.get("sides")
    return [
        entry for entry in entries
        if named is None or any(side.items() <= entry.items() for side in named)
    ]  # fmt: skip


def _seeds(side: dict[str, Any], budget: str) -> int:
    """How many seeds a side had at this budget; at a plateau the fewest that it had at any."""
    unit = side["unit"]
    at = [one["seeds"] for one in side["budgets"] if f"{one['updates']:,} {unit}" == budget]
    return at[0] if at else side["seeds"]


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
            return
        if not command(root / source):
            yield f"{source} does not name the command that wrote it"
    yield from _training_faults(tag, _written(root / source) if source else {})
    if tag.get("share"):
        if number({"number": tag["share"]}, printed(cell)) is None:
            yield f"no share in what the cell printed: {tag['share']!r} finds none"
    elif shown := _ONE_SENTENCE.search(tag.get("sentence", "")):
        yield f"it shows one sentence, {shown[0]}, and no share of those that are like it"


def _training_faults(tag: dict[str, Any], written: dict[str, Any]) -> Iterator[str]:
    """What keeps a claim about trained models from carrying as far as it says."""
    entries, sides = written.get("training") or [], _sides(tag, written)
    budget, sentence = tag.get("budget"), tag.get("sentence", "")
    if budget is None:
        if entries or _LEARNED.search(sentence):
            yield "it is about trained models and has no budget: a number of updates, or plateau"
        return
    if budget == NONE:
        return
    for side in tag.get("sides", []):
        if not any(side.items() <= entry.items() for entry in entries):
            yield f"its source trained no {side}"
    if budget == PLATEAU:
        rising = [entry for entry in sides if not entry["plateau"]]
        if rising or not sides:
            yield f"it has no plateau: {_named(rising) or 'its source trained nothing'}"
    elif not _BUDGET.fullmatch(budget):
        yield f"its budget is neither plateau nor a number of updates: {budget!r}"
    else:
        if budget not in sentence and not LEARNS_FASTER.search(sentence):
            yield f'without a plateau its sentence must say "{budget}" or "learns faster"'
        told = [entry for entry in sides if entry["budgets"]]
        short = [entry for entry in told if budget not in _budgets(entry)]
        if short and ("sides" in tag or short == told):
            yield f"its source has no budget of {budget}: {_named(short)}"
    if len(entries) > 1 and _COMPARES.search(sentence) and "sides" not in tag:
        yield "it compares, and does not say which sides"
    elif (
        len(entries) > 1 and len(tag.get("sides", ())) == len(sides) == 1
        and _AGAINST.search(sentence) and not tag.get("control")
    ):  # fmt: skip
        yield "it compares, and names one side and no control"
    grids = {tuple(entry["rates"]) for entry in sides}
    if "sides" in tag and len(grids) > 1:
        yield f"its sides had unequal rates: {_named(sides, 'rates')}"


def _budgets(entry: dict[str, Any]) -> set[str]:
    return {f"{one['updates']:,} {entry['unit']}" for one in entry["budgets"]}


def _named(entries: list[dict[str, Any]], *more: str) -> str:
    """Entries of training by what tells them apart."""
    last = list(entries[0]).index("score") if entries else 0
    return "; ".join(
        ", ".join(str(entry[key]) for key in (*list(entry)[:last], *more)) for entry in entries
    )


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
