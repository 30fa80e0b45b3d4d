"""Each gate lets a sound notebook pass and stops one that is broken in its way."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_output

from attnbook.pages import notebook
from booktools import gates, normal_form
from booktools.address import parse_address, read_address
from tests.book.sample import by_id, sound_notebook


@pytest.mark.parametrize("path", gates.notebooks(), ids=lambda path: path.stem)
def test_every_chapter_passes(path):
    assert gates.faults(normal_form.read(path), read_address()) == []


def never_run(nb):
    cell = by_id(nb, "sum")
    cell.execution_count, cell.outputs = None, []


def draw_a_map_unmarked(nb, source="ax.imshow(rates)\nplt.show()"):
    cell = by_id(nb, "sum")
    cell.source, cell.outputs = source, [new_output("display_data", {"image/png": "iVBO"})]
    cell.metadata["mystnb"] = {"image": {"alt": "Rates.", "classes": "wide"}}


def swap_two_cells(nb):
    nb.cells[2], nb.cells[3] = nb.cells[3], nb.cells[2]
    nb.cells[2].execution_count, nb.cells[3].execution_count = 2, 3


def model(nb):
    return next(iter(notebook.states(nb).values()))


def add(text, to="source"):
    """Change the cell with the sum: add to its source, or print another text, or tag it."""

    def change(nb):
        cell = by_id(nb, "sum")
        if to == "source":
            cell.source += text
        elif to == "output":
            cell.outputs[0].text = text
        else:
            cell.metadata["tags"] = [text]

    return change


def show(form, text):
    return lambda nb: by_id(nb, "control").outputs[0].data.update({form: text})


CALLED = "\ndef draw(ax):\n    ax.imshow(rates)\n\n\ndraw(plt.gca())\nplt.show()"
UNMARKED = 'its image lacks "classes": "heat-map"'
UNTITLED = "it is folded, and has no code_prompt_show"
WARNING = new_output("stream", name="stderr", text="UserWarning: careful\n")
BREAKS = {
    "lose the state": (lambda nb: notebook.states(nb).clear(), "no stored state"),
    "empty the state": (lambda nb: model(nb).update(state={}), "no stored state"),
    "forget the tag": (lambda nb: by_id(nb, "error").metadata.clear(), "raised ZeroDivisionError"),
    "mean an error that does not come": (add("raises-exception", to="tags"), "raised nothing"),
    "skip a count": (lambda nb: by_id(nb, "control").update(execution_count=7),
                     "execution count 7, expected 3"),
    "never run": (never_run, "execution count None, expected 2"),
    "lose a picture": (add("\nplt.show()"), "shows a plot, and its output holds none"),
    "draw a map": (draw_a_map_unmarked, UNMARKED),
    "draw a map by a function": (lambda nb: draw_a_map_unmarked(nb, CALLED), UNMARKED),
    "fold code": (add("hide-input", to="tags"), UNTITLED),
    "fold a cell": (add("hide-cell", to="tags"), UNTITLED),
    "fold an output": (add("hide-output", to="tags"), UNTITLED),
    "show an answer": (add("\nQuestion('Twice 3?', right=6)"), "whose code gives its answer"),
    "add an empty cell": (lambda nb: nb.cells.append(new_code_cell("", id="empty")),
                          "an empty code cell"),
    "edit a cell": (add(" + 2"), "cell 3: changed since it was executed"),
    "remove a cell": (lambda nb: nb.cells.remove(by_id(nb, "error")), "removed or moved"),
    "swap two cells": (swap_two_cells, "removed or moved"),
    "never executed here": (lambda nb: nb.metadata.pop("book"), "never executed"),
    "warn": (lambda nb: by_id(nb, "sum").outputs.append(WARNING), "stderr: UserWarning: careful"),
    "print a path": (add("/home/someone/book/data.pt\n", to="output"),
                     "'/home/someone/book/data.pt'"),
    "print a path of Windows": (add("C:\\Users\\someone\\book\n", to="output"), "Users"),
    "show a path in HTML": (show("text/html", "<b>/tmp/ipykernel_12/3.py</b>"),
                            "/tmp/ipykernel_12"),
    "show an object": (show("text/plain", "<Control object at 0x7f6f1e9b9e50>"), "0x7f6f1e9b9e50"),
    "skip the check": (add("nbval-ignore-output", to="tags"),
                       "nbval-ignore-output keeps it from being checked"),
    "skip it by a comment": (add("\n# NBVAL_IGNORE_OUTPUT"),
                             "an NBVAL comment keeps it from being checked"),
    "call a check from a cell of any name": (
        add("\n\nfrom attnbook.checks.ch05 import check_scale\n\n\ncheck_scale(1)"),
        'call it "exercise-N-code"'),
    "save by hand": (lambda nb: nb.metadata["language_info"].update(version="3.11.7"),
                     "not in normal form"),
    "store the module": (lambda nb: model(nb)["state"].update(_esm="export default {}"),
                         "not in normal form"),
    "remove the set-up": (lambda nb: nb.cells.pop(0), "not the Colab set-up"),
    "edit the set-up": (lambda nb: nb.cells[0].update(source=nb.cells[0].source + "\n!pip -v"),
                        "Colab set-up does not follow"),
}  # fmt: skip


@pytest.mark.parametrize(("break_it", "said"), BREAKS.values(), ids=BREAKS)
def test_a_broken_notebook_is_stopped(break_it, said):
    nb = sound_notebook()
    break_it(nb)
    assert any(said in fault for fault in gates.faults(nb, None)), gates.faults(nb, None)


def test_every_gate_is_among_the_broken():
    """A gate that no test can close might as well not be there."""
    closed = set()
    for break_it, _ in BREAKS.values():
        nb = sound_notebook()
        break_it(nb)
        closed |= {gate.__name__ for gate in gates.GATES if list(gate(nb))}
    assert closed == {gate.__name__ for gate in gates.GATES}


def test_setting_the_address_asks_for_new_set_up_cells():
    address = parse_address("https://github.com/OWNER/NAME")
    assert gates.faults(sound_notebook(address), address) == []
    assert any("set-up" in fault for fault in gates.faults(sound_notebook(None), address))


def test_fractions_and_web_addresses_are_not_taken_for_paths():
    nb = sound_notebook()
    add("q/k, 1/2, https://arxiv.org/abs/1706.03762, a/tmp, https://x.org/home/a.html\n", "output")(
        nb
    )
    assert gates.faults(nb, None) == []
