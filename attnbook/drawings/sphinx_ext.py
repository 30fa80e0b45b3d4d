"""The Sphinx extension that puts a drawing into a page, inline.

A page or a notebook's markdown shows a drawing as any image, ``![what it shows](PATH/NAME.svg)``
with the path of `attnbook/drawings`, so Jupyter and GitHub show the file. Here the image becomes
the SVG itself: it follows the page's theme, its words can be found and selected, and a drawing with
frames becomes a stepper.
"""

import hashlib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

from attnbook import drawings
from attnbook.drawings.drawing import HERE, style_sheet

STYLE, SCRIPT = "attnbook-drawings.css", "attnbook-stepper.js"
STEPPER = "data-stepper"


class Inline(SphinxTransform):
    """Replace each image of `attnbook/drawings` by the drawing, before Sphinx copies the file."""

    default_priority = 200

    def apply(self, **options) -> None:
        """See the class."""
        for image in list(self.document.findall(nodes.image)):
            path = Path(image["uri"])
            if path.parts[-3:-1] != ("attnbook", "drawings"):
                continue
            drawing = drawings.DRAWINGS.get(path.stem)
            if drawing is None or path.suffix != ".svg":
                known = ", ".join(drawings.DRAWINGS)
                raise ExtensionError(
                    f"{self.env.docname}: expected a drawing among {known}, got {image['uri']}"
                )
            figure = nodes.raw("", drawing.inline(), format="html")
            alone = isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1
            (image.parent if alone else image).replace_self(figure)


def write_files(app: Sphinx) -> None:
    """Write style and script before any page is, so that Sphinx finds them when it links them."""
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STYLE).write_text(style_sheet(), "utf8")
        (folder / SCRIPT).write_text((HERE / "stepper.js").read_text("utf8"), "utf8")


def add_script(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Load the steppers' script where there is one."""
    if doctree is not None and any(STEPPER in raw.astext() for raw in doctree.findall(nodes.raw)):
        app.add_js_file(SCRIPT, loading_method="defer")


def digest() -> str:
    """A hash of what every drawing looks like: when one changes, the pages are read anew."""
    whole = "".join(drawing.inline() for drawing in drawings.DRAWINGS.values()) + style_sheet()
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def setup(app: Sphinx) -> dict[str, bool | str]:
    """Register the extension; Sphinx calls it."""
    app.add_config_value("attnbook_drawings_digest", digest(), "env")
    app.add_transform(Inline)
    app.connect("builder-inited", write_files)
    app.connect("html-page-context", add_script)
    app.add_css_file(STYLE)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
