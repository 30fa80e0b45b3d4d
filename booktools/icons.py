"""The theme's icons: those of them that the book shows, in a font of a few kilobytes.

The theme brings Font Awesome twice, as a script of 1.5 MB and as three fonts. What a page shows is
a dozen of its icons. They are cut from the theme's own fonts while the book is built, and travel
inside a style sheet, because a browser loads no font from a page opened as a file.
"""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

STYLE = "icons.css"
TEMPLATES = Path(__file__).parent / "templates"
ICONS = (
    # around the page
    "angle-down", "angle-left", "angle-right", "arrow-up", "bars", "circle-half-stroke",
    "chevron-down", "code", "comment", "download", "expand", "file", "file-pdf", "lightbulb",
    "list", "magnifying-glass", "magnifying-glass-minus", "moon", "pencil-alt", "play", "rocket",
    "sun", "up-right-from-square", "xmark",
    # in the boxes of the text
    "bell", "check-circle", "exclamation-circle", "exclamation-triangle", "info-circle", "pencil",
    "share", "times-circle",
)  # fmt: skip
BRANDS = ("github",)
FAMILIES = {"solid": ("Font Awesome 6 Free", 900), "brands": ("Font Awesome 6 Brands", 400)}
RULES = """/*! Font Awesome Free by @fontawesome: icons CC BY 4.0, fonts SIL OFL 1.1. */
.fas,.fa-solid,.fab,.fa-brands{display:inline-block;line-height:1;text-rendering:auto;
-webkit-font-smoothing:antialiased}
.bd-header-article .btn .fas{font-size:1.15rem}
.fas,.fa-solid{font:var(--fa-font-solid)}
.fab,.fa-brands{font:var(--fa-font-brands)}
.fa-lg{font-size:1.25em;line-height:.05em;vertical-align:-.075em}
"""


def vendor() -> Path:
    """The folder of Font Awesome in the theme."""
    static = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"
    (folder,) = (static / "vendor" / "fontawesome").iterdir()
    return folder


def code_points(names: tuple[str, ...], sheet: str) -> dict[str, int]:
    """The place of each icon in its font, by Font Awesome's own style sheet.

    Raises:
        ExtensionError: a name that the style sheet does not have.
    """
    found = {}
    for name in names:
        match = re.search(rf'\.fa-{name}:before[^{{}}]*{{content:"\\(\w+)"}}', sheet)
        if match is None:
            raise ExtensionError(f"Font Awesome, as the theme brings it, has no icon {name!r}")
        found[name] = int(match[1], 16)
    return found


def cut(font: Path, points: list[int]) -> bytes:
    """A font with these characters only, as WOFF."""
    options = subset.Options(flavor="woff", layout_features=[], notdef_outline=False, hinting=False)
    # Without the time of day, or each build would give every page another address of its styles.
    cutter, whole = subset.Subsetter(options), TTFont(font, recalcTimestamp=False)
    cutter.populate(unicodes=points)
    cutter.subset(whole)
    whole.flavor = "woff"
    buffer = io.BytesIO()
    whole.save(buffer)
    return buffer.getvalue()


def style() -> str:
    """The style sheet: both fonts, and where each icon is in them."""
    folder = vendor()
    sheet = (folder / "css" / "all.min.css").read_text("utf-8")
    rules = [RULES]
    for kind, file, names in (
        ("solid", "fa-solid-900.ttf", ICONS),
        ("brands", "fa-brands-400.ttf", BRANDS),
    ):
        family, weight = FAMILIES[kind]
        points = code_points(names, sheet)
        data = base64.b64encode(cut(folder / "webfonts" / file, sorted(points.values()))).decode()
        rules.append(f':root{{--fa-font-{kind}:normal {weight} 1em/1 "{family}"}}\n')
        # The theme calls one icon by the name that the family had before.
        for called in (family, "Font Awesome 5 Free") if kind == "solid" else (family,):
            rules.append(
                f'@font-face{{font-family:"{called}";font-weight:{weight};'
                f"src:url(data:font/woff;base64,{data})}}\n"
            )
        rules += [f'.fa-{name}:before{{content:"\\{at:x}"}}\n' for name, at in points.items()]
    return "".join(rules)


def without_font_awesome(head: str) -> str:
    """The links of a page's head but for the theme's icons."""
    return re.sub(
        r"<link[^>]*fontawesome[^>]*>\s*|<script[^>]*fontawesome[^>]*></script>", "", head
    )


def _offer_filter(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    context["without_font_awesome"] = without_font_awesome


def _write_style(app: Sphinx) -> None:
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STYLE).write_text(style(), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.connect("config-inited", lambda app, config: config.templates_path.append(str(TEMPLATES)))
    app.connect("builder-inited", _write_style)
    app.connect("html-page-context", _offer_filter)
    app.add_css_file(STYLE)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
