"""Widgets in notebook files: what must be saved with them, and what must not."""

import json
import re
from collections.abc import Iterator
from typing import Any

from attnkit.viz.widget import WIDGETS

STATE_MIME = "application/vnd.jupyter.widget-state+json"
VIEW_MIME = "application/vnd.jupyter.widget-view+json"

EXPLORER_ID = "attnkit.viz.explorer.AttentionExplorer"

STAND_IN = (
    "export default{render({el}){el.textContent='Run this cell to bring the explorer to life.'}}"
)
"""What the committed notebook holds in place of the module's source."""

STILL = '<p class="attnkit-still">With JavaScript, this picture is a control to try out.</p>'
"""What a page says below the picture of a widget where no script runs."""

NO_PICTURE = "<noscript><p>This control needs JavaScript.</p></noscript>"
"""What a page holds in place of a widget that has no picture."""


def leave_out_module(traits: dict) -> None:
    """Put a one-line stand-in for its module into a saved widget's traits, and drop its style.

    Jupyter repeats the module's source for every instance; without it a change of the explorer
    does not touch the notebooks. The built book gets the source from the host, Jupyter and Colab
    from the package when the cell runs. Widgets without a module stay as they are.
    """
    traits.pop("_css", None)
    if "_esm" in traits:
        traits["_esm"] = STAND_IN


def strip_modules(notebook: dict) -> dict:
    """Replace the modules of this package's widgets in the notebook's state by the stand-in.

    Changes `notebook` (a mapping, as nbformat reads it) in place and returns it.
    """
    for model in states(notebook).values():
        if model.get("state", {}).get("_anywidget_id") in WIDGETS:
            leave_out_module(model["state"])
    return notebook


def states(notebook: dict) -> dict:
    """The saved widget models by id; {} when there are none."""
    saved = notebook.get("metadata", {}).get("widgets", {}).get(STATE_MIME, {})
    return saved.get("state", saved)  # Colab saves the models without this level


def views(notebook: dict) -> Iterator[tuple[int, dict]]:
    """The index of the cell and the view, as the notebook holds it, of each widget on show."""
    for index, cell in enumerate(notebook.get("cells", [])):
        for output in cell.get("outputs", []):
            view = output.get("data", {}).get(VIEW_MIME)
            if view is not None:
                yield index, view


def inert(value: Any) -> str:
    """JSON that an HTML parser takes for text, whatever its strings hold.

    `</script>` would end the element that holds it, and after `<!--<script>` a parser waits for a
    second end: the rest of the page would be gone.

    >>> inert("</script>")
    '"\\\\u003c/script>"'
    """
    return json.dumps(value).replace("<", "\\u003c")


def closed(script: str) -> str:
    """A script that cannot end the element that holds it, nor keep it from ending.

    What would is in its strings, where a backslash before these letters says nothing.
    """
    return re.sub("<(?=/|!--|script)", r"<\\", script, flags=re.IGNORECASE)
