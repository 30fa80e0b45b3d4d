"""Boxes that scroll sideways can be reached by keyboard, at no cost to the page's first moments.

The theme sees to code, and asks each box in turn for its size after it has changed the last, which
costs a long page a fifth of a second, and as much again after every change of a widget. It is told
to leave that, and `wide_boxes.js` does it for code, formulas and plots alike.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SCRIPT = Path(__file__).with_name("wide_boxes.js")
THEME = "scripts/pydata-sphinx-theme.js"
STARTS = '"complete"===document.readyState?T():window.addEventListener("load",T)'
"""How the theme starts to look for boxes that scroll."""
LEFT = "/* booktools/wide_boxes.js sees to boxes that scroll */void 0"


def without_start(script: str) -> str:
    """The theme's script, its look for boxes that scroll not started.

    Raises ExtensionError when it starts that in another way than it did.
    """
    if script.count(STARTS) + script.count(LEFT) != 1:
        raise ExtensionError(f"{THEME}: expected to find once: {STARTS}")
    return script.replace(STARTS, LEFT)


def mend_theme(app: Sphinx, error: Exception | None) -> None:
    """Leave that start out of the script that the build has copied."""
    if error is None and app.builder.format == "html":
        path = Path(app.outdir) / "_static" / THEME
        path.write_text(without_start(path.read_text("utf-8")), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.add_js_file(None, body=SCRIPT.read_text("utf-8"))
    app.connect("build-finished", mend_theme)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
