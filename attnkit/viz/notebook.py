"""Widgets in notebook files: what must be saved with them, and what must not."""

from collections.abc import Iterator

from attnkit.viz.cost_curves import CostCurves
from attnkit.viz.explorer import AttentionExplorer
from attnkit.viz.head_switch import HeadSwitch

STATE_MIME = "application/vnd.jupyter.widget-state+json"
VIEW_MIME = "application/vnd.jupyter.widget-view+json"

WIDGETS = {
    f"{widget.__module__}.{widget.__name__}": widget
    for widget in (AttentionExplorer, HeadSwitch, CostCurves)
}
"""The widgets of this package by `_anywidget_id`."""

EXPLORER_ID = "attnkit.viz.explorer.AttentionExplorer"

STAND_IN = (
    "export default{render({el}){el.textContent='Run this cell to bring the explorer to life.'}}"
)
"""What the committed notebook holds in place of the module's source."""


def strip_modules(notebook: dict) -> dict:
    """Replace the modules in the notebook's widget state by a one-line stand-in each.

    Changes `notebook` (a mapping, as nbformat reads it) in place and returns it. Jupyter repeats
    the module's source for every instance; without it a change of the explorer does not touch the
    notebooks. The built book gets the source from the host, Jupyter and Colab from the package
    when the cell runs.
    """
    for model in _state(notebook).values():
        traits = model.get("state", {})
        if traits.get("_anywidget_id") in WIDGETS:
            traits["_esm"] = STAND_IN
            traits.pop("_css", None)
    return notebook


def missing_state(notebook: dict) -> list[str]:
    """One line for each widget view of the notebook that has no saved state; [] when all have."""
    state = _state(notebook)
    return [
        f"cell {cell}: widget view {model} has no saved state"
        for cell, model in _views(notebook)
        if model not in state
    ]


def _state(notebook: dict) -> dict:
    widgets = notebook.get("metadata", {}).get("widgets", {})
    return widgets.get(STATE_MIME, {}).get("state", {})


def _views(notebook: dict) -> Iterator[tuple[int, str]]:
    for index, cell in enumerate(notebook.get("cells", [])):
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get(VIEW_MIME)
            if view is not None:
                yield index, view["model_id"]
