"""What a page needs to be seen comes first, and in few files.

The theme links fifteen style sheets, one of which imports another, and eight scripts that stop the
reading of the page until each has come; two more stand at its end, and are asked for before all
others. On a slow line each file costs a trip. Here the style sheets that all pages share are one
file (see `unused_styles`), no script stops the page, and the scripts of a page's widgets come
before the theme's.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from pathlib import Path

import myst_nb
from pydata_sphinx_theme.pygments import get_pygments_stylesheet
from sphinx.application import Sphinx

from booktools import unused_styles

SHEET = re.compile(
    r'<link(?=[^>]*rel="stylesheet")[^>]*href="([^"]*_static/)([^"?]+)[^"]*"[^>]*>\s*'
)
PRELOAD = re.compile(r'<link rel="preload" as="script"[^>]*>\s*')
SCRIPT = re.compile(r"<script(?=[^>]* src=)[^>]*></script>")
IMPORT = re.compile(r'@import "([^"]+)";')
BEFORE = Path(myst_nb.__file__).parent / "static" / "mystnb.css"
"""What MyST-NB puts among the sheets when the pages have been written."""
CODE = "pygments.css"
"""The colours of code; the theme sets those of its two modes when the pages have been written."""
FOLDER = "styles"
"""Where the one sheet stands, among the theme's."""
OWN = ("attnkit-", "book.css")
"""How the names of the sheets begin that not all pages have, or that must come last."""


def imported(sheet: Path) -> str:
    """A style sheet, with those in place that it imports."""
    text = sheet.read_text("utf-8")
    return IMPORT.sub(lambda found: imported((sheet.parent / found[1]).resolve()), text)


def colours_of_code(options: dict[str, str]) -> str:
    """What the theme will write as `CODE`: one style for each of its two modes."""
    return get_pygments_stylesheet(options["pygments_light_style"], options["pygments_dark_style"])


def styles(static: Path, whole: Path, head: str, late: dict[str, str] | None = None) -> str:
    """The links of a page's head, with one in place of those to sheets that all pages share.

    `late` has the text of sheets whose files still say something else. The one sheet is written
    into `whole`, under a name that follows from its content. One that is not there, or that refers
    to another file, stays by itself, and so does all that comes after it.
    """
    head, joined, first, late = PRELOAD.sub("", head), [], None, late or {}
    for link in SHEET.finditer(head):
        file = BEFORE if link[2].startswith("mystnb.") else static / link[2]
        if link[2].startswith(OWN) or not file.is_file():
            break
        text = late.get(link[2]) or imported(file)
        if "url(." in text:
            break
        joined.append((link[0], text))
        first = first or link[1]
    if not joined:
        return head
    text = "\n".join(text for _, text in joined)
    name = f"all-{hashlib.sha256(text.encode()).hexdigest()[:12]}.css"
    if not (whole / name).exists():
        (whole / name).write_text(text, "utf-8")
    link = f'<link rel="stylesheet" type="text/css" href="{first}{FOLDER}/{name}" />\n'
    head = head.replace(joined[0][0], link, 1)
    for one, _ in joined[1:]:
        head = head.replace(one, "", 1)
    return head


def scripts(head: str) -> str:
    """The scripts of a page: none stops it, and those of widgets are asked for and run first.

    What stands in the page itself runs where it stood, unless it needs one of them.
    """
    files = [_deferred(found[0]) for found in SCRIPT.finditer(head)]
    files.sort(key=lambda tag: "_static/attnkit-" not in tag)
    return _late(SCRIPT.sub("", head)) + "\n".join(files)


def _deferred(tag: str) -> str:
    urgent = ' fetchpriority="high"' if "_static/attnkit-" in tag else ""
    plain = re.sub(r' defer(="defer")?', "", tag)
    return plain.replace("<script", f"<script defer{urgent}", 1)


def _late(head: str) -> str:
    wrapped = r'<script>addEventListener("DOMContentLoaded", () => {\1});</script>'
    return re.sub(r"<script>(DOCUMENTATION_OPTIONS\.[^<]*)</script>", wrapped, head)


def _offer(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    options = {**app.builder.theme.get_options(), **app.config.html_theme_options}
    late = {CODE: colours_of_code(options)}
    static = Path(app.outdir) / "_static"
    context["early_styles"] = partial(styles, static, _whole(app), late=late)
    # The theme's search begins with a script of the page that calls those before it.
    context["early_scripts"] = scripts if page != "search" else str


def _whole(app: Sphinx) -> Path:
    folder = Path(app.doctreedir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        unused_styles.write(_whole(app), Path(app.outdir), f"_static/{FOLDER}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.connect("html-page-context", _offer)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
