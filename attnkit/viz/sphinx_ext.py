"""The Sphinx extension that brings widgets to life in a built book, without a kernel.

Name it in `_config.yml`::

    sphinx:
      extra_extensions: [attnkit.viz.sphinx_ext]
      config:
        nb_ipywidgets_js: {}

Any anywidget comes to life: attnkit's, and others, whose module travels in the saved state. The
extension writes `_static/attnkit-explorer.js` (the host, with the sources of attnkit's modules)
and `_static/attnkit-explorer.css` (their styles), and adds them once, the script deferred, to every
page with a widget. In those pages the notebook's picture stands beside the view until the widget
has drawn, so that readers without JavaScript keep it. A view without saved state fails the build.

A live translator needs no notebook. Name the models, by the function that returns them::

    sphinx:
      config:
        live_translators:
          toy-french: attnbook.translators:toy_french

and place the directive, with a sentence to choose from on each line::

    ```{live-translator} toy-french
    :title: Type a sentence

    the black cat did not sleep
    ```

The weights, in eight bits, are written to `_static/live-translator/`; a page reads them when its
reader comes near the widget. So does the page of a notebook whose widget was given the name, as
`LiveTranslator(..., files="toy-french")`.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from attnkit.viz.live_translator import page
from attnkit.viz.notebook import STATE_MIME, VIEW_MIME, WIDGETS
from attnkit.viz.widget import source

_SETTING = re.compile(r"#([a-z][a-z0-9-]*)=(.+)")
SCRIPT, STYLE = "attnkit-explorer.js", "attnkit-explorer.css"


def bundle() -> str:
    """The script of the built pages: the host, called with the sources of the modules.

    A source travels as a string and is imported from a Blob URL, because a page opened from
    `file:` may not import an ES module by its path.
    """
    sources = {id_: widget._esm for id_, widget in WIDGETS.items()}
    return f"(() => {{\n{source('stand_in.js', 'host.js')}\nhost({json.dumps(sources)});\n}})();\n"


def styles() -> str:
    """The style sheet of the built pages: those of all widgets."""
    return source(
        "explorer/explorer.css",
        "roles.css",
        "head_switch/switch.css",
        "cost_curves/curves.css",
        "live_translator/translator.css",
        "gate_slider/gate.css",
        "query_plane/plane.css",
        "cache_scrubber/scrubber.css",
    )


class ShowMeLinks(SphinxTransform):
    """Leave links to a setting of a widget, `[show me](#explorer-05-1=2)`, to the widget.

    MyST would look for a heading of that name.
    """

    default_priority = 870  # before MyST's ResolveAnchorIds

    def apply(self, **kwargs) -> None:
        for link in self.document.findall(nodes.reference):
            if link.get("id_link") and _SETTING.fullmatch(link["refuri"]):
                del link["id_link"]
                link["classes"].append("attnkit-show-me")


class KeepPicture(SphinxPostTransform):
    """Put each widget's picture beside its view, before MyST-NB selects one of the two."""

    default_priority = 3
    builders = ("html", "dirhtml", "singlehtml")

    def run(self, **kwargs) -> None:
        for views in list(self.document.findall(_is_view)):
            siblings = {child["mime_type"]: child for child in views.parent.children}
            views.children = [
                _html('<div class="attnkit-view">'),
                *views.children,
                *_picture(siblings),
                _html("</div>"),
            ]


def _is_view(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("mime_type") == VIEW_MIME


def _picture(siblings: dict[str, nodes.Element]) -> list[nodes.Node]:
    """The fallback picture, with the view's description as its alt text; a line when none."""
    if "image/png" not in siblings:
        return [_html("<noscript><p>This control needs JavaScript.</p></noscript>")]
    image = next(siblings["image/png"].findall(nodes.image)).deepcopy()
    if not image.get("alt") and "text/plain" in siblings:
        image["alt"] = siblings["text/plain"].astext().strip()
    # The script removes the picture: nobody should wait for it.
    image["loading"] = "lazy"
    line = '<p class="attnkit-still">With JavaScript, this picture is a control to try out.</p>'
    return [_html('<div class="attnkit-fallback">'), image, _html(line + "</div>")]


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def check_state(app: Sphinx, doctree: nodes.document) -> None:
    """Fail the build for a widget view without saved state, and for a link to no step."""
    views = [node for node in doctree.findall(nodes.raw) if VIEW_MIME in node.astext()]
    links = [node for node in doctree.findall(nodes.reference) if _is_show_me(node)]
    if not views and not links:
        return
    scripts = getattr(app.env, "nb_metadata", {}).get(app.env.docname, {}).get("js_files", {})
    _, attributes = scripts.get("ipywidgets_state", (None, {}))
    state = json.loads(attributes.get("body", "{}")).get("state", {})
    for node in views:
        view = json.loads(node.astext().split(">", 1)[1].rsplit("<", 1)[0])
        model = view["model_id"]
        if model not in state and "state" not in view:
            raise ExtensionError(
                f"{app.env.docname}: widget view {model} has no state of type {STATE_MIME}; run "
                "the notebook again and save its widgets"
            )

    for link in links:
        anchor, target = _SETTING.fullmatch(link["refuri"]).groups()
        if not _leads_somewhere(state, anchor, target):
            raise ExtensionError(
                f"{app.env.docname}: no explorer on this page has {link['refuri']}"
            )


def _is_show_me(node: nodes.reference) -> bool:
    return "attnkit-show-me" in node["classes"]


def _leads_somewhere(state: dict, anchor: str, target: str) -> bool:
    """Whether a widget of this page has the name, and, for a number, a step of that number."""
    for model in state.values():
        traits = model.get("state", {})
        if traits.get("anchor") == anchor:
            return not target.isdigit() or 1 <= int(target) <= len(traits.get("tour", []))
    return False


def write_files(app: Sphinx) -> None:
    """Write script and style before any page is, so that Sphinx finds them when it links them."""
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SCRIPT).write_text(bundle(), "utf-8")
        (folder / STYLE).write_text(styles(), "utf-8")
        page.write_models(folder, app.config.live_translators)


def add_files(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Add script and style to this page when it holds a widget view."""
    if doctree is not None and any(VIEW_MIME in n.astext() for n in doctree.findall(nodes.raw)):
        app.add_js_file(SCRIPT, loading_method="defer")
        app.add_css_file(STYLE)


def setup(app: Sphinx) -> dict[str, bool | str]:
    app.add_transform(ShowMeLinks)
    app.add_post_transform(KeepPicture)
    app.add_config_value("live_translators", {}, "html", dict)
    app.add_directive("live-translator", page.LiveTranslatorDirective)
    app.connect("builder-inited", write_files)
    app.connect("doctree-read", check_state)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
