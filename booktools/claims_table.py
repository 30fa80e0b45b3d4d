"""The directive ``{claims-table}``: one row for every claim that a chapter measures.

Nothing that it makes is committed: it reads the chapters' notebooks when the book is built.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from booktools import chapter_links, claims, gates, normal_form
from booktools.claims import Claim


def anchor(id_: str) -> str:
    """The id, in the page, of the cell that bears out a claim; also its label for ``{ref}``."""
    return f"claim-{id_}"


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Give each cell that measures a claim an anchor of its own."""
    labels = app.env.get_domain("std")
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            for id_ in claims.ids(cell["cell_metadata"]):
                cell["ids"].append(anchor(id_))
                labels.note_hyperlink_target(anchor(id_), app.env.docname, anchor(id_), id_)


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
            if rows := list(claims.claims(nb)):
                made.append(self._chapter(name, _title(nb), rows))
        return made

    def _chapter(self, name: str, title: str, rows: list[Claim]) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(f"claims-{Path(name).name}")])
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
        return [
            [sentence, nodes.paragraph("", "", *origin, classes=["claim-origin"])],
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
    """Register the directive and the anchors it links to; Sphinx calls it."""
    app.add_directive("claims-table", ClaimsTable)
    app.connect("doctree-read", mark_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
