"""The reference: a table on top of each page, links between entries, and links from the chapters.

The pages in ``appendices/api`` name what they list; the rest follows from the docstrings:

``.. summary::`` is a table of the page's entries: name, first sentence, chapter. ``.. summary::
all`` is the table of every page. ``.. taught:: 06``, inside an entry, names the chapter that
teaches it. A name in backticks, in a docstring or in the text of a chapter, links to its entry,
and a chapter ends with links to what its code imports.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from booktools.chapter_links import depend_on_notebooks

FOLDER = "appendices/api/"
EVERY_USE = (FOLDER,)  # pages that link each use of a name; the others link the first
KINDS = ("class", "function", "method", "property", "attribute")
CALL = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(\(.*\))?", re.DOTALL)
PARAMETERS = re.compile(r'<dl>\n((?:<dd><em class="sig-param">.*?</dd>\n)+)</dl>\n')
DOCUMENTATION = re.compile(
    r'(?P<head>id="(?P<name>[^"]+)">\n)(?P<tag><a class="viewcode-back" )'
    r'href="[^"]*">(?P<text>.*?)</a>'
)
DEFINITION = re.compile(r"^\s*(?:class|def)\s+(\w+)|^(\w+) = ", re.MULTILINE)


class taught(nodes.General, nodes.Element):
    """The chapter that teaches an entry, until the chapters are known."""


class summary(nodes.General, nodes.Element):
    """A table of entries, until every page has been read."""


class Taught(SphinxDirective):
    """``.. taught:: 06``: the line "Taught in chapter 06: Masks"."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Leave a node for :func:`resolve`; an entry may come before its chapter."""
        depend_on_notebooks(self.env)
        return [taught("", chapter=self.arguments[0])]


class Summary(SphinxDirective):
    """``.. summary::``: a table of the page's entries, or with ``all`` of every page's."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Leave a node for :func:`resolve`, since the entries come later on the page."""
        whole = self.arguments == ["all"]
        self.env.metadata[self.env.docname]["lists-every-entry" if whole else "lists-entries"] = 1
        # With the `singlehtml` builder all pages are resolved as one, under the name of the first.
        return [summary("", whole=whole, page=self.env.docname)]


def first_sentence(content: nodes.Node) -> str:
    """The first sentence of an entry's description."""
    paragraph = next(iter(content.findall(nodes.paragraph)), None)
    text = " ".join(paragraph.astext().split()) if paragraph else ""
    # "e.g. x" and "al. (2017)" do not end a sentence; a capital after the full stop does.
    return re.split(r"(?<=[.:])\s+(?=[A-Z`])", text, maxsplit=1)[0].removesuffix(":")


def entries(doctree: nodes.document) -> Iterator[dict[str, str]]:
    """The classes and functions that a page describes, in its order."""
    for description in doctree.findall(addnodes.desc):
        signature = description.next_node(addnodes.desc_signature)
        if description["objtype"] not in ("class", "function") or not signature["ids"]:
            continue
        content = description.next_node(addnodes.desc_content)
        chapter = content.next_node(taught)
        yield {
            "name": signature["fullname"],
            "id": signature["ids"][0],
            "sentence": first_sentence(content),
            "chapter": chapter["chapter"] if chapter else "",
        }


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the entries of the page that has been read."""
    if app.env.docname.startswith(FOLDER):
        app.env.reference_entries[app.env.docname] = list(entries(doctree))


def prepare(app: Sphinx, env: BuildEnvironment, *args: object) -> None:
    """Give the environment its place for the entries."""
    if not hasattr(env, "reference_entries"):
        env.reference_entries = {}


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop the entries of a page that is read again."""
    prepare(app, env)
    env.reference_entries.pop(docname, None)


