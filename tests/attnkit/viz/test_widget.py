"""What holds for every widget: its module is small, whole, and where it belongs."""

import json
import re

import pytest
import torch

from attnbook.machines import (
    CacheScrubber,
    CostCurves,
    GateSlider,
    HeadSwitch,
    LiveTranslator,
    QueryPlane,
)
from attnkit.viz import AttentionExplorer
from attnkit.viz.notebook import STAND_IN, STATE_MIME, WIDGETS, strip_modules
from attnkit.viz.sphinx_ext import host, module_script, styles
from attnkit.viz.widget import HERE, source
from attnlab import Translator
from attnlab.tasks import Vocab
from booktools import weigh

ONE = torch.ones(1, 1, 1)
MADE = {
    "explorer": AttentionExplorer(ONE, ONE),
    "switch": HeadSwitch(
        ONE, ONE[None], ONE[0], tokens=["a"], row=0, questions=["which?"], answers=["x"]
    ),
    "curves": CostCurves({"memory": {"whole": {1: 1.0}}}, units={"memory": "MiB"}),
    "translator": LiveTranslator(Translator(Vocab(["a"]), Vocab(["b"]), "additive", hidden_dim=2)),
    "gate": GateSlider(["a", "b"], [1, 0]),
    "plane": QueryPlane([[1, 0]], query=[1, 1], names=["a"]),
    "cache": CacheScrubber(["a"], embed_dim=4, num_heads=2),
}
every_widget = pytest.mark.parametrize("name", MADE)


def test_every_widget_is_known_to_notebooks_and_pages():
    assert {widget._anywidget_id for widget in MADE.values()} == set(WIDGETS)


@every_widget
def test_the_module_as_delivered_is_small_and_depends_on_nothing(name):
    module = MADE[name]._esm
    assert len(module.encode()) <= weigh.MODULE_LIMITS[name]
    assert "import " not in module
    assert "http" not in module
    assert module.count("export ") == 1


def test_the_host_is_small():
    assert len(source("host.js").encode()) <= weigh.HOST_LIMIT


@every_widget
def test_every_name_of_a_module_is_declared_once(name):
    """So nothing that the widgets share stands again in one of them."""
    text = "".join((HERE / part).read_text("utf-8") for part in MADE[name]._modules)
    names = re.findall(r"^(?:const|function|class) (\w+)", text, re.MULTILINE)
    assert len(names) > 10
    assert len(names) == len(set(names))


@every_widget
def test_the_pages_get_module_and_style_once_and_the_notebook_neither(name):
    widget = MADE[name]
    assert module_script(widget._anywidget_id).count(json.dumps(widget._esm)) == 1
    assert json.dumps(widget._esm) not in host()
    assert all(styles().count(source(style)) == 1 for style in widget._styles)
    traits = widget.get_state(["_anywidget_id", "_esm", "_css"])
    notebook = {"metadata": {"widgets": {STATE_MIME: {"state": {"x": {"state": traits}}}}}}
    strip_modules(notebook)
    assert traits == {"_anywidget_id": widget._anywidget_id, "_esm": STAND_IN}
    assert len(STAND_IN) < 150
