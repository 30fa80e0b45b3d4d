"""The normal form: written twice the same, free of what differs between runs."""

from __future__ import annotations

import copy
import json

from nbformat.v4 import new_code_cell, new_notebook, new_output

from attnbook.pages import notebook
from attnbook.pages.notebook import STAND_IN, STATE_MIME
from booktools import gates, normal_form
from tests.book.sample import sound_notebook, view, widget


def test_normalising_twice_changes_nothing():
    once = sound_notebook()
    twice = normal_form.normalise(copy.deepcopy(once))
    assert normal_form.dumps(twice) == normal_form.dumps(once)


def test_random_model_ids_do_not_show():
    """The same widgets under other ids, stored in another order, give the same file."""
    first = showing("aa", aa=widget(("bb", "cc")), bb=widget(n=1), cc=widget(n=2))
    second = showing("zz", yy=widget(n=2), xx=widget(n=1), zz=widget(("xx", "yy")))
    one, other = (normal_form.dumps(normal_form.normalise(nb)) for nb in (first, second))
    assert one == other
    states = notebook.states(first)
    parent = states[normal_form.view_ids(first)[0]]
    children = [states[ref.removeprefix("IPY_MODEL_")] for ref in parent["state"]["children"]]
    assert [child["state"]["n"] for child in children] == [1, 2]


def test_models_out_of_use_the_modules_source_and_places_in_a_traceback_are_dropped():
    nb = sound_notebook()
    assert nb.cells[-1].outputs[0].traceback == ["ZeroDivisionError: division by zero"]
    states = notebook.states(nb)
    assert len(states) == 2
    assert {m["state"]["_esm"] for m in states.values()} == {STAND_IN}
    assert not any("_css" in m["state"] for m in states.values())


def showing(id_, **states):
    """A notebook with one cell, which shows the model with this id, and the models stored in it."""
    cell = new_code_cell("C()", id="c", execution_count=1, outputs=[view(id_)])
    return new_notebook(cells=[cell], metadata={"widgets": {STATE_MIME: {"state": states}}})


def test_a_link_between_two_controls_is_kept():
    """No view reaches a jslink, but without it a control on the page would be dead."""
    nb = showing("aa", ln=widget(("aa",), link=1), aa=widget())
    states = notebook.states(normal_form.normalise(nb)).values()
    assert sorted("link" in model["state"] for model in states) == [False, True]


def test_buffers_come_in_the_order_of_their_paths():
    model = widget(q=None, k=None)
    model["buffers"] = [{"path": ["q"], "data": "AA=="}, {"path": ["k"], "data": "BB=="}]
    (stored,) = notebook.states(normal_form.normalise(showing("aa", aa=model))).values()
    assert [buffer["path"] for buffer in stored["buffers"]] == [["k"], ["q"]]


def test_what_a_run_or_an_editor_leaves_behind_is_removed():
    left = {"execution": {"iopub.status.busy": "2026-01-01T00:00:00Z"}, "collapsed": True}
    kept = {"tags": ["hide-input"], "mystnb": {"image": {"alt": "two letters"}}}
    outputs = [new_output("stream", text="a"), new_output("stream", text="b\n")]
    cell = new_code_cell(
        "print('ab')\n\n", id="c", execution_count=1, metadata=left | kept, outputs=outputs
    )
    kernel = {"name": "mine", "display_name": "Mine", "language": "python"}
    language = {"name": "python", "version": "3.11.7"}
    metadata = {"language_info": language, "kernelspec": kernel, "vscode": {"x": 1}}
    nb = new_notebook(cells=[cell], metadata=metadata)
    normal_form.normalise(nb)
    assert set(nb.metadata) == {"kernelspec", "language_info"}
    assert "version" not in nb.metadata.language_info
    assert nb.metadata.kernelspec.name == "python3"
    assert set(cell.metadata) == {"tags", "mystnb"}
    assert [output.text for output in cell.outputs] == ["ab\n"]
    assert cell.source == "print('ab')"


def test_missing_and_repeated_cell_ids_are_settled_by_place():
    nb = new_notebook(cells=[new_code_cell(str(n), id=f"c{n}") for n in range(3)])
    del nb.cells[0]["id"]
    nb.cells[1].id = nb.cells[2].id = "same"
    normal_form.normalise(nb)
    assert [cell.id for cell in nb.cells] == ["cell-000", "same", "cell-002"]


def saved_by_jupyterlab(nb):
    """What JupyterLab makes of a notebook in which a comma was mended."""

    def whole(value):
        if isinstance(value, float) and value.is_integer():
            return int(value)  # JavaScript knows one kind of number
        if isinstance(value, dict):
            return {key: whole(item) for key, item in value.items()}
        return [whole(item) for item in value] if isinstance(value, list) else value

    nb = json.loads(normal_form.dumps(nb))
    nb["metadata"]["widgets"] = whole(nb["metadata"]["widgets"])
    mode = {"name": "ipython", "version": 3}
    nb["metadata"]["language_info"] |= {"codemirror_mode": mode, "version": "3.11.7"}
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["metadata"] |= {"trusted": True, "execution": {"iopub.status.busy": "2026"}}
    nb["cells"][1]["source"][-1] += ", mended"
    return json.dumps(nb, indent=1, ensure_ascii=False) + "\n"


def test_a_mended_sentence_needs_no_execution(tmp_path, capsys):
    """The gate names the command that writes the file again, and what it writes is accepted."""
    file = tmp_path / "05 mended.ipynb"
    nb = sound_notebook()
    file.write_text(saved_by_jupyterlab(nb))
    (fault,) = gates.faults(normal_form.read(file), None)
    assert "python -m booktools.normal_form" in fault
    assert gates.main([str(file)]) == 1
    assert "make notebooks" not in "".join(capsys.readouterr())

    assert normal_form.main([str(file)]) == 1  # as a hook that has changed something
    assert file.name in capsys.readouterr().out
    written = normal_form.read(file)
    assert gates.faults(written, None) == []
    assert written.cells[1].source == nb.cells[1].source + ", mended"
    assert [c.get("outputs") for c in written.cells] == [c.get("outputs") for c in nb.cells]
    assert normal_form.main([str(file)]) == 0
    assert capsys.readouterr().out == ""


def test_changed_code_stays_stale_in_normal_form(tmp_path):
    nb = sound_notebook()
    nb.cells[2].source = "print(2 + 2)"
    file = tmp_path / "a.ipynb"
    file.write_text(normal_form.dumps(nb).replace('"name": "python"', '"name":  "python"'))
    normal_form.main([str(file)])
    assert any("changed since" in fault for fault in gates.faults(normal_form.read(file), None))