def merge(app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    """Merge the entries that another process read."""
    prepare(app, env)
    env.reference_entries.update(
        {name: found for name, found in other.reference_entries.items() if name in docnames}
    )


def rewritten(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages that list every entry, which change with any page of the reference."""
    return [name for name in env.found_docs if "lists-every-entry" in env.metadata.get(name, ())]


def chapter_page(env: BuildEnvironment, number: str) -> str | None:
    """The page of the chapter with this number, None while it is not in the book."""
    start = f"chapters/{number}_"
    return next((name for name in env.found_docs if name.startswith(start)), None)


def chapter_link(app: Sphinx, docname: str, number: str, *, title: bool) -> nodes.Node:
    """A link to a chapter: its number, or "chapter 06: Masks" with its title."""
    page = chapter_page(app.env, number)
    text = f"chapter {number}" if title else number
    if page is None:
        return nodes.Text(text)
    if title:
        text += ": " + app.env.titles[page].astext().removeprefix(f"{number} · ")
    return make_refnode(app.builder, docname, page, None, nodes.Text(text))


def cell(*content: nodes.Node) -> nodes.entry:
    """A cell of a table."""
    return nodes.entry("", nodes.paragraph("", "", *content))


def row(*cells: nodes.entry) -> nodes.row:
    """A row of a table."""
    return nodes.row("", *cells)


def table_of(app: Sphinx, docname: str, page: str) -> nodes.table:
    """The entries of `page`, as a table for the page `docname`."""
    body = nodes.tbody()
    for found in app.env.reference_entries[page]:
        name = nodes.literal("", found["name"])
        link = make_refnode(app.builder, docname, page, found["id"], name)
        chapter = (
            [chapter_link(app, docname, found["chapter"], title=False)] if found["chapter"] else []
        )
        body += row(cell(link), cell(nodes.Text(found["sentence"])), cell(*chapter))
    head = row(*(cell(nodes.Text(word)) for word in ("Name", "What it is", "Chapter")))
    group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in (30, 60, 10)), cols=3)
    group += [nodes.thead("", head), body]
    return nodes.table("", group, classes=["reference-summary"])


def listing(app: Sphinx, docname: str, stood: str, *, whole: bool) -> list[nodes.Node]:
    """What replaces a node that `stood` on a page: its table, or one per page under its title."""
    if not whole:
        return [table_of(app, docname, stood)]
    found: list[nodes.Node] = []
    relations = app.env.toctree_includes.get(app.config.root_doc, [])
    ordered = [page for page in relations if page in app.env.reference_entries]
    ordered += sorted(set(app.env.reference_entries) - set(ordered))
    for page in ordered:
        if app.env.reference_entries[page]:
            title = nodes.Text(app.env.titles[page].astext())
            link = make_refnode(app.builder, docname, page, None, title)
            found.append(nodes.paragraph("", "", nodes.strong("", "", link)))
            found.append(table_of(app, docname, page))
    return found


def names(env: BuildEnvironment) -> dict[str, tuple[str, str]]:
    """What may stand in backticks, and the page and anchor of the entry that it means.

    An entry goes by every ending of its full name that no other entry shares. A single word
    without a capital or an underscore, such as `causal`, could mean anything and is not taken.
    """
    objects = env.domains["py"].objects
    found: dict[str, set[tuple[str, str]]] = {}
    for full, entry in objects.items():
        if entry.objtype not in KINDS:
            continue
        parts = full.split(".")
        for start in range(len(parts)):
            name = ".".join(parts[start:])
            if "." in name or re.search("[A-Z_]", name):
                found.setdefault(name, set()).add((entry.docname, entry.node_id))
    return {name: next(iter(places)) for name, places in found.items() if len(places) == 1}


def documented(env: BuildEnvironment, name: str) -> ObjectEntry | None:
    """The entry of `name`, which may be listed under a package that its module belongs to."""
    parts = name.split(".")
    for own in (1, 2):  # a function or class; a method
        for end in range(len(parts) - own, 0, -1):
            entry = env.domains["py"].objects.get(".".join(parts[:end] + parts[-own:]))
            if entry and entry.objtype in KINDS:
                return entry
    return None


def owners(node: nodes.Node) -> list[str]:
    """The full names of the entries whose description contains a node, innermost first."""
    around = (parent for parent in ancestors(node) if isinstance(parent, addnodes.desc))
    signatures = (entry.next_node(addnodes.desc_signature) for entry in around)
    return [name for signature in signatures for name in signature["ids"][:1]]


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn names in backticks into links to their entries.

    A page of the reference links each of them, another page the first; a name that the page's own
    code defines is its own.
    """
    known = names(app.env)
    code = "\n".join(block.astext() for block in doctree.findall(nodes.literal_block))
    own = {name for pair in DEFINITION.findall(code) for name in pair if name}
    linked: set[tuple[str, str]] = set()
    for literal in list(doctree.findall(nodes.literal)):
        match = CALL.fullmatch(literal.astext())
        here = owners(literal)
        place = None
        if match and match["name"] not in own:
            meant = [
                match["name"],
                match["name"].removeprefix("attnkit."),
                *(f"{name}.{match['name']}" for name in here),
            ]
            place = next((known[name] for name in meant if name in known), None)
        held = any(
            isinstance(parent, (nodes.reference, nodes.title, addnodes.desc_signature))
            for parent in ancestors(literal)
        )
        if place is None or held or place in linked or (place[0] == docname and place[1] in here):
            continue
        link = make_refnode(app.builder, docname, *place, child=literal.deepcopy())
        literal.replace_self(link)
        if not docname.startswith(EVERY_USE):
            linked.add(place)


def used(blocks: list[str]) -> set[str]:
    """The full names of what blocks of code take from our packages, by the imports of any block."""
    local: dict[str, str] = {}
    chains: set[str] = set()
    for block in blocks:
        try:
            tree = ast.parse(block)
        except SyntaxError:  # output, or a shell's command
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                local |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            elif isinstance(node, ast.Import):
                local |= {a.asname: a.name for a in node.names if a.asname}
            elif isinstance(node, (ast.Attribute, ast.Name)):
                chains.add(ast.unparse(node))
    parts = (chain.partition(".") for chain in chains)
    names = {local.get(first, first) + dot + rest for first, dot, rest in parts}
    return {name for name in names if name.startswith(("attnkit.", "attnlab.", "attnbook."))}


def link_code(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """End a chapter with links to the entries of what its code uses."""
    code = [block.astext() for block in doctree.findall(nodes.literal_block)]
    places = {}
    for name in sorted(used(code)):
        entry = documented(app.env, name)
        if entry and entry.objtype in ("class", "function"):
            places.setdefault((entry.docname, entry.node_id), entry.node_id)
    if not places:
        return
    line = nodes.paragraph("", "", nodes.Text("This chapter in the reference: "))
    for place, name in places.items():
        link = make_refnode(app.builder, docname, *place, child=nodes.literal("", name))
        line += [link, nodes.Text(", ")]
    line[-1] = nodes.Text(".")
    seealso = addnodes.seealso("", line)
    next(reversed(list(doctree.findall(nodes.section)))).append(seealso)


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    """The ancestors of a node, innermost first."""
    while (node := node.parent) is not None:
        yield node


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Resolve the nodes that depend on other pages."""
    prepare(app, app.env)
    for node in list(doctree.findall(taught)):
        link = chapter_link(app, docname, node["chapter"], title=True)
        line = nodes.paragraph("", "", nodes.Text("Taught in "), link, nodes.Text("."))
        line["classes"].append("taught")
        node.replace_self(line)
    for node in list(doctree.findall(summary)):
        node.replace_self(listing(app, docname, node["page"], whole=node["whole"]))
    link_names(app, doctree, docname)
    if docname.startswith("chapters/"):
        link_code(app, doctree, docname)


def fix_signatures(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Write the parameters of a long signature as lines of a term.

    Sphinx writes them as a list of definitions without terms, which a screen reader reads as one.
    """
    if "body" in context:
        context["body"] = PARAMETERS.sub(_lines, context["body"])


def _lines(match: re.Match) -> str:
    lines = match[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return f'<span class="sig-lines">{lines}</span>'


def fix_documentation_links(
    app: Sphinx, page: str, template: str, context: dict, doctree: object
) -> None:
    """Lead the links from a module's source to the entries by the names that the entries have.

    viewcode takes every entry of a module for one of the package through which it met the first.
    """
    if not page.startswith("_modules/") or "body" not in context:
        return
    module = page.removeprefix("_modules/").replace("/", ".")

    def fix(match: re.Match) -> str:
        entry = documented(app.env, f"{module}.{match['name']}")
        if entry is None:
            return match["head"]
        uri = app.builder.get_relative_uri(page, entry.docname)
        return f'{match["head"]}{match["tag"]}href="{uri}#{entry.node_id}">{match["text"]}</a>'

    context["body"] = DOCUMENTATION.sub(fix, context["body"])


def skip_member(
    app: Sphinx, what: str, name: str, item: object, skip: bool, options: object
) -> bool | None:
    """Leave out the fields of a named tuple, which its docstring describes, and routine."""
    if type(item).__name__ == "_tuplegetter" or name in ("description", "reset_parameters"):
        return True
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives; Sphinx calls it."""
    for node in (taught, summary):
        app.add_node(node)
    app.add_directive("taught", Taught)
    app.add_directive("summary", Summary)
    app.connect("env-before-read-docs", prepare)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-read", collect)
    app.connect("env-updated", rewritten)
    # After the chapters' own references, which may hold literals.
    app.connect("doctree-resolved", resolve, priority=700)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("html-page-context", fix_signatures)
    app.connect("html-page-context", fix_documentation_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
