"""What a page needs for its widgets to live without a kernel: scripts and styles, as text.

The Sphinx extension writes them into a book's `_static`, the preprocessor of nbconvert into the
page itself. Neither of the two libraries is needed here.
"""

import json
from collections.abc import Iterable

from attnkit.viz.notebook import WIDGETS
from attnkit.viz.widget import source


def host() -> str:
    """The script that brings the widgets of a page to life; it comes after those of the widgets."""
    return (
        f"(() => {{\n{source('stand_in.js', 'arrive.js', 'near.js', 'host.js')}\nhost();\n}})();\n"
    )


def module_script(id_: str) -> str:
    """The script that carries the module of this widget of attnkit, by its `_anywidget_id`.

    A source travels as a string and is imported from a Blob URL, because a page opened from
    `file:` may not import an ES module by its path.
    """
    carried = json.dumps({"widget": id_, "source": WIDGETS[id_]._esm})
    return f"Object.assign(document.currentScript.dataset, {carried});\n"


def shown(models: Iterable[dict]) -> list[str]:
    """The `_anywidget_id`s of attnkit's widgets among saved models, in one order."""
    found = {model.get("state", {}).get("_anywidget_id") for model in models}
    return [id_ for id_ in WIDGETS if id_ in found]


def styles() -> str:
    """The style sheet of the built pages: those of all widgets."""
    return source(*dict.fromkeys(name for widget in WIDGETS.values() for name in widget._styles))
