"""Formulas as SVG and MathML, made while the book is built.

MathJax sets them, in a JavaScript engine that needs neither a browser nor a page. So a page carries
its formulas and no script for them: they stand there at the first paint, nothing moves when they
come, and a page without maths pays nothing.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
STYLE = "maths.css"
# The order in which MathJax's parts need each other. Fonts come as outlines, in the SVG itself.
PARTS = (
    "loader.js",
    "core.js",
    "adaptors/liteDOM.js",
    "input/tex-full.js",
    "output/svg.js",
    "output/svg/fonts/tex.js",
)
# Who listens to a page hears the MathML, which is there to be seen by nobody.
LISTENING = """mjx-container{position:relative}
mjx-assistive-mml{position:absolute;top:0;left:0;clip-path:inset(50%);overflow:hidden;
width:1px;height:1px;user-select:none}
"""
# On a screen MathJax's stroke is a hundredth of a pixel; a printer makes of it the thinnest line
# that it has, and the formula bold.
ON_PAPER = """@media print{mjx-container[jax="SVG"] path[data-c]{stroke-width:0}}
"""


@functools.cache
def _engine() -> MiniRacer:
    """MathJax, ready to set formulas; a third of a second, once a process."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise ExtensionError("sphinx-mathjax-offline is not installed; see requirements.txt")
    mathjax = Path(package.origin).parent / "static" / "mathjax"
    engine = MiniRacer()
    engine.eval("globalThis.MathJax = {loader: {load: []}, startup: {typeset: false}}; 0")
    for script in [*(mathjax / part for part in PARTS), HERE / "maths.js"]:
        engine.eval(script.read_text("utf-8") + "; 0")
    return engine


@functools.cache
def formula(source: str, *, display: bool = False) -> str:
    """The HTML of a formula in TeX: outlines to look at, MathML to listen to.

    Raises:
        ValueError: TeX that MathJax does not understand, with its words.
    """
    try:
        return _engine().call("setFormula", source, display)
    except JSEvalException as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"a formula cannot be set: {source!r}: {reason}") from error


def style() -> str:
    """The rules that formulas need."""
    return _engine().call("rules") + LISTENING + ON_PAPER


def _visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(_set(self, node.astext(), display=False) + "</span>")
    raise nodes.SkipNode


def _visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    source = node.astext() if node["nowrap"] else _aligned(node.astext())
    self.body.append(_set(self, source, display=True) + "</div>\n")
    raise nodes.SkipNode


def _aligned(text: str) -> str:
    """Several lines or equations below each other, as `sphinx.ext.mathjax` writes them."""
    parts = [
        rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part
        for part in text.split("\n\n")
        if part.strip()
    ]
    if len(parts) < 2:
        return "".join(parts)
    return r"\begin{align}\begin{aligned}" + r"\\".join(parts) + r"\end{aligned}\end{align}"


def _set(self: HTML5Translator, source: str, *, display: bool) -> str:
    try:
        return formula(source, display=display)
    except ValueError as error:
        raise ExtensionError(f"{self.builder.current_docname}: {error}") from error


def _add_style(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    """Link the rules from pages with a formula."""
    if "<mjx-container" in context.get("body", ""):
        app.add_css_file(STYLE)


def _write_style(app: Sphinx) -> None:
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STYLE).write_text(style(), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension; Sphinx calls it."""
    app.add_html_math_renderer("svg", (_visit_inline, None), (_visit_display, None))
    app.config.html_math_renderer = "svg"
    app.connect("builder-inited", _write_style)
    app.connect("html-page-context", _add_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
