"""Links in the prose that set a machine name settings and values that the machine takes."""

import importlib
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from attnbook.machines.base import Machine

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
LINK = re.compile(r"\]\(#([\w-]+)=([^)\s]+:[^)\s]*)\)")
SETTING = re.compile(r"(\w+):(.*)", re.DOTALL)


def machines(notebook: dict) -> dict[str, Machine]:
    found = {}
    saved = notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    for state in (one["state"] for one in saved.values()):
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


@pytest.mark.parametrize("path", sorted(CHAPTERS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_links_of_a_page_set_what_its_machines_take(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    prose = "\n".join("".join(cell["source"]) for cell in notebook["cells"]
                      if cell["cell_type"] == "markdown")  # fmt: skip
    links = LINK.findall(prose)
    known = machines(notebook) if links else {}
    for anchor, address in links:
        if anchor in known:  # explorers and translators check theirs themselves
            wanted = settings(address)
            assert set(wanted) <= set(known[anchor]._limits), address
            for name, value in wanted.items():
                setattr(known[anchor], name, value)
