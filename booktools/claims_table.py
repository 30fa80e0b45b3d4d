"""The directive ``{claims-table}``: one row for every claim that a chapter measures.

A claim about trained models says how far it carries: seeds, budget or plateau, control, share.

And the role ``{claim}`05-variance` ``: the number of that claim, linked to the cell that measured
it, so that a page outside the chapters cannot give another number than they do. A regular
expression behind a bar picks a part of it: ``{claim}`05-variance|^[0-9.]+` ``; behind two bars it
is searched in how far the claim carries: ``{claim}`03-flat||after .*` ``.

Nothing that either makes is committed: they read the chapters' notebooks when the book is built.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from booktools import chapter_links, claims, gates, normal_form
from booktools.claims import Claim

AS_PERCENT, SHARE = "as %", r"^[01]\.[0-9]+"


def anchor(id_: str) -> str:
    """The page anchor of the cell that supports a claim; also its label for ``{ref}``."""
    return f"claim-{id_}"


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Give each cell that measures a claim an anchor of its own."""
    labels = app.env.get_domain("std")
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            for id_ in claims.ids(cell["cell_metadata"]):
                cell["ids"].append(anchor(id_))
                labels.note_hyperlink_target(anchor(id_), app.env.docname, anchor(id_), id_)


def as_percent(share: str) -> str:
    """A share as a chapter prints it, in percent.

    Example:
        >>> as_percent("0.35")
        '35%'
    """
    return f"{float(share):.0%}"


class ClaimsTable(SphinxDirective):
    """A section a chapter, with a table of its claims: sentence, origin, number."""

    def run(self) -> list[nodes.Node]:
        """Read the chapters that the book holds."""
        root = Path(self.env.srcdir)
        chapter_links.depend_on_notebooks(self.env)
        made: list[nodes.Node] = []
        for path in gates.notebooks(root):
            name = path.relative_to(root).with_suffix("").as_posix()
            if name not in self.env.found_docs:
                continue
            nb = normal_form.read(path)
            self.env.note_dependency(str(path))
            if rows := list(claims.claims(nb, root)):
                made.append(self._chapter(name, _title(nb), rows))
        return made

    def _chapter(self, name: str, title: str, rows: list[Claim]) -> nodes.section:
        _, _, place = name.partition("/")  # without `chapters/` or `appendices/`
        section = nodes.section(ids=[nodes.make_id(f"claims-{place}")])
        section += nodes.title("", "", self._link("doc", f"/{name}", title))
        section += _table([self._row(row) for row in rows])
        self.state.document.note_implicit_target(section, section)
        return section

    def _row(self, claim: Claim) -> list[list[nodes.Node]]:
        origin: list[nodes.Node] = [self._link("ref", anchor(claim.id), "measured in this cell")]
        if claim.source:
            self.env.note_dependency(str(Path(self.env.srcdir) / claim.source))
            command = claims.command(Path(self.env.srcdir) / claim.source)
            origin = [self._link("ref", anchor(claim.id), "read in this cell")]
            origin += [nodes.Text(" from "), nodes.literal("", claim.source)]
            origin += [nodes.Text(", made by "), nodes.literal("", command)]
        sentence = nodes.paragraph("", claim.sentence)
        limits = nodes.paragraph("", " · ".join(claim.limits), classes=["claim-origin"])
        return [
            [
                sentence,
                *([limits] if claim.limits else []),
                nodes.paragraph("", "", *origin, classes=["claim-origin"]),
            ],
            [nodes.paragraph("", claim.number, classes=["claim-number"])],
        ]

    def _link(self, kind: str, target: str, text: str) -> nodes.Node:
        return addnodes.pending_xref(
            "",
            nodes.inline("", text),
            refdomain="std",
            reftype=kind,
            refexplicit=True,
            reftarget=target,
            refdoc=self.env.docname,
            refwarn=True,
        )


class ClaimRole(SphinxRole):
    """The number of one claim, as a link to its cell; after `|`, what of it to show.

    ``{claim}`id``` is all of it, ``{claim}`id|^[0-9]+%``` what the pattern finds, and
    ``{claim}`id|as %``` a share in percent.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look the claim up in the chapters; an unknown one is a warning, which stops the build."""
        chapter_links.depend_on_notebooks(self.env)
        id_, _, part = self.text.partition("|")
        root = Path(self.env.srcdir)
        shown = number_of(root, self.text)
        if home := _numbers(root)[2].get(id_):
            self.env.note_dependency(str(home))
        if shown is None:
            message = self.inliner.reporter.warning(
                f"no claim {id_!r} with a number that {part!r} finds", line=self.lineno
            )
            return [nodes.Text(self.text)], [message]
        link = addnodes.pending_xref(
            "", nodes.inline("", shown), refdomain="std", reftype="ref", refexplicit=True,
            reftarget=anchor(id_), refdoc=self.env.docname, refwarn=True,
        )  # fmt: skip
        return [link], []


def number_of(root: Path, text: str) -> str | None:
    """What the role shows for ``text``, by the chapters in ``root``; None if that is nothing."""
    id_, _, part = text.partition("|")
    numbers, limits, _ = _numbers(root)
    if part.startswith("|"):
        numbers, part = limits, part[1:]
    match = re.search(SHARE if part == AS_PERCENT else part or r".+", numbers.get(id_, ""))
    if not match:
        return None
    return as_percent(match[0]) if part == AS_PERCENT else match[0]


def _numbers(root: Path) -> tuple[dict[str, str], dict[str, str], dict[str, Path]]:
    """Of every claim of the book, by its id: its number, how far it carries, its notebook."""
    paths = gates.notebooks(root)
    return _read_numbers(tuple((path, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=2)
def _read_numbers(
    paths: tuple[tuple[Path, int], ...],
) -> tuple[dict[str, str], dict[str, str], dict[str, Path]]:
    every = [(claim, path) for path, _ in paths for claim in claims.claims(normal_form.read(path))]
    numbers = {claim.id: claim.number for claim, _ in every}
    limits = {claim.id: " · ".join(claim.limits) for claim, _ in every}
    return numbers, limits, {claim.id: path for claim, path in every}


def _title(nb: normal_form.NotebookNode) -> str:
    heading = next(cell.source for cell in nb.cells if cell.source.startswith("# ")
                   and cell.cell_type == "markdown")  # fmt: skip
    return heading.splitlines()[0].removeprefix("# ").strip()


def _table(rows: list[list[list[nodes.Node]]]) -> nodes.table:
    head = [[nodes.paragraph("", "claim")], [nodes.paragraph("", "number")]]
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (70, 30)), cols=2)
    group += nodes.thead("", _tr(head))
    group += nodes.tbody("", *(_tr(row) for row in rows))
    return nodes.table("", group, classes=["claims", "colwidths-given"])


def _tr(cells: list[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *content) for content in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register directive, role and the anchors they link to; Sphinx calls it."""
    app.add_directive("claims-table", ClaimsTable)
    app.add_role("claim", ClaimRole())
    app.connect("doctree-read", mark_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
