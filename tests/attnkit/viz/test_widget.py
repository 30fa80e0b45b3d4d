"""What holds for every widget: its module is small, whole, and where it belongs."""

import json
import re

import pytest
import torch

from attnbook.machines import MACHINES
from attnbook.pages.host import host, module_script, styles
from attnbook.pages.notebook import STAND_IN, STATE_MIME, strip_modules
from attnkit.viz import AttentionExplorer
from attnkit.viz.widget import BASE_STYLES, HERE, KITS, LATE, WIDGETS, source
from booktools import weigh

every_widget = pytest.mark.parametrize("id_", WIDGETS)


def carried(name: str) -> dict:
    return json.loads(module_script(name).split(", ", 1)[1].removesuffix(");\n"))


def test_every_widget_is_known_to_notebooks_and_pages():
    assert set(WIDGETS.values()) == {AttentionExplorer, *MACHINES.values()}
    assert all(id_ == f"{one.__module__}.{one.__name__}" for id_, one in WIDGETS.items())


@every_widget
def test_the_module_as_delivered_is_small_and_depends_on_nothing(id_):
    widget = WIDGETS[id_]
    own = len(source(*widget._modules).encode())
    assert own <= weigh.MODULE_LIMITS.get(widget.__name__, weigh.MACHINE_LIMIT)
    assert "import " not in widget._esm
    assert "http" not in widget._esm.replace("http://www.w3.org/2000/svg", "").replace('"http"', "")
    assert len(re.findall("^export ", widget._esm, re.MULTILINE)) == 1


def test_host_and_kits_are_small():
    assert len(source("host.js").encode()) <= weigh.HOST_LIMIT
    for name, files in KITS.items():
        assert len(source(*files).encode()) <= weigh.KIT_LIMITS[name]


@every_widget
def test_every_name_of_a_module_is_declared_once(id_):
    """So nothing that the widgets share stands again in one of them."""
    widget = WIDGETS[id_]
    files = [*(file for kit in widget._kits for file in KITS[kit]), *widget._modules]
    text = "".join((HERE / part).read_text("utf-8") for part in files)
    names = re.findall(r"^(?:const|(?:async )?function|class) (\w+)", text, re.MULTILINE)
    assert len(names) > 30
    assert len(names) == len(set(names))


@every_widget
def test_the_pages_get_kits_module_and_styles_once_and_the_notebook_none(id_):
    widget = WIDGETS[id_]
    script = carried(id_)
    assert script["kits"].split() == [kit for kit in widget._kits if kit not in LATE]
    parts = [*(carried(kit)["source"] for kit in widget._kits), script["source"]]
    assert "".join(parts) == widget._esm
    assert source(*BASE_STYLES) + source(*widget._styles) == widget._css
    assert all(styles([id_]).count(source(style)) == 1 for style in (*BASE_STYLES, *widget._styles))
    assert all(part not in host() for part in parts)
    traits = {"_anywidget_id": id_, "_esm": widget._esm, "_css": widget._css}
    notebook = {"metadata": {"widgets": {STATE_MIME: {"state": {"x": {"state": traits}}}}}}
    strip_modules(notebook)
    assert traits == {"_anywidget_id": id_, "_esm": STAND_IN}
    assert len(STAND_IN) < 150


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text("the old page")

    def stopped(path, text, encoding):
        path.write_bytes(text[:100].encode(encoding))
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        AttentionExplorer(torch.eye(3), torch.eye(3)).save(page)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [
        ("page.html", b"the old page")
    ]
