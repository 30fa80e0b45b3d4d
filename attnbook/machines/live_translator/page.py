"""Widgets on pages that are no notebooks: their directives, and the files of live translators."""

import hashlib
import html
import importlib
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from anywidget import AnyWidget
from docutils import nodes
from docutils.parsers.rst import directives
from ipywidgets.widgets.widget import _remove_buffers
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from attnbook.machines.live_translator import LiveTranslator, file_names
from attnbook.machines.live_translator.weights import payload
from attnbook.pages.notebook import STILL, VIEW_MIME, inert
from attnkit.viz.heatmap import png
from attnkit.viz.widget import Widget
from attnlab.applications import Translator


def write_models(folder: Path, named: Mapping[str, str]) -> list[Path]:
    """Write the files of the translators into `folder`, twice each; return those for `http:`.

    A page from `http:` fetches the safetensors file. One from `file:` may not, and runs the script
    beside it, which holds the same in base64.

    Args:
        folder: the book's `_static`.
        named: where each comes from, "module:function", by name: a function that returns
            translators by name, or a `LiveTranslator` of them.
    """
    written = []
    for name, origin in named.items():
        found = translators(origin)
        for file, translator in zip(file_names(name, len(found)), found.values(), strict=True):
            content = payload(translator, "int8")
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            text = b64encode(content).decode()
            script = f'document.currentScript.dataset.base64="{text}";\n'
            path.with_name(f"{path.name}.js").write_text(script, "utf-8")
            written.append(path)
    return written


@lru_cache
def translators(origin: str) -> dict[str, Translator]:
    """The translators by name that the function "module:function" returns, or whose widget.

    Raises:
        ExtensionError: there is no such function.
    """
    made = made_by(origin)
    return made.translators if isinstance(made, LiveTranslator) else made


def made_by(origin: str, argument: str = "live_translators") -> object:
    """Call the function "module:function", which is what `argument` was given.

    Raises:
        ExtensionError: there is no such function.
    """
    module, _, function = origin.partition(":")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        expected = f"{argument}: expected module:function"
        raise ExtensionError(f"{expected}, got {origin!r}: {error}") from error
    if not callable(make):
        raise ExtensionError(f"{argument}: expected module:function, got {origin!r}, no function")
    return make()


class LiveTranslatorDirective(SphinxDirective):
    """`live-translator`: the widget on a page that is no notebook.

    The argument is a name of `live_translators` in the configuration, the content sentences to
    choose from, one a line, of which the first is translated at once. A name whose function returns
    a whole `LiveTranslator` takes neither content nor options.
    """

    required_arguments = 1
    option_spec: ClassVar = {"title": directives.unchanged, "caption": directives.unchanged}
    has_content = True

    def run(self) -> list[nodes.Node]:
        name, known = self.arguments[0], self.config.live_translators
        if name not in known:
            names = ", ".join(known) or "none"
            raise self.error(
                f"live-translator: expected one of live_translators ({names}), got {name!r}"
            )
        sentences = [line.strip() for line in self.content if line.strip()]
        made = made_by(known[name])
        if not isinstance(made, LiveTranslator):
            made = LiveTranslator(made, sentences=sentences, files=name, **self.options)
        elif self.options or sentences:
            raise self.error(
                f"live-translator: {name!r} comes whole: expected neither options nor sentences"
            )
        return _nodes(made)


class WidgetDirective(SphinxDirective):
    """`attention-widget`: any of attnkit's widgets on a page that is no notebook.

    The argument is the function that makes it, "module:function".
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return _nodes(widget_of(self.arguments[0]))


def widget_of(origin: str) -> Widget:
    """The widget that the function "module:function" returns.

    Raises:
        ExtensionError: there is no such function, or it returns something else.
    """
    made = made_by(origin, "attention-widget")
    if not isinstance(made, Widget):
        found = f"a {type(made).__name__}"
        raise ExtensionError(f"attention-widget: expected {origin} to return a widget, got {found}")
    return made


def _nodes(widget: Widget) -> list[nodes.Node]:
    return [nodes.raw("", part, format="html") for part in view(widget)]


def view(widget: Widget) -> tuple[str, str, str]:
    """The markup of a view: its beginning, the tag with its state, and its picture with its end,
    for when no script runs, and for paper while the widget has nothing to show. A widget that has
    a `still` is seen in it until its script has come."""
    # An instance is of a class of its own, which anywidget makes: its traits are inherited.
    every, of_all = widget.trait_names(sync=True), AnyWidget.class_trait_names(sync=True)
    kept = {name for name in {*every} - {*of_all} if not name.startswith("_")} | {"_anywidget_id"}
    found = {name: v for name, v in widget.get_state().items() if name in kept and v != b""}
    plain, paths, held = _remove_buffers(found)
    parts = [{"path": p, "data": b64encode(v).decode()} for p, v in zip(paths, held, strict=True)]
    state = {"state": plain, "buffers": parts}
    # Not the random one of the widget, or no two builds would be the same.
    name = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:32]
    data = inert({"model_id": name, "state": state})
    if hasattr(widget, "still"):
        shown, picture = " attnkit-first", widget.still()
    else:
        alt, shown = html.escape(widget.description(), quote=True), ""
        picture = f'<img alt="{alt}" src="data:image/png;base64,{png(widget.figure())}">'
    # Room is kept for what comes by itself; what the reader asks for may push the page down.
    kind = widget._anywidget_id.split(".")[-2].replace("_", "-")
    room = f" attnkit-{kind}" if getattr(widget, "comes_by_itself", False) else ""
    return (
        f'<div class="attnkit-view{room}">',
        f'<script type="{VIEW_MIME}">{data}</script>',
        f'<div class="attnkit-paper{shown}">{picture}{STILL}</div></div>',
    )
