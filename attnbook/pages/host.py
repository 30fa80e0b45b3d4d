"""What a page needs for its widgets to live without a kernel: scripts and styles, as text.

The Sphinx extension writes them into a book's `_static`, the preprocessor of nbconvert into the
page itself. Neither of the two libraries is needed here.
"""

import json
from collections.abc import Iterable

from attnkit.viz.widget import BASE_STYLES, KITS, LATE, WIDGETS, host, source

__all__ = ["carriers", "host", "module_script", "shown", "styles"]


def module_script(name: str) -> str:
    """The script that carries a widget's module, by its `_anywidget_id`, or a kit, by its name.

    A widget's script names the kits that its module begins with: the page carries these once. A
    source travels as a string and is imported from a Blob URL, because a page opened from `file:`
    may not import an ES module by its path.
    """
    if name in KITS:
        carried = {"widget": name, "source": source(*KITS[name])}
    else:
        widget = WIDGETS[name]
        kits = " ".join(kit for kit in widget._kits if kit not in LATE)
        carried = {"widget": name, "kits": kits, "source": source(*widget._modules)}
    return f"Object.assign(document.currentScript.dataset, {json.dumps(carried)});\n"


def shown(models: Iterable[dict]) -> list[str]:
    """The `_anywidget_id`s of our widgets among saved models, in one order."""
    found = {model.get("state", {}).get("_anywidget_id") for model in models}
    return [id_ for id_ in WIDGETS if id_ in found]


def carriers(models: Iterable[dict]) -> list[str]:
    """What a page with these models carries, as `module_script` takes it: kits, then widgets.

    It need not carry those in `LATE` if it has files beside it.
    """
    ids = shown(models)
    used = {kit for id_ in ids for kit in WIDGETS[id_]._kits}
    return [*(kit for kit in KITS if kit in used), *ids]


def styles(ids: Iterable[str] = ()) -> str:
    """The style sheet of the built pages: what all widgets share, and those of these widgets."""
    own = (name for id_ in ids for name in WIDGETS[id_]._styles)
    return source(*BASE_STYLES, "page.css", *own)
