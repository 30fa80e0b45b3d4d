"""Links in the prose that set a machine name settings and values that the machine takes."""

import importlib
import json
import re
from urllib.parse import unquote

import pytest
from nbformat import NotebookNode

from attnbook.machines.base import Machine
from attnbook.pages import notebook
from booktools import gates, normal_form

LINK = re.compile(r"\]\(#([\w-]+)=([^)\s]+:[^)\s]*)\)")
SETTING = re.compile(r"(\w+):(.*)", re.DOTALL)


def machines(nb: NotebookNode) -> dict[str, Machine]:
    found = {}
    for state in (one["state"] for one in notebook.states(nb).values()):
        module, _, name = state.get("_anywidget_id", "").rpartition(".")
        if not module.startswith("attnbook.machines."):
            continue
        kind = getattr(importlib.import_module(module), name)
        if issubclass(kind, Machine):
            # What it computes with was saved apart, and is not needed to say what it takes.
            plain = {key: value for key, value in state.items()
                     if key in kind.class_own_traits() and key != "numbers"}  # fmt: skip
            machine = kind.__new__(kind)
            Machine.__init__(machine, **plain)
            found[state["anchor"]] = machine
    return found


def settings(address: str) -> dict:
    found = {}
    for part in unquote(address).split(";"):
        name, text = SETTING.fullmatch(part).groups()
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


@pytest.mark.parametrize("path", gates.chapters(), ids=lambda path: path.stem)
def test_the_links_of_a_page_set_what_its_machines_take(path):
    nb = normal_form.read(path)
    prose = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    links = LINK.findall(prose)
    known = machines(nb) if links else {}
    for anchor, address in links:
        if anchor in known:  # explorers and translators check theirs themselves
            wanted = settings(address)
            assert set(wanted) <= set(known[anchor]._limits), address
            for name, value in wanted.items():
                setattr(known[anchor], name, value)
