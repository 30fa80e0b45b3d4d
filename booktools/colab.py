"""The first cell of every chapter: installs attnkit on Colab, does nothing elsewhere."""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from booktools.address import Address

CELL_ID = "colab-setup"
TAGS = ["nbval-skip", "remove-cell"]

_HEAD = """\
# Colab only: install attnkit (never torch, which Colab brings). `make notebooks` writes this cell.
import importlib.util
import subprocess
import sys

missing = importlib.util.find_spec("attnkit") is None
if "google.colab" in sys.modules and missing:
"""

_FROM_ADDRESS = """\
    source = "{source}"
"""

# A book without an address cannot be fetched: its archive, or a wheel, is where the notebook is, or
# the reader has it.
_FROM_FILE = """\
    from pathlib import Path

    names = ("attention-measured*.zip", "attnkit-*.whl")
    near = [file for name in names for file in Path().glob(name)]
    source = str(near[0]) if near else None
    if source is None:
        from google.colab import files

        print("Choose attention-measured.zip, from the page Install and use.")
        source = next(iter(files.upload()), None)
"""

_INSTALL = """\
    command = [sys.executable, "-m", "pip", "install", "--quiet", source]
    if {failed}subprocess.run(command).returncode:
        print("attnkit, which this needs, is not installed. Run it again.")
"""


def setup_source(address: Address | None) -> str:
    """The cell's source for a repository at ``address``, or for one without an address.

    It raises nothing: who reads it can change neither the address nor the network.
    """
    if address is None:
        body = _FROM_FILE + _INSTALL.format(failed="source is None or ")
    else:
        body = _FROM_ADDRESS.format(source=address.pip) + _INSTALL.format(failed="")
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
