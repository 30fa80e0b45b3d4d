"""A small notebook in memory that passes every gate, for the tests to break."""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from booktools import colab, normal_form
from booktools.address import Address


def widget(children: tuple[str, ...] = (), **state) -> dict:
    """A stored model of an anywidget that points to ``children``."""
    return {
        "model_module": "anywidget",
        "model_module_version": "~0.11.*",
        "model_name": "AnyModel",
        "state": {"children": [f"IPY_MODEL_{child}" for child in children], **state},
    }


def view(model_id: str) -> NotebookNode:
    """The output of a cell that ends in a widget."""
    data = {
        normal_form.WIDGET_VIEW: {"model_id": model_id, "version_major": 2, "version_minor": 1},
        "text/plain": "Control()",
    }
    return new_output("execute_result", data, execution_count=3)


def sound_notebook(address: Address | None = None) -> NotebookNode:
    """A heading, a printed number, a widget with a child, and an error that is meant."""
    meant = {"tags": ["raises-exception"]}
    nb = new_notebook(
        cells=[
            new_markdown_cell("# Trial\n\nA sentence that is long enough to be a page.", id="head"),
            new_code_cell("print(1 + 1)", id="sum", outputs=[new_output("stream", text="2\n")]),
            new_code_cell("Control()", id="control", outputs=[view("beef")]),
            new_code_cell("1 / 0", id="error", metadata=meant),
        ],
        metadata={
            "widgets": {
                normal_form.WIDGET_STATE: {
                    "state": {
                        "cafe": widget(value=1, _esm="export default {}"),
                        "beef": widget(("cafe",), _esm="export default {}", _css="a {}"),
                        "dead": widget(value=2),
                    }
                }
            }
        },
    )
    nb.cells[-1].outputs = [
        new_output("error", ename="ZeroDivisionError", evalue="division by zero", traceback=["x"])
    ]
    colab.set_up(nb, address)
    for count, cell in enumerate((c for c in nb.cells if c.cell_type == "code"), start=1):
        cell.execution_count = count
    normal_form.normalise(nb)
    nb.metadata["book"] = {"executed": normal_form.source_record(nb)}
    return normal_form.read_text(normal_form.dumps(nb))
