"""Notebooks turned into one HTML file, in which the widgets live without a kernel or a network.

`jupyter nbconvert --to html` loads widgets from a server on the network: offline it shows nothing
where they are. With this preprocessor the file brings all that it needs. The package installs a
setting, `etc/jupyter/jupyter_nbconvert_config.json`, that has nbconvert use it.
"""

import html

from nbconvert.preprocessors import Preprocessor

from attnkit.viz.host import carriers, host, module_script, shown, styles
from attnkit.viz.notebook import NO_PICTURE, STATE_MIME, VIEW_MIME, closed, inert, states


class LiveWidgets(Preprocessor):
    """Put the widgets' state, host and pictures into the outputs, as a built book has them.

    Each view becomes HTML that holds the view and, until the widget has drawn, the picture that
    was saved beside it; without JavaScript the picture stays. A notebook in which no anywidget
    was saved stays as it is.
    """

    def preprocess(self, nb, resources):
        if not any("_esm" in model.get("state", {}) for model in states(nb).values()):
            return nb, resources
        head = _head(states(nb))
        for cell in nb.cells:
            for output in cell.get("outputs", []):
                view = output.get("data", {}).pop(VIEW_MIME, None)
                if view is not None:
                    output.data["text/html"] = head + _view(view, output.data)
                    head = ""  # once a page
        # Without it the template does not load the widget manager from the network.
        del nb.metadata["widgets"]
        return nb, resources


def _view(view: dict, data: dict) -> str:
    """A view with its picture, or a line where there is none."""
    if "image/png" in data:
        alt = html.escape(data.get("text/plain", "").strip(), quote=True)
        picture = f'<img alt="{alt}" src="data:image/png;base64,{data["image/png"].strip()}">'
        still = f'<div class="attnkit-fallback">{picture}</div>'
    else:
        still = NO_PICTURE
    script = f'<script type="{VIEW_MIME}">{inert(view)}</script>'
    return f'<div class="attnkit-view">{script}{still}</div>'


def _head(state: dict) -> str:
    """The state of all widgets, their styles and modules, and the host, which starts when the page
    is read."""
    modules = "".join(
        f"<script>{closed(module_script(name))}</script>" for name in carriers(state.values())
    )
    start = f'document.addEventListener("DOMContentLoaded", () => {{\n{closed(host())}\n}});'
    return (
        f'<script type="{STATE_MIME}">{inert({"state": state})}</script>'
        f"<style>{styles(shown(state.values()))}</style>{modules}<script>{start}</script>"
    )
