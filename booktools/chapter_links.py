"""The role ``{chapter}`07` ``: a link to that chapter once the book has it, until then its number.

For pages that are not notebooks: where a notebook is opened in Jupyter, the role would be read as
it stands.
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

FOLDERS = ("chapters/", "appendices/")
MARK = "depends-on-notebooks"


def depend_on_notebooks(env: BuildEnvironment) -> None:
    """Rebuild the current page whenever a notebook is added or removed."""
    env.metadata[env.docname][MARK] = "yes"


def outdated(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """The pages that :func:`depend_on_notebooks` marked, when a notebook came or went."""
    if not any(name.startswith(FOLDERS) for name in added | removed):
        return []
    return [name for name in env.found_docs if MARK in env.metadata.get(name, ())]


class ChapterRole(SphinxRole):
    """The words "chapter 07", as a link if there is such a chapter."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look for a page whose name begins with the number."""
        depend_on_notebooks(self.env)
        text = nodes.inline("", f"chapter {self.text}")
        start = f"chapters/{self.text}_"
        found = [name for name in self.env.found_docs if name.startswith(start)]
        if not found:
            return [text], []
        link = addnodes.pending_xref(
            "", text, refdomain="std", reftype="doc", refexplicit=True,
            reftarget=f"/{found[0]}", refdoc=self.env.docname, refwarn=True,
        )  # fmt: skip
        return [link], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role; Sphinx calls it."""
    app.add_role("chapter", ChapterRole())
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
