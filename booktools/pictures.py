"""Pictures of the built pages: their place is kept, and they come when the reader comes near."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from PIL import Image
from sphinx.application import Sphinx

_IMAGE = re.compile(r'<img\b[^>]*?\bsrc="(?P<source>[^"]*_images/(?P<name>[^"/]+\.png))"[^>]*>')


def place(body: str, files: Mapping[str, Path]) -> str:
    """A page's body with its size and `loading="lazy"` on each picture, by its name there.

    So a first visit loads what it shows, and nothing moves when the other pictures come. The
    style sheet cannot read the attributes, so the width stands in `--natural-width` too.
    """

    def with_size(match: re.Match) -> str:
        tag, file = match[0], files.get(unquote(match["name"]))
        if "width=" in tag or "style=" in tag or file is None or not file.is_file():
            return tag
        with Image.open(file) as image:
            size = f' width="{image.width}" height="{image.height}"'
            style = f' style="--natural-width: {image.width}px"'
        lazy = "" if "loading=" in tag else ' loading="lazy"'
        return f"{tag.rstrip('/>').rstrip()}{size}{style}{lazy} />"

    return _IMAGE.sub(with_size, body)


def _place(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if "body" in context:
        files = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}
        context["body"] = place(context["body"], files)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.connect("html-page-context", _place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
