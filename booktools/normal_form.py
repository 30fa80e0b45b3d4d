"""The normal form of a notebook: two runs differ only where their results do.

Everything here is idempotent: normalising twice gives what normalising once gave.

    python -m booktools.normal_form chapters/05_*.ipynb

writes files so without executing them, after an editor has saved them. Outputs stay as they are,
and where code has changed the gates say so.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from attnbook.pages import notebook as saved

KEPT_NOTEBOOK_METADATA = ("book", "mystnb", "page", "widgets")
KEPT_CELL_METADATA = ("attnkit_claim", "mystnb", "name", "tags")

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python", "pygments_lexer": "ipython3"}

_REFERENCE = re.compile(r"IPY_MODEL_(\w+)")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def read(path: Path) -> NotebookNode:
    """Read a notebook as nbformat 4."""
    return nbformat.read(path, as_version=4)


def read_text(text: str) -> NotebookNode:
    """Read a notebook from the text of its file."""
    return nbformat.reads(text, as_version=4)


def dumps(nb: NotebookNode) -> str:
    """The text of a notebook file: sorted keys, one space of indent, a newline at the end."""
    return nbformat.writes(nb, version=4).rstrip("\n") + "\n"


def source_record(nb: NotebookNode) -> list[str]:
    """One line for every code cell, ``ID HASH``, from which a stale output is recognised."""
    return [
        f"{cell.id} {hashlib.sha256(cell.source.encode()).hexdigest()[:16]}"
        for cell in nb.cells
        if cell.cell_type == "code"
    ]


def normalise(nb: NotebookNode) -> NotebookNode:
    """Bring ``nb`` into its normal form, in place, and return it."""
    nb.nbformat, nb.nbformat_minor = 4, 5
    kept = {key: nb.metadata[key] for key in KEPT_NOTEBOOK_METADATA if key in nb.metadata}
    nb.metadata = nbformat.from_dict(
        {**kept, "kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO}
    )
    _name_cells(nb)
    for cell in nb.cells:
        kept = {key: cell.metadata[key] for key in KEPT_CELL_METADATA if cell.metadata.get(key)}
        cell.metadata = nbformat.from_dict(kept)
        cell.source = cell.source.rstrip("\n")
        if cell.cell_type == "code":
            cell.outputs = [_normal_output(out, cell) for out in _merge_streams(cell.outputs)]
    _normalise_widgets(nb)
    return nb


def _name_cells(nb: NotebookNode) -> None:
    """Give every cell with a missing or duplicate id one derived from its position."""
    seen: set[str] = set()
    for number, cell in enumerate(nb.cells):
        if not cell.get("id") or cell.id in seen:
            cell.id = f"cell-{number:03d}"
            while cell.id in seen:
                cell.id += "x"
        seen.add(cell.id)


def _merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Merge consecutive chunks of one stream: where the kernel splits them is arbitrary."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        ):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _normal_output(output: NotebookNode, cell: NotebookNode) -> NotebookNode:
    if output.output_type == "error":
        # The traceback holds paths of the machine that ran it; its last line is the message.
        message = f"{output.ename}: {_ANSI.sub('', output.evalue)}"
        output.traceback = [message]
    if output.output_type == "execute_result":
        output.execution_count = cell.execution_count
    for mime in ("image/png", "image/jpeg"):
        if mime in output.get("data", {}):
            output.data[mime] = output.data[mime].strip() + "\n"
    return output


# -- widgets ---------------------------------------------------------------------------------


def view_ids(nb: NotebookNode) -> list[str]:
    """The model ids of the widget views in the outputs, in their order."""
    return [view["model_id"] for _, view in saved.views(nb)]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _strings(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _references(model: dict[str, Any]) -> list[str]:
    """The ids of the models that a model's state points to."""
    return [id_ for text in _strings(model.get("state", {})) for id_ in _REFERENCE.findall(text)]


def _reading_order(views: list[str], states: dict[str, Any]) -> list[str]:
    """The models that the views need: depth first from each view, then what links them."""
    order: list[str] = []

    def visit(id_: str) -> None:
        if id_ in states and id_ not in order:
            order.append(id_)
            for child in _references(states[id_]):
                visit(child)

    for view in views:
        visit(view)
    # jslink and jsdlink make models that no view reaches but that point to the viewed ones.
    for id_ in states:
        if any(target in order for target in _references(states[id_])):
            visit(id_)
    return order


def _replace_ids(value: Any, new_id: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _REFERENCE.sub(lambda m: f"IPY_MODEL_{new_id.get(m[1], m[1])}", value)
    if isinstance(value, dict):
        return {key: _replace_ids(item, new_id) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_ids(item, new_id) for item in value]
    return value


def _normalise_widgets(nb: NotebookNode) -> None:
    """Number the models in reading order, drop those out of use and the modules' source."""
    states = saved.states(nb)
    order = _reading_order(view_ids(nb), states)
    new_id = {old: f"{number:032x}" for number, old in enumerate(order, start=1)}
    for _, view in saved.views(nb):
        view["model_id"] = new_id.get(view["model_id"], view["model_id"])
    if not order:
        nb.metadata.pop("widgets", None)
        return
    normal = {new_id[old]: _normal_model(states[old], new_id) for old in order}
    nb.metadata["widgets"] = nbformat.from_dict(
        {saved.STATE_MIME: {"state": normal, "version_major": 2, "version_minor": 0}}
    )


def _normal_model(model: dict[str, Any], new_id: dict[str, str]) -> dict[str, Any]:
    model = dict(model)
    state = {key: _replace_ids(value, new_id) for key, value in model.get("state", {}).items()}
    # The book and the live widget bring their own module, so that a change to it never means
    # running a chapter again. A notebook that is opened but not run says so.
    saved.leave_out_module(state)
    model["state"] = state
    if buffers := model.get("buffers"):
        model["buffers"] = sorted(buffers, key=lambda buffer: [str(p) for p in buffer["path"]])
    return model


def main(argv: list[str] | None = None) -> int:
    """Write the named notebooks in normal form; 1 if that changed any, as a hook does."""
    parser = argparse.ArgumentParser(
        prog="python -m booktools.normal_form", description="write notebooks in normal form"
    )
    parser.add_argument("notebooks", nargs="+", type=Path)
    changed = 0
    for path in parser.parse_args(argv).notebooks:
        text = path.read_text("utf8")
        normal = dumps(normalise(read_text(text)))
        if normal != text:
            path.write_text(normal, "utf8")
            print(f"{path}: written in normal form")
            changed = 1
    return changed


if __name__ == "__main__":
    raise SystemExit(main())
