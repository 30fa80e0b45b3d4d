"""The search finds the chapter that teaches a word first, then the word in the glossary.

Sphinx indexes the glossary's terms, synonyms and abbreviations included, for the glossary alone.
Each entry there names the chapter that teaches it; that chapter is indexed under the same terms.
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.index_entries import split_index_msg

GLOSSARY = "appendices/glossary"


def taught_terms(doctree: nodes.document) -> dict[str, set[str]]:
    """The glossary's terms by the page of the chapter that their entry names last."""
    found: dict[str, set[str]] = {}
    for item in doctree.findall(nodes.definition_list_item):
        pages = [
            link["reftarget"].removeprefix("/")
            for link in item.findall(addnodes.pending_xref)
            if link["reftype"] == "doc" and "/chapters/" in link["reftarget"]
        ]
        if pages:
            terms = {term.astext().split("\n")[0] for term in item.findall(nodes.term)}
            found.setdefault(pages[-1], set()).update(terms)
    return found


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the terms when the glossary has been read."""
    if app.env.docname == GLOSSARY:
        app.env.taught_terms = taught_terms(doctree)


def merge(app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
    """Merge the terms that another process read."""
    if GLOSSARY in docnames:
        env.taught_terms = other.taught_terms


def restore(app: Sphinx) -> None:
    """Index again the entries of pages that this build did not write.

    Sphinx forgets them: a build after a change would lose the entries of all other pages.
    """
    indexer = app.builder.indexer
    for page, entries in app.env.get_domain("index").entries.items():
        if page not in indexer._index_entries and page in app.env.found_docs:
            found = {
                (word, target or "", main or "")
                for kind, value, target, main, _ in entries
                for word in split_index_msg(kind, value)
            }
            indexer._index_entries[page] = sorted(found)


def index(app: Sphinx) -> list:
    """Index each chapter under the terms that it teaches, before the index is written."""
    indexer = getattr(app.builder, "indexer", None)
    if indexer is not None:
        restore(app)
    for page, terms in getattr(app.env, "taught_terms", {}).items():
        if indexer is not None and page in app.env.found_docs:
            entries = set(indexer._index_entries.get(page, ()))
            entries |= {(term, "", "main") for term in terms}
            indexer._index_entries[page] = sorted(entries)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the steps; Sphinx calls it."""
    app.connect("doctree-read", collect)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
