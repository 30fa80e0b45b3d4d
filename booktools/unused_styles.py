"""Of the style sheet that all pages share, what no page can use is left out.

The theme brings all of Bootstrap and of sphinx-design: two thirds of the sheet are for things that
this book has not, and a page shows nothing before it has read them all. A rule stays unless each of
its selectors asks for a class that stands on no page and in no script.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import tinycss2
from tinycss2.ast import Node

CLASSES = re.compile(r"""\bclass=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
INLINE = re.compile(r"<script(?![^>]*(?: src=|json))[^>]*>(.*?)</script>", re.DOTALL)
WORD = re.compile(r"[\w-]+")
NESTED = ("media", "supports", "layer", "container")


def names(pages: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Every class that the pages have, and every word of a script, which may give it to one."""
    found: set[str] = set()
    for page in pages:
        for groups in CLASSES.findall(page):
            found.update(" ".join(groups).split())
        found.update(*map(WORD.findall, INLINE.findall(page)))
    return found.union(*map(WORD.findall, scripts))


def without(sheet: str, used: set[str]) -> str:
    """The sheet without comments, and without the selectors that ask for a class not `used`."""
    return "\n".join(_rules(tinycss2.parse_stylesheet(sheet, True, True), used))


def _rules(rules: Iterable[Node], used: set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            kept = [one for one in _selectors(rule.prelude) if used.issuperset(_asked(one))]
            if kept:
                heads = ",".join(tinycss2.serialize(one).strip() for one in kept)
                yield f"{heads}{{{tinycss2.serialize(rule.content).strip()}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED and rule.content:
            inner = "\n".join(_rules(tinycss2.parse_rule_list(rule.content, True, True), used))
            if inner:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}"
        else:
            yield rule.serialize()


def _selectors(prelude: Iterable[Node]) -> Iterator[list[Node]]:
    """The parts between commas; one inside brackets, as in `:is(a, b)`, divides nothing."""
    part: list[Node] = []
    for token in prelude:
        if token == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _asked(selector: list[Node]) -> Iterator[str]:
    """The classes that a selector asks for; those inside `:not(...)` or `:is(...)` are not."""
    for before, token in itertools.pairwise(selector):
        if before == "." and token.type == "ident":
            yield token.value


def write(whole: Path, site: Path, folder: str) -> None:
    """Write into the site's `folder` what its pages use of each sheet in `whole` that they link.

    `whole` keeps the sheets undivided: the next build may write only some pages, with a class that
    none had before. A sheet of an earlier build, which no page links any more, is removed.
    """
    pages = [page.read_text("utf-8") for page in sorted(site.rglob("*.html"))]
    code = [*site.glob("_static/*.js"), *site.glob("_static/scripts/*.js")]
    used = names(pages, (script.read_text("utf-8") for script in code))
    for old in (site / folder).glob("all-*.css"):
        old.unlink()
    for sheet in whole.glob("all-*.css"):
        if any(f"{folder}/{sheet.name}" in page for page in pages):
            text = without(sheet.read_text("utf-8"), used)
            (site / folder / sheet.name).write_text(text, "utf-8")
