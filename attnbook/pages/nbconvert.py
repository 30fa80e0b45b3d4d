"""Notebooks turned into one HTML file, in which the widgets live without a kernel or a network.

`jupyter nbconvert --to html` loads widgets from a server on the network: offline it shows nothing
where they are. `jupyter nbconvert --to attention-html` writes a file that brings all they need.
"""

import html

from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import Preprocessor
from traitlets import default

from attnbook.pages.drawn import embed
from attnbook.pages.host import carriers, host, module_script, shown, styles
from attnbook.pages.notebook import NO_PICTURE, STATE_MIME, VIEW_MIME, closed, inert, states

# What the host has read is its own: the manager of other widgets would draw it a second time.
DONE = f"""
const read = '.attnkit-state, .attnkit-view script[type="{VIEW_MIME}"]';
for (const tag of document.querySelectorAll(read)) tag.remove();
"""


class LiveWidgets(Preprocessor):
    """Put the widgets' state, host and pictures into the outputs, as a built book has them.

    Each view of an anywidget becomes HTML that holds the view and, until the widget has drawn, the
    picture that was saved beside it; without JavaScript the picture stays. Views of other widgets
    keep the manager, which comes from the network. A notebook in which no anywidget was saved stays
    as it is.
    """

    def preprocess(self, nb, resources):
        models = states(nb)
        if models:
            nb.metadata["widgets"][STATE_MIME] = {"state": models}  # as nbconvert asks for it
        live = {id_ for id_, model in models.items() if "_esm" in model.get("state", {})}
        if not live:
            return nb, resources
        head, others = _head(models), False
        for cell in nb.cells:
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                if VIEW_MIME not in data:
                    continue
                if data[VIEW_MIME]["model_id"] not in live:
                    others = True
                    continue
                data["text/html"] = head + _view(data.pop(VIEW_MIME), data)
                head = ""  # once a page
        if not others:
            # Without it the template does not load the widget manager from the network.
            del nb.metadata["widgets"]
        return nb, resources


class Drawings(Preprocessor):
    """Put the book's drawings into the text: nbconvert reads no file above a notebook's folder."""

    def preprocess_cell(self, cell, resources, index):
        if cell.cell_type == "markdown":
            cell.source = embed(cell.source)
        return cell, resources


class LiveHTMLExporter(HTMLExporter):
    """HTML in one file: its widgets live in it, and its pictures are in it."""

    export_from_notebook = "HTML with live widgets"

    @default("embed_images")
    def _embed_images(self):
        return True

    def _init_preprocessors(self):
        super()._init_preprocessors()
        self.register_preprocessor(Drawings, enabled=True)
        self.register_preprocessor(LiveWidgets, enabled=True)


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
    start = f'document.addEventListener("DOMContentLoaded", () => {{\n{closed(host())}{DONE}}});'
    return (
        f'<script type="{STATE_MIME}" class="attnkit-state">{inert({"state": state})}</script>'
        f"<style>{styles(shown(state.values()))}</style>{modules}<script>{start}</script>"
    )
