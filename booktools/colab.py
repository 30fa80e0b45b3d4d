"""The first cell of every chapter: installs attnkit on Colab, does nothing elsewhere."""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from booktools.address import Address

CELL_ID = "colab-setup"
TAGS = ["nbval-skip", "remove-cell"]

_HEAD = """\
# Colab only: install attnkit (never torch, which Colab brings). `make notebooks` writes this cell.
import sys

if "google.colab" in sys.modules:
"""

_INSTALL = """\
    import subprocess

    source = "{source}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", source], check=True)
"""

_UNSET = """\
    raise RuntimeError(
        "This book does not know its own address yet, so attnkit cannot be installed here. "
        "Under [project.urls] in pyproject.toml, set "
        'Repository = "https://github.com/OWNER/NAME", then run `make notebooks`.'
    )
"""


def setup_source(address: Address | None) -> str:
    """The cell's source for a repository at ``address``, or for one without an address."""
    body = _UNSET if address is None else _INSTALL.format(source=address.pip)
    return (_HEAD + body).rstrip("\n")


def set_up(nb: NotebookNode, address: Address | None) -> None:
    """Put the set-up cell first in ``nb``, or bring the one that is there up to date."""
    source = setup_source(address)
    if nb.cells and nb.cells[0].get("id") == CELL_ID:
        cell = nb.cells[0]
        cell.cell_type, cell.source = "code", source
        cell.metadata["tags"] = list(TAGS)
        return
    nb.cells[:] = [cell for cell in nb.cells if cell.get("id") != CELL_ID]
    nb.cells.insert(0, new_code_cell(source, id=CELL_ID, metadata={"tags": list(TAGS)}))
