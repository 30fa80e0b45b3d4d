"""Each gate lets a sound notebook pass and stops one that is broken in its way."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_output

from attnbook.pages import notebook
from attnbook.pages.notebook import STATE_MIME
from booktools import gates, normal_form
from booktools.address import parse_address, read_address
from tests.book.sample import by_id, sound_notebook


@pytest.mark.parametrize("path", gates.notebooks(), ids=lambda path: path.stem)
def test_every_chapter_passes(path):
    assert gates.faults(normal_form.read(path), read_address()) == []


def test_a_sound_notebook_passes():
    assert gates.faults(sound_notebook(), None) == []


def lose_the_state(nb):
    nb.metadata["widgets"][STATE_MIME]["state"].clear()


def empty_the_state(nb):
    for model in notebook.states(nb).values():
        model["state"] = {}


def forget_the_tag(nb):
    by_id(nb, "error").metadata["tags"] = []


def skip_a_count(nb):
    by_id(nb, "control").execution_count = 7


def never_run(nb):
    cell = by_id(nb, "sum")
    cell.execution_count, cell.outputs = None, []


def lose_a_picture(nb):
    cell = by_id(nb, "sum")
    cell.source += "\nplt.show()"


def draw_a_map_unmarked(nb):
    cell = by_id(nb, "sum")
    cell.source = "ax.imshow(rates)\nplt.show()"
    cell.outputs = [new_output("display_data", {"image/png": "iVBO"})]
    cell.metadata["mystnb"] = {"image": {"alt": "Rates.", "classes": "wide"}}


def draw_a_map_by_a_function_unmarked(nb):
    draw_a_map_unmarked(nb)
    by_id(nb, "sum").source = "def draw(ax):\n    ax.imshow(rates)\n\n\ndraw(plt.gca())\nplt.show()"


def fold_code_without_a_title(nb):
    by_id(nb, "sum").metadata["tags"] = ["hide-input"]


def fold_a_cell_without_a_title(nb):
    by_id(nb, "sum").metadata["tags"] = ["hide-cell"]


def fold_an_output_without_a_title(nb):
    by_id(nb, "sum").metadata["tags"] = ["hide-output"]


def add_an_empty_cell(nb):
    nb.cells.append(new_code_cell("", id="empty"))


def edit_a_cell(nb):
    by_id(nb, "sum").source = "print(2 + 2)"


def remove_a_cell(nb):
    nb.cells.remove(by_id(nb, "error"))


def swap_two_cells(nb):
    nb.cells[2], nb.cells[3] = nb.cells[3], nb.cells[2]
    nb.cells[2].execution_count, nb.cells[3].execution_count = 2, 3


def never_executed_here(nb):
    del nb.metadata["book"]


def warn(nb):
    output = new_output("stream", name="stderr", text="UserWarning: careful\n")
    by_id(nb, "sum").outputs.append(output)


def print_a_path(nb):
    by_id(nb, "sum").outputs[0].text = "/home/someone/book/data.pt\n"


def print_a_windows_path(nb):
    by_id(nb, "sum").outputs[0].text = "C:\\Users\\someone\\book\n"


def show_a_path_in_html(nb):
    by_id(nb, "control").outputs[0].data["text/html"] = "<b>/tmp/ipykernel_12/3.py</b>"


def show_an_object(nb):
    by_id(nb, "control").outputs[0].data["text/plain"] = "<Control object at 0x7f6f1e9b9e50>"


def skip_the_check(nb):
    by_id(nb, "sum").metadata["tags"] = ["nbval-ignore-output"]


def skip_the_check_by_comment(nb):
    by_id(nb, "sum").source = "# NBVAL_IGNORE_OUTPUT\nprint(1 + 1)"


def call_a_check_from_a_cell_of_any_name(nb):
    by_id(nb, "sum").source = "from attnbook.checks.ch05 import check_scale\n\n\ncheck_scale(1)"


def save_by_hand(nb):
    nb.metadata["language_info"]["version"] = "3.11.7"


def store_the_module(nb):
    next(iter(notebook.states(nb).values()))["state"]["_esm"] = "export default {}"


def remove_the_set_up(nb):
    del nb.cells[0]


def edit_the_set_up(nb):
    nb.cells[0].source += "\n!pip install torch"


BREAKS = [
    (lose_the_state, "no stored state"),
    (empty_the_state, "no stored state"),
    (forget_the_tag, "raised ZeroDivisionError"),
    (skip_a_count, "execution count 7, expected 3"),
    (never_run, "execution count None, expected 2"),
    (lose_a_picture, "shows a plot, and its output holds none"),
    (draw_a_map_unmarked, 'its image lacks "classes": "heat-map"'),
    (draw_a_map_by_a_function_unmarked, 'its image lacks "classes": "heat-map"'),
    (fold_code_without_a_title, "it is folded, and has no code_prompt_show"),
    (fold_a_cell_without_a_title, "it is folded, and has no code_prompt_show"),
    (fold_an_output_without_a_title, "it is folded, and has no code_prompt_show"),
    (add_an_empty_cell, "an empty code cell"),
    (edit_a_cell, "cell 3: changed since it was executed"),
    (remove_a_cell, "removed or moved"),
    (swap_two_cells, "removed or moved"),
    (never_executed_here, "never executed"),
    (warn, "stderr: UserWarning: careful"),
    (print_a_path, "'/home/someone/book/data.pt'"),
    (print_a_windows_path, "Users"),
    (show_a_path_in_html, "/tmp/ipykernel_12"),
    (show_an_object, "0x7f6f1e9b9e50"),
    (skip_the_check, "nbval-ignore-output keeps it from being checked"),
    (skip_the_check_by_comment, "an NBVAL comment keeps it from being checked"),
    (call_a_check_from_a_cell_of_any_name, 'call it "exercise-N-code"'),
    (save_by_hand, "not in normal form"),
    (store_the_module, "not in normal form"),
    (remove_the_set_up, "not the Colab set-up"),
    (edit_the_set_up, "Colab set-up does not follow"),
]


@pytest.mark.parametrize(("break_it", "said"), BREAKS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_broken_notebook_is_stopped(break_it, said):
    nb = sound_notebook()
    break_it(nb)
    assert any(said in fault for fault in gates.faults(nb, None)), gates.faults(nb, None)


def test_every_gate_is_among_the_broken():
    """A gate that no test can close might as well not be there."""
    closed = set()
    for break_it, _ in BREAKS:
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
    by_id(nb, "sum").outputs[
        0
    ].text = "q/k, 1/2, https://arxiv.org/abs/1706.03762, a/tmp, https://x.org/home/a.html\n"
    assert gates.faults(nb, None) == []
