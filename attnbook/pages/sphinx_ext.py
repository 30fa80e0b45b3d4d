"""The Sphinx extension that brings widgets to life in a built book, without a kernel.

Name it in `_config.yml`::

    sphinx:
      extra_extensions: [attnbook.pages.sphinx_ext]
      config:
        nb_ipywidgets_js: {}

Any anywidget comes to life: attnkit's, and others, whose module travels in the saved state. The
extension writes into `_static` the host, `attnkit-host.js`; a script and a style sheet for each of
our widgets; a script for each kit that their modules begin with; and `attnkit-widgets.css`, what
all share of their styles. To a page with a widget it adds host, styles and the scripts of the
widgets that are there, once and deferred. In those pages the
notebook's picture stands beside the view until the reader comes near and the widget has drawn, so
that readers without JavaScript keep it. A view without saved state fails the build.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from attnbook.pages.host import carriers, host, module_script, shown, styles
from attnbook.pages.notebook import NO_PICTURE, STATE_MIME, STILL, VIEW_MIME, inert
from attnkit.viz.widget import KITS, LATE, WIDGETS, source

_SETTING = re.compile(r"#([a-z][a-z0-9-]*)=(.+)", re.DOTALL)  # a text in it has lines
HOST, STYLE = "attnkit-host.js", "attnkit-widgets.css"


def script_names(models: Iterable[dict]) -> list[str]:
    """The files in `_static` that a page with these models needs, in the order they run in."""
    carried = (name for name in carriers(models) if name not in LATE)
    return [*(f"{_file_name(name)}.js" for name in carried), HOST]


def style_names(models: Iterable[dict]) -> list[str]:
    """The style sheets in `_static` that a page with these models needs."""
    return [STYLE, *(f"{_file_name(id_)}.css" for id_ in shown(models))]


def _file_name(name: str) -> str:
    """Of a kit, or of a widget by its `_anywidget_id`, without its ending."""
    return f"attnkit-{name if name in KITS else name.split('.')[-2]}"


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
        return [_html(NO_PICTURE)]
    image = next(siblings["image/png"].findall(nodes.image)).deepcopy()
    if not image.get("alt") and "text/plain" in siblings:
        image["alt"] = siblings["text/plain"].astext().strip()
    # The script removes the picture: nobody should wait for it.
    image["loading"] = "lazy"
    return [_html('<div class="attnkit-fallback">'), image, _html(STILL + "</div>")]


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def check_state(app: Sphinx, doctree: nodes.document) -> None:
    """Fail the build for a widget view without saved state, and for a link to no step."""
    views = [*filter(_is_widget_view, doctree.findall(nodes.raw))]
    links = [node for node in doctree.findall(nodes.reference) if _is_show_me(node)]
    if not views and not links:
        return
    state = _saved_state(app)
    for node in views:
        view = _view(node)
        if "state" in view:
            state[view["model_id"]] = view["state"]
        model = view["model_id"]
        if model not in state:
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


def make_inert(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the words of the saved state from ending the script element that MyST-NB puts it in."""
    attributes = _state_script(app)
    if "body" in attributes:
        attributes["body"] = inert(json.loads(attributes["body"]))


def _is_show_me(node: nodes.reference) -> bool:
    return "attnkit-show-me" in node["classes"]


def _leads_somewhere(state: dict, anchor: str, target: str) -> bool:
    """Whether a widget of this page has the name, and, for a number, a step of that number."""
    for model in state.values():
        traits = model.get("state", {})
        if traits.get("anchor") == anchor:
            return not target.isdigit() or 1 <= int(target) <= len(traits.get("tour", []))
    # One that was given no name has that of its class, as names.js says.
    classes = (id_.split(".")[-1] for id_ in shown(state.values()))
    kinds = {re.sub(r"\B([A-Z])", r"-\1", name).lower() for name in classes}
    return re.sub(r"-\d+$", "", anchor) in kinds and not target.isdigit()


def write_files(app: Sphinx) -> None:
    """Write scripts and style before any page is, so that Sphinx finds them when it links them."""
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        write_static(folder)


def write_static(folder: Path) -> None:
    """Write the host, the scripts of all widgets and kits and the styles into this folder."""
    (folder / HOST).write_text(host(), "utf-8")
    (folder / STYLE).write_text(styles(), "utf-8")
    for name in (*KITS, *WIDGETS):
        (folder / f"{_file_name(name)}.js").write_text(module_script(name), "utf-8")
    for id_, widget in WIDGETS.items():
        (folder / f"{_file_name(id_)}.css").write_text(source(*widget._styles), "utf-8")


def add_files(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Add style, host and the scripts of its widgets to this page when it holds a widget view."""
    views = [] if doctree is None else [*filter(_is_widget_view, doctree.findall(nodes.raw))]
    if not views:
        return
    state = _saved_state(app, page)
    models = [state.get(view["model_id"], view.get("state", {})) for view in map(_view, views)]
    for name in script_names(models):
        app.add_js_file(name, loading_method="defer")
    for name in style_names(models):
        app.add_css_file(name)


def _is_widget_view(node: nodes.raw) -> bool:
    return VIEW_MIME in node.astext()


def _view(node: nodes.raw) -> dict:
    """What the script element of a view says."""
    return json.loads(node.astext().split(">", 1)[1].rsplit("<", 1)[0])


def _saved_state(app: Sphinx, page: str | None = None) -> dict:
    """The widgets saved in the notebook of this page (by default the one being read), by model."""
    return json.loads(_state_script(app, page).get("body", "{}")).get("state", {})


def _state_script(app: Sphinx, page: str | None = None) -> dict:
    """The attributes of the script element that holds the saved widgets; {} when there is none."""
    metadata = getattr(app.env, "nb_metadata", {}).get(page or app.env.docname, {})
    return metadata.get("js_files", {}).get("ipywidgets_state", (None, {}))[1]


def setup(app: Sphinx) -> dict[str, bool | str]:
    app.add_transform(ShowMeLinks)
    app.add_post_transform(KeepPicture)
    app.connect("builder-inited", write_files)
    app.connect("doctree-read", check_state)
    app.connect("doctree-read", make_inert)
    app.connect("html-page-context", add_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
