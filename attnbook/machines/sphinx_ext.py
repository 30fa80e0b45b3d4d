"""The Sphinx extension of the machines: their directives, and the files of live translators."""

from pathlib import Path

from sphinx.application import Sphinx

from attnbook.machines.live_translator import page


def write_files(app: Sphinx) -> None:
    """Write the translators' weights before any page is."""
    if app.builder.format == "html":
        page.write_models(Path(app.outdir) / "_static", app.config.live_translators)


def setup(app: Sphinx) -> dict[str, bool | str]:
    """Register the extension; Sphinx calls it."""
    app.add_config_value("live_translators", {}, "html", dict)
    app.add_directive("live-translator", page.LiveTranslatorDirective)
    app.add_directive("attention-widget", page.WidgetDirective)
    app.connect("builder-inited", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
